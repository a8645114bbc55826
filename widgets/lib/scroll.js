import {html} from "../vendor/observable.js";
import {addStyles} from "./styles.js";

const CSS = `
  .widget-scroll { position: relative; overflow-x: auto; }
  .widget-scroll th[scope="row"], .widget-scroll thead th:first-child {
    position: sticky; left: 0; z-index: 1; background: var(--widget-paper);
  }
`;

/**
 * A part that scrolls sideways where the page is narrower than it, by keyboard too; the heads of rows stay.
 * @param {string} label the accessible name
 * @param {string} inSight what to bring to the middle, a selector
 * @returns {HTMLElement} with `.show(content)`
 */
export function scrollRegion(label, inSight) {
  addStyles("scroll", CSS);
  const region = html`<div class="widget-scroll" role="region" aria-label=${label} tabindex="0">`;
  const centre = () => {
    const part = region.querySelector(inSight);
    if (part) region.scrollLeft = part.offsetLeft + (part.offsetWidth - region.clientWidth) / 2;
  };
  region.show = (content) => {
    region.replaceChildren(content);
    centre();
  };
  new ResizeObserver(centre).observe(region);
  return region;
}
