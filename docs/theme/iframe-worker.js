/* Search without a server: pages of file: may start no Worker, so that its script runs in a hidden frame of the page's own. */
if (location.protocol === "file:") {
  const workers = (window.frameWorkers = []);
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.loaded = new Promise((done) => {
        const frame = document.createElement("iframe");
        const source = new URL(url, document.baseURI).href.replace(/[&"<>]/g, encodeURIComponent);
        const number = workers.push((data) => this.dispatchEvent(new MessageEvent("message", { data }))) - 1;
        frame.hidden = true;
        frame.onload = () => done(frame.contentWindow);
        frame.srcdoc = `<script>postMessage = parent.frameWorkers[${number}]<\/script><script src="${source}"><\/script>`;
        document.body.append(frame);
      });
    }

    postMessage(data) {
      this.loaded.then((scope) => scope.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
