import {html} from "../vendor/observable.js";
import {useColours} from "./colours.js";
import {addStyles} from "./styles.js";

const CSS = `
  .widget {
    container-type: inline-size;
    box-sizing: border-box; max-width: 100%; margin: 1.5rem 0; padding: .875rem;
    border: 1px solid var(--widget-line); border-radius: .625rem;
    background: var(--widget-paper); color: var(--widget-ink); color-scheme: var(--widget-scheme);
    font: 400 .875rem/1.4 var(--sans, system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif);
    font-variant-numeric: tabular-nums; text-align: left;
    --rejected-soft: color-mix(in srgb, var(--role-rejected) 12%, var(--widget-paper));
    --rejected-hatch: repeating-linear-gradient(-45deg, var(--role-rejected) 0 1.5px, var(--rejected-soft) 1.5px 5px);
    --correction-soft: color-mix(in srgb, var(--role-correction) 30%, var(--widget-paper));
    --correction-hatch: repeating-linear-gradient(45deg, var(--role-correction) 0 3px, var(--correction-soft) 3px 6px);
  }
  .widget *, .widget *::before, .widget *::after { box-sizing: border-box; }
  .widget p, .widget ol, .widget ul, .widget li {
    max-width: none; margin: 0; font-size: inherit; line-height: inherit; text-indent: 0; hyphens: none;
  }
  .widget :focus-visible { outline: 2px solid var(--role-target); outline-offset: 2px; }
  .widget .widget-says {
    margin: .75rem 0 0; padding: .5rem .75rem; min-height: 3.5rem;
    border-left: 3px solid var(--role-target); background: var(--widget-soft); border-radius: 0 .375rem .375rem 0;
  }
  .widget .widget-only-heard {
    position: absolute; width: 1px; height: 1px; margin: -1px;
    overflow: hidden; clip-path: inset(50%); white-space: nowrap;
  }
  @container (max-width: 27rem) { .widget .widget-says { min-height: 7.75rem; } }
  @media print { .widget { break-inside: avoid; } .widget .widget-control { display: none; } }
`;

/**
 * What every widget stands in: a labelled group with a sentence, read aloud when it changes, that says its state.
 *
 * The returned element has the two things that `viewof` asks for: `.value`, and an `input` event when it changes.
 *
 * @param {string} name becomes the class `widget-<name>`
 * @param {string} label the accessible name
 * @param {(sentence: Node) => Node[]} arrange the parts top to bottom, the sentence among them
 * @returns {{root: HTMLElement, show: (value: object, sentence: string) => void, notify: () => void}}
 */
export function widgetFrame(name, label, arrange) {
  useColours();
  addStyles("frame", CSS);
  const sentence = html`<p class="widget-says" aria-live="polite">`;
  const root = html`<div class=${`widget widget-${name}`} role="group" aria-label=${label}>${arrange(sentence)}</div>`;
  return {
    root,
    show(value, words) {
      root.value = value;
      if (sentence.textContent !== words) sentence.textContent = words;
    },
    notify() {
      root.dispatchEvent(new Event("input", {bubbles: true}));
    }
  };
}

/**
 * Calls `react` when a control inside a widget changes, and keeps the control's own event inside, so that the page
 * hears one `input` event from the widget, after its value has changed.
 */
export function onInput(control, react) {
  control.addEventListener("input", (event) => {
    event.stopPropagation();
    react(event);
  });
}
