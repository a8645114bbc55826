import {Plot, html, svg} from "../vendor/observable.js";
import {role} from "./colours.js";
import {addStyles} from "./styles.js";

const CSS = `
  .widget-plot { min-width: 0; }
  .widget-plot svg { display: block; width: 100%; height: auto; overflow: visible; }
  .widget-key-mark { width: 1em; height: 1em; vertical-align: -.125em; overflow: visible; }
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

/** Words in a corner of a chart, "bottom-left" or "bottom-right". */
export function note(words, colour, corner) {
  return Plot.text([words], {
    frameAnchor: corner,
    dx: corner === "bottom-left" ? 8 : -8,
    dy: -4,
    text: (text) => text,
    fill: role(colour),
    stroke: "var(--widget-paper)",
    strokeWidth: 3
  });
}

/**
 * A mark as it stands in a chart, for the key beside it.
 * @param {"circle"|"open"|"ring"|"star"|"dots"|"dashes"} shape
 * @param {string} colour a role
 */
export function keyMark(shape, colour) {
  addStyles("plot", CSS);
  const path = {
    circle: svg`<circle cx="8" cy="8" r="6" fill=${role(colour)}></circle>`,
    open: svg`<circle cx="8" cy="8" r="5" fill="var(--widget-paper)" stroke=${role(colour)} stroke-width="2"></circle>`,
    ring: svg`<circle cx="8" cy="8" r="5.5" fill="none" stroke=${role(colour)} stroke-width="2"></circle>`,
    star: svg`<path d="M8 0l2.3 5.4 5.7.4-4.4 3.8 1.4 5.8L8 12.3l-5 3.1 1.4-5.8L0 5.8l5.7-.4z" fill=${role(colour)}></path>`,
    dots: svg`<path d="M0 8h16" stroke=${role(colour)} stroke-width="2" stroke-dasharray="2,3"></path>`,
    dashes: svg`<path d="M0 8h16" stroke=${role(colour)} stroke-width="2" stroke-dasharray="7,2"></path>`
  }[shape];
  return svg`<svg class="widget-key-mark" viewBox="0 0 16 16" aria-hidden="true">${path}</svg>`;
}
