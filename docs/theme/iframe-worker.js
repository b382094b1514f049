/* Search without a server: pages of file: may start no Worker, so that its script runs in a hidden frame of the page's own. */
if (location.protocol === "file:") {
  const workers = (window.frameWorkers = []);
  /* In a task of its own, as messages come: who waits for an answer need not wait yet when it asks. */
  const deliver = (target, data) => setTimeout(() => target.dispatchEvent(new MessageEvent("message", { data })));
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.loaded = new Promise((done) => {
        const frame = document.createElement("iframe");
        const source = new URL(url, document.baseURI).href.replace(/[&"<>]/g, encodeURIComponent);
        const number = workers.push((data) => deliver(this, data)) - 1;
        frame.hidden = true;
        frame.onload = () => done(frame.contentWindow);
        frame.srcdoc = `<script>postMessage = parent.frameWorkers[${number}]<\/script><script src="${source}"><\/script>`;
        document.body.append(frame);
      });
    }

    postMessage(data) {
      this.loaded.then((scope) => deliver(scope, data));
    }
  };
}
