import {html} from "../vendor/observable.js";
import {addStyles} from "./styles.js";

const CSS = `
  .widget .widget-legend {
    display: flex; flex-wrap: wrap; gap: .125rem 1rem; margin: .5rem 0 0; padding: 0; color: var(--role-muted);
    font-size: .8125rem; list-style: none;
  }
`;

/** What the marks of a drawing mean: [mark, words] pairs, the marks from plot.js or chips.js. */
export function legend(entries) {
  addStyles("legend", CSS);
  return html`<ul class="widget-legend">${entries.map(([mark, words]) => html`<li>${mark} ${words}</li>`)}</ul>`;
}
