import {Plot, html} from "../vendor/observable.js";
import {addStyles} from "./styles.js";

const CSS = `
  .widget-plot { min-width: 0; }
  .widget-plot svg { display: block; width: 100%; height: auto; overflow: visible; }
`;

/**
 * Plot.plot with an accessible name: one image, described by `label`. Plot itself names every group inside,
 * which ARIA forbids on a plain <g>.
 * @param {{label: string}} options the rest goes to Plot.plot
 */
export function plot({label, style, ...options}) {
  const chart = Plot.plot({style: {fontFamily: "inherit", fontSize: "12px", background: "none", ...style}, ...options});
  for (const group of chart.querySelectorAll("[aria-label]")) group.removeAttribute("aria-label");
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", label);
  return chart;
}

/**
 * An element that draws itself at the width it has, again whenever that changes.
 * @param {(width: number) => Element} draw
 * @returns {HTMLElement} with `.redraw()`, for when the data change
 */
export function responsive(draw) {
  addStyles("plot", CSS);
  // A ruler without height is what is watched: watching the drawing itself would answer its own redraws.
  const ruler = html`<div>`;
  const canvas = html`<div>`;
  const root = html`<div class="widget-plot">${ruler}${canvas}</div>`;
  let width = 0;
  root.redraw = () => {
    if (width > 0) canvas.replaceChildren(draw(width));
  };
  new ResizeObserver(([entry]) => {
    width = Math.floor(entry.contentRect.width);
    root.redraw();
  }).observe(ruler);
  return root;
}
