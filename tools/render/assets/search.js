/** Search: a dialog over the page that asks Pagefind's index, which is loaded when the dialog first opens. */
import {element} from "./dom.js";

const MOST_PER_PAGE = 4;
const PAUSE = 120; // ms without typing before a search starts

/**
 * Opens the search from its button, by "/" and by Ctrl K or ⌘ K.
 * @param {URL} root the site's root
 */
export function wireSearch(root) {
  const button = document.getElementById("search-button");
  let dialog = null;
  const open = () => {
    if (!dialog) document.body.append((dialog = searchDialog(root)));
    if (!dialog.open) dialog.showModal();
    dialog.querySelector("input").select();
  };
  button.addEventListener("click", open);
  addEventListener("keydown", (event) => {
    const isShortcut = event.key === "/" ? !isTyping(event) : event.key === "k" && (event.ctrlKey || event.metaKey);
    if (!isShortcut) return;
    event.preventDefault();
    open();
  });
}

const isTyping = ({target, ctrlKey, metaKey, altKey}) =>
  ctrlKey || metaKey || altKey || target.isContentEditable ||
  target.matches("input:not([type=range], [type=radio], [type=checkbox]), textarea, select");

function searchDialog(root) {
  const input = element("input", {type: "search", placeholder: "Search the book", autocomplete: "off", spellcheck: false, enterKeyHint: "go"});
  input.setAttribute("aria-label", "Search the book");
  const close = element("button", {type: "button", className: "search-close", textContent: "Close"});
  const status = element("p", {className: "search-status"});
  status.setAttribute("role", "status");
  const results = element("ol", {className: "search-results"});
  const dialog = element("dialog", {id: "search"}, element("div", {className: "search-bar"}, input, close), status, results);
  dialog.setAttribute("aria-label", "Search");

  const engine = loadEngine(root);
  input.addEventListener("input", async () => {
    const words = input.value.trim();
    try {
      const found = await (await engine).debouncedSearch(words, {}, PAUSE);
      if (!found || words !== input.value.trim()) return; // more has been typed meanwhile
      const pages = await Promise.all(found.results.map((result) => result.data()));
      const places = pages.flatMap(placesOn);
      results.replaceChildren(...places.map(entry));
      status.textContent = words && summary(words, places.length);
    } catch (error) {
      console.error("Search failed:", error);
      status.textContent = "The search index could not be loaded.";
    }
  });
  dialog.addEventListener("keydown", (event) => moveAmong([input, ...results.querySelectorAll("a")], event));
  dialog.addEventListener("click", ({target}) => {
    // The dialog itself is hit only beside its box. A link may stay on this page, so it closes too.
    if (target === dialog || target === close || target.closest("a")) dialog.close();
  });
  return dialog;
}

async function loadEngine(root) {
  const engine = await import(new URL("assets/search/pagefind.js", root).href);
  await engine.options({baseUrl: root.pathname, excerptLength: 26, excerptEllipsis: "…"});
  await engine.init();
  return engine;
}

/** The sections of a page in which the words stand, those with most of them, in the page's order. */
function placesOn({meta, sub_results: sections}) {
  const most = [...sections].sort((a, b) => b.locations.length - a.locations.length).slice(0, MOST_PER_PAGE);
  return sections.filter((section) => most.includes(section)).map((section) => ({page: meta.title, ...section}));
}

function entry({page, title, url, excerpt}) {
  const words = element("span", {className: "search-excerpt", innerHTML: excerpt}); // Pagefind's own marks; the text is escaped
  const where = title === page ? [] : [element("span", {className: "search-page", textContent: page})];
  return element("li", {}, element("a", {href: url}, element("span", {className: "search-title", textContent: title}), ...where, words));
}

function summary(words, count) {
  if (!count) return `Nothing found for “${words}”.`;
  return `${count} ${count === 1 ? "place" : "places"} for “${words}”`;
}

/** Arrow keys walk from the field through the results; Enter in the field takes the first. */
function moveAmong(stops, event) {
  const at = stops.indexOf(document.activeElement);
  if (event.key === "Enter" && at === 0) stops[1]?.click();
  const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
  if (!step || at < 0) return;
  event.preventDefault();
  stops[Math.max(0, Math.min(stops.length - 1, at + step))].focus();
}
