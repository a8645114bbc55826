// Runs before a page's own scripts, so that the checks of contract.py can ask what a widget did, and when.
(() => {
  const timers = [];
  const frame = window.requestAnimationFrame.bind(window);
  for (const name of ["setTimeout", "setInterval", "requestAnimationFrame"]) {
    const original = window[name].bind(window);
    window[name] = (...given) => {
      timers.push(name);
      return original(...given);
    };
  }

  const moving = () => document.getAnimations().filter(({playState}) => playState === "running").length;

  window.contract = {
    timers,
    heard: 0,

    /** Counts the `input` events that `viewof` would hear. */
    listen(root) {
      root.addEventListener("input", ({target}) => (window.contract.heard += target === root));
    },

    snapshot: (root) =>
      new Promise((done) =>
        frame(() =>
          frame(() =>
            done({
              value: JSON.stringify(root.value),
              sentence: [...root.querySelectorAll(".widget-says")].map((part) => part.textContent).join(" "),
              heard: window.contract.heard
            })
          )
        )
      ),

    /** From the next key press on: what the page shows at the second frame, and whether anything is in motion. */
    watchNextKey(root) {
      window.contract.atSecondFrame = new Promise((done) => {
        const watch = () =>
          frame(() => {
            const inMotion = moving();
            frame(() => done({html: root.innerHTML, inMotion: inMotion + moving()}));
          });
        addEventListener("keydown", watch, {capture: true, once: true});
      });
    }
  };
})();
