/* The index of the search is large, so that it and the program that searches it load when somebody first uses the search. */
const asked = new Promise((done) => {
  if (/[?&][qh]=/.test(location.search)) done();
  document.addEventListener("focusin", (event) => event.target.matches(".md-search__input") && done());
});
const append = document.head.appendChild.bind(document.head);
document.head.appendChild = (node) => {
  if (!/search_index\.js$/.test(node.src)) return append(node);
  asked.then(() => append(node));
  return node;
};
const { open, send } = XMLHttpRequest.prototype;
XMLHttpRequest.prototype.open = function (method, url, ...more) {
  this.waits = /search_index\.json$/.test(url);
  open.call(this, method, url, ...more);
};
XMLHttpRequest.prototype.send = function (...body) {
  if (this.waits) asked.then(() => send.apply(this, body));
  else send.apply(this, body);
};

/* Search without a server: pages of file: may start no Worker, so that its script runs in a hidden frame of the page's own. */
if (location.protocol === "file:") {
  const workers = (window.frameWorkers = []);
  /* In a task of its own, as messages come: who waits for an answer need not wait yet when it asks. */
  const deliver = (target, data) => setTimeout(() => target.dispatchEvent(new MessageEvent("message", { data })));
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.loaded = asked.then(() => new Promise((done) => {
        const frame = document.createElement("iframe");
        const source = new URL(url, document.baseURI).href.replace(/[&"<>]/g, encodeURIComponent);
        const number = workers.push((data) => deliver(this, data)) - 1;
        frame.hidden = true;
        frame.onload = () => done(frame.contentWindow);
        frame.srcdoc = `<script>postMessage = parent.frameWorkers[${number}]<\/script><script src="${source}"><\/script>`;
        document.body.append(frame);
      }));
    }

    postMessage(data) {
      this.loaded.then((scope) => deliver(scope, data));
    }
  };
}
