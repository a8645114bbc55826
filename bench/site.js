/** Instruments that `site.py` and the browser tests put into a page before its first script: `window.instruments`. */

(() => {
  const shifts = [];
  new PerformanceObserver((list) => {
    for (const {value, sources} of list.getEntries()) shifts.push({value, moved: sources.map(({node}) => nameOf(node))});
  }).observe({type: "layout-shift", buffered: true});

  const nameOf = (node) => {
    const element = node?.nodeType === Node.ELEMENT_NODE ? node : node?.parentElement;
    return element ? `${element.localName}${element.id && `#${element.id}`}.${element.getAttribute("class") || ""}` : "?";
  };

  const frame = () => new Promise(requestAnimationFrame);

  /** Resolves after the next frame has been painted. */
  const painted = () => frame().then(() => new Promise((done) => {
    const {port1, port2} = new MessageChannel();
    port1.onmessage = done;
    port2.postMessage(null);
  }));

  const cells = () => [...document.querySelectorAll("[data-ojs]")];
  const keyOf = (cell) => cell.closest("figure[id]")?.id || cell.id;

  /** Resolves with the time since the page was asked for at which its first cell was drawn; null without cells. */
  async function firstCellDrawn() {
    while (document.readyState === "loading") await frame();
    if (!cells().length) return null;
    while (!cells()[0].dataset.ojsState) await frame();
    return performance.now();
  }

  /** Scrolls to the end as a reader does, and waits at each step for the cells in sight. */
  async function read() {
    for (let last = -1; scrollY > last;) {
      last = scrollY;
      const inSight = cells().filter((cell) => {
        const {top, bottom} = cell.getBoundingClientRect();
        return cell.checkVisibility() && bottom >= 0 && top <= innerHeight;
      });
      while (inSight.some((cell) => !cell.dataset.ojsState)) await frame();
      await painted();
      scrollBy(0, innerHeight * 0.7);
      await painted();
    }
  }

  /** How much taller the page is for each drawn cell, by which it is measured again once it is empty. */
  function rooms() {
    const height = () => document.getElementById("content").getBoundingClientRect().height;
    const found = {};
    for (const cell of cells()) {
      if (cell.localName === "span" || !cell.checkVisibility()) continue;
      const tall = height();
      const {ojsState} = cell.dataset;
      delete cell.dataset.ojsState;
      cell.style.minHeight = "1px"; // of an empty box without height the margins above and below would be one
      for (const child of cell.children) child.hidden = true;
      found[keyOf(cell)] = Math.round(tall - height() + 1);
      for (const child of cell.children) child.hidden = false;
      cell.style.minHeight = "";
      cell.dataset.ojsState = ojsState;
    }
    return found;
  }

  /**
   * Waits for a key to move a slider, and for the page to show what follows from it.
   * @returns {Promise<{milliseconds: number, frames: number} | null>} from the key to the painted effect, and the
   *   animation frames that began before the DOM changed; null where nothing changes
   */
  function effectOf(slider) {
    return new Promise((done) => {
      let start = null;
      let frames = 0;
      const count = () => {
        frames += 1;
        if (frames < 30) requestAnimationFrame(count);
        else finish(null);
      };
      const pressed = ({timeStamp}) => {
        start = timeStamp;
        requestAnimationFrame(count);
      };
      // A slider says its own value at once; what counts is what else changes.
      const observer = new MutationObserver((changes) => {
        if (start === null || !changes.some(({target}) => target !== slider)) return;
        const needed = frames;
        painted().then(() => finish({milliseconds: performance.now() - start, frames: needed}));
      });
      const finish = (result) => {
        observer.disconnect();
        slider.removeEventListener("keydown", pressed, true);
        done(result);
      };
      slider.addEventListener("keydown", pressed, true);
      observer.observe(document.getElementById("content"), {subtree: true, childList: true, attributes: true, characterData: true});
    });
  }

  const shift = () => shifts.reduce((sum, {value}) => sum + value, 0);
  window.instruments = {shifts, shift, painted, firstCellDrawn, read, rooms, effectOf};
})();
