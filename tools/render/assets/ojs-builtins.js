/**
 * The names that every OJS cell may use.
 *
 * Of Observable's standard library this keeps what a book needs and what works offline; the large
 * libraries come from the book's one vendored module, fetched when a cell first asks for one.
 */
import {FileAttachments, Library} from "@observablehq/stdlib";

const {DOM, Generators, Mutable, Promises, html, now, svg} = new Library();

/** Names that come from the vendored module, unless the page imports them itself. */
export const vendoredNames = ["Inputs", "Plot", "d3", "htl", "md"];

const vendored = (name) => () => import("../widgets/vendor/observable.js").then((module) => module[name]);

/** Width of the text column in pixels, and again whenever it changes. */
function width() {
  return Generators.observe((change) => {
    const observer = new ResizeObserver(([entry]) => change(entry.contentRect.width));
    observer.observe(document.getElementById("content"));
    return () => observer.disconnect();
  });
}

/** Name → definition, as `new Runtime(builtins)` takes it. */
export const builtins = {
  DOM: () => DOM,
  FileAttachment: () => FileAttachments((name) => new URL(name, document.baseURI).href),
  Generators: () => Generators,
  Mutable,
  Promises: () => Promises,
  html,
  now,
  svg,
  width,
  ...Object.fromEntries(vendoredNames.map((name) => [name, vendored(name)])),
};
