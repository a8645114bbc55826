/**
 * Terms of the glossary: the meaning of a marked word shows while the pointer or the focus is on it.
 *
 * A mark is a link to its entry, so it works without this; the meaning, which describes the link, waits in a popover
 * at the end of the page. It stays while the pointer is on it and goes on Escape. A finger's first tap shows it, the
 * second one follows the link.
 */
const OPENS_AFTER = 250; // ms, so that nothing flickers under a pointer on its way
const STAYS = 300; // ms, time to get from the word to its meaning
const GAP = 6; // px between the two
const MARGIN = 12; // px to the edges of the window

export function wireTerms() {
  const content = document.getElementById("content");
  if (!content.querySelector("a.term") || !HTMLElement.prototype.showPopover) return;
  let shown = null; // the link whose meaning is seen
  let waiting = 0;
  let touched = false; // whether a finger came last

  const meaningOf = (link) => document.getElementById(link.getAttribute("aria-describedby"));
  const hide = () => {
    clearTimeout(waiting);
    if (shown) meaningOf(shown).hidePopover();
    shown = null;
  };
  const show = (link, {clientX: x, clientY: y} = {}) => {
    clearTimeout(waiting);
    if (shown === link) return;
    hide();
    shown = link;
    const meaning = meaningOf(link);
    meaning.showPopover();
    place(meaning, lineAt(link, x, y));
  };
  const later = (action, time) => {
    clearTimeout(waiting);
    waiting = setTimeout(action, time);
  };
  /** The link that a place belongs to, be it the word or its meaning. */
  const ownerOf = (node) => node.closest?.("a.term") || (node.closest?.(".meaning") && shown);

  content.addEventListener("pointerover", (event) => {
    const link = event.pointerType !== "touch" && ownerOf(event.target);
    if (link) later(() => show(link, event), link === shown ? 0 : OPENS_AFTER);
  });
  content.addEventListener("pointerout", (event) => {
    if (event.pointerType !== "touch" && ownerOf(event.target)) later(() => shown?.matches(":focus-visible") || hide(), STAYS);
  });
  content.addEventListener("focusin", ({target}) => {
    if (target.matches("a.term:focus-visible")) show(target);
  });
  content.addEventListener("focusout", ({target}) => {
    if (target === shown) hide();
  });
  addEventListener("keydown", ({key}) => {
    if (key === "Escape") hide();
  });
  addEventListener("pointerdown", (event) => {
    touched = event.pointerType === "touch";
    if (shown && ownerOf(event.target) !== shown) hide();
  });
  content.addEventListener("click", (event) => {
    const link = touched && event.target.closest("a.term");
    if (!link || link === shown) return;
    event.preventDefault();
    show(link, event);
  });
}

/** Of a word broken over two lines, the line under the pointer; the first, where there is no pointer. */
function lineAt(link, x, y) {
  const lines = [...link.getClientRects()];
  return lines.find(({left, right, top, bottom}) => left <= x && x <= right && top <= y && y <= bottom) || lines[0];
}

/** Puts a meaning below its word, or above where there is no room; it scrolls with the page. */
function place(meaning, line) {
  const {width, height} = meaning.getBoundingClientRect();
  const {clientWidth, clientHeight} = document.documentElement;
  const left = Math.max(MARGIN, Math.min(line.left, clientWidth - MARGIN - width));
  const fitsBelow = line.bottom + GAP + height <= clientHeight || line.top < height + GAP;
  const top = fitsBelow ? line.bottom + GAP : line.top - GAP - height;
  meaning.style.left = `${left + scrollX}px`;
  meaning.style.top = `${top + scrollY}px`;
}
