import {html} from "../vendor/observable.js";
import {addStyles} from "./styles.js";

const CSS = `
  .widget .widget-controls { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: end; }
  .widget .widget-controls > .widget-range { flex: 1 1 11rem; }
  .widget .widget-controls > .widget-stepper { flex: 1 1 18rem; }
  .widget .widget-columns { display: grid; grid-template-columns: minmax(0, 1fr); gap: .75rem 1.5rem; margin-top: .75rem; }
  .widget > .widget-part { margin-top: .75rem; }
  .widget .widget-part-title { font-weight: 600; }
  @container (min-width: 34rem) { .widget .widget-columns { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
  .widget .widget-stages {
    display: grid; grid-template-columns: repeat(var(--stages), minmax(0, 1fr)); gap: .25rem; margin: .75rem 0 .5rem;
    padding: 0; list-style: none;
  }
  .widget .widget-stages li {
    padding: .125rem 0; border-top: 3px solid var(--widget-line); color: var(--role-muted); font-size: .8125rem;
  }
  .widget .widget-stages li[aria-current] { border-color: var(--role-target); color: inherit; font-weight: 600; }
  @container (max-width: 27rem) {
    .widget .widget-stages { grid-template-columns: repeat(var(--stages-narrow), minmax(0, 1fr)); }
  }
`;

/** Controls side by side as far as there is room; sliders and steppers take what is left of the row. */
export function controlRow(...controls) {
  addStyles("layout", CSS);
  return html`<div class="widget-controls">${controls}</div>`;
}

/** A drawing under its title. */
export function part(title, content) {
  addStyles("layout", CSS);
  return html`<div class="widget-part"><div class="widget-part-title">${title}</div>${content}</div>`;
}

/** Parts in two columns where there is room. */
export function columns(...parts) {
  addStyles("layout", CSS);
  return html`<div class="widget-columns">${parts}</div>`;
}

/** The stages of a story in a row. @returns {HTMLElement} with `.show(index)`, which marks the current one */
export function stageRow(names, label) {
  addStyles("layout", CSS);
  const narrow = names.length > 4 ? Math.ceil(names.length / 2) : names.length;
  const style = `--stages: ${names.length}; --stages-narrow: ${narrow}`;
  const row = html`<ol class="widget-stages" style=${style} aria-label=${label}>${names.map((name) => html`<li>${name}</li>`)}</ol>`;
  row.show = (current) => {
    [...row.children].forEach((stage, index) => {
      if (index === current) stage.setAttribute("aria-current", "step");
      else stage.removeAttribute("aria-current");
    });
  };
  return row;
}
