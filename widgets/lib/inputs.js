import {Inputs, html} from "../vendor/observable.js";
import {addStyles} from "./styles.js";

const CSS = `
  .widget form.widget-range, .widget form.widget-choice {
    --label-width: auto; --input-width: 100%;
    display: block; min-height: 0; max-width: none; width: auto; margin: 0; font: inherit;
  }
  .widget form.widget-range > label, .widget form.widget-choice > .widget-choice-label {
    display: block; width: auto; padding: 0 0 .125rem; font: inherit; font-weight: 600;
  }
  .widget form.widget-range > div {
    display: flex; gap: .5rem; align-items: center; width: 100%; max-width: none; flex-wrap: nowrap;
  }
  .widget form.widget-range input[type="number"] {
    flex: none; width: 4.25rem; min-width: 0; margin: 0; padding: .125rem .25rem; height: 1.75rem; font: inherit;
    color: inherit; background: var(--widget-paper); border: 1px solid var(--role-muted); border-radius: .25rem;
  }
  .widget form.widget-range input[type="range"] {
    flex: 1 1 0; width: auto; min-width: 0; height: 1.75rem; margin: 0; accent-color: var(--role-target);
  }
  .widget form.widget-range output { flex: none; min-width: 4.25rem; }
  .widget form.widget-choice > div {
    display: flex; flex-wrap: wrap; gap: .25rem; width: 100%; max-width: none; margin: 0;
  }
  .widget form.widget-choice div > label {
    position: relative; display: block; width: auto; margin: 0; padding: .25rem .625rem; font: inherit; cursor: pointer;
    border: 1px solid var(--widget-line); border-radius: .375rem; background: var(--widget-paper); max-width: 100%;
  }
  .widget form.widget-choice div > label:hover { border-color: var(--role-muted); }
  .widget form.widget-choice div > label:has(:checked) {
    border-color: var(--role-target); background: color-mix(in srgb, var(--role-target) 13%, var(--widget-paper)); font-weight: 600;
  }
  .widget form.widget-choice div > label:has(:focus-visible) {
    outline: 2px solid var(--role-target); outline-offset: 2px;
  }
  .widget form.widget-choice input {
    position: absolute; inset: 0; width: 100%; height: 100%; margin: 0; opacity: 0; cursor: pointer;
  }
`;

/**
 * A slider with a number field beside it: Inputs.range with an accessible name on both of its fields.
 * @param {[number, number]} extent
 * @param {{label: string|Node, name: string, value: number, step: number}} options `name` is read aloud
 * @returns {HTMLFormElement} with `.value`; emits `input`
 */
export function range(extent, {label, name, value, step}) {
  addStyles("inputs", CSS);
  const form = Inputs.range(extent, {label, value, step});
  form.classList.add("widget-range", "widget-control");
  form.querySelector("input[type=range]").setAttribute("aria-label", name);
  form.querySelector("input[type=number]").setAttribute("aria-label", `${name}, as a number`);
  return form;
}

/**
 * A slider over listed values, for numbers that span orders of magnitude or that Python has computed for just these.
 * @param {number[]} values
 * @param {{label: string, name: string, value: number, format?: (value: number) => string}} options `name` is read
 *   aloud, with the formatted value
 * @returns {HTMLFormElement} with `.value`; emits `input`
 */
export function levels(values, {label, name, value, format = String}) {
  addStyles("inputs", CSS);
  const slider = html`<input type="range" min="0" max=${values.length - 1} step="1" aria-label=${name}>`;
  const output = html`<output>`;
  const form = html`<form class="widget-range widget-control"><label aria-hidden="true">${label}</label>
    <div>${output}${slider}</div></form>`;
  const show = () => {
    output.textContent = format(form.value);
    slider.setAttribute("aria-valuetext", format(form.value));
  };
  Object.defineProperty(form, "value", {
    get: () => values[slider.valueAsNumber],
    set(chosen) {
      slider.value = values.indexOf(chosen);
      show();
    }
  });
  slider.addEventListener("input", show);
  form.value = value;
  return form;
}

/**
 * One of a few: Inputs.radio drawn as a row of buttons, named as a group.
 * @param {Array|Map} options values, or a map from shown name to value
 * @param {{label: string, value: any}} options
 * @returns {HTMLFormElement} with `.value` and `.clear()`, which leaves none chosen; emits `input`
 */
export function choice(options, {label, value}) {
  addStyles("inputs", CSS);
  const form = Inputs.radio(options, {label, value});
  form.classList.add("widget-choice", "widget-control");
  form.querySelector("label").replaceWith(html`<span class="widget-choice-label" aria-hidden="true">${label}</span>`);
  const group = form.querySelector("div");
  group.setAttribute("role", "radiogroup");
  group.setAttribute("aria-label", label);
  goToEnds(group);
  form.clear = () => {
    for (const button of form.querySelectorAll("input")) button.checked = false;
  };
  return form;
}

/** Lets Home and End choose the first and the last radio button of a group; arrow keys walk through it as it is. */
export function goToEnds(group) {
  group.addEventListener("keydown", (event) => {
    const buttons = [...group.querySelectorAll("input[type=radio]")];
    const end = {Home: buttons[0], End: buttons[buttons.length - 1]}[event.key];
    if (!end || !buttons.includes(event.target)) return;
    event.preventDefault();
    end.focus();
    end.click();
  });
}
