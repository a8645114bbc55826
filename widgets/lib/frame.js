import {html} from "../vendor/observable.js";
import {keepInAddress} from "./address.js";
import {useColours} from "./colours.js";
import {addStyles} from "./styles.js";

const CSS = `
  .widget {
    container-type: inline-size;
    box-sizing: border-box; max-width: 100%; margin: 1.5rem 0; padding: .875rem; scroll-margin-top: 4.5rem;
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
  .widget .widget-foot {
    display: flex; gap: .75rem; align-items: center; justify-content: flex-end; margin: .375rem 0 -.375rem;
    color: var(--role-muted); font-size: .8125rem;
  }
  .widget .widget-link {
    display: inline-flex; gap: .375em; align-items: center; margin: 0; padding: .25rem .375rem; border: 0;
    border-radius: .25rem; background: none; color: inherit; font: inherit; cursor: pointer;
  }
  .widget .widget-link:hover { background: var(--widget-soft); color: var(--widget-ink); }
  .widget .widget-link svg { width: 1em; height: 1em; fill: none; stroke: currentColor; stroke-width: 1.5; }
  @container (max-width: 27rem) { .widget .widget-says { min-height: 7.75rem; } }
  @media screen { .widget-static:has(+ * .widget) { display: none; } }
  @media print {
    .widget { break-inside: avoid; }
    .widget .widget-control, .widget-static + * .widget { display: none !important; }
  }
`;

const LINK_ICON = "M6.5 9.5l3-3M7 4.5l1.5-1.5a3 3 0 0 1 4.5 4.5L11.5 9M9 11.5L7.5 13a3 3 0 0 1-4.5-4.5L4.5 7";

/**
 * What every widget stands in: a labelled group with a sentence, read aloud when it changes, that says its state, and
 * a button that copies a link to it.
 *
 * The element has the two things that `viewof` asks for: `.value`, and an `input` event when it changes. A chapter may
 * give the widget a stand-in for print and for readers without JavaScript: a block of class `widget-static` right
 * before the cell that draws the widget. It is hidden on screen once the widget is drawn, and printed in its place.
 *
 * @param {string} name becomes the class `widget-<name>`, and names the widget in the page's address
 * @param {string} label the accessible name
 * @param {(sentence: Node) => Node[]} arrange the parts top to bottom, the sentence among them
 * @param {{fields: object, set: (state: object) => void}} state which entries of `.value` the address can hold, by
 *   what each may be (see address.js); `set` shows a value in which these have changed
 * @returns {{root: HTMLElement, show: (value: object, sentence: string) => void, notify: () => void,
 *   follow: (controls: HTMLElement | HTMLElement[], react: () => void) => void, open: () => HTMLElement}}
 *   `show` after each change, `notify` when the reader made it; `follow` has `react` show what controls are moved to, and
 *   notifies; `open` when the first state is shown: it takes up what
 *   the address says and returns the finished root
 */
export function widgetFrame(name, label, arrange, {fields, set}) {
  useColours();
  addStyles("frame", CSS);
  const sentence = html`<p class="widget-says" aria-live="polite">`;
  const copied = html`<span role="status">`;
  const root = html`<div class=${`widget widget-${name}`} role="group" aria-label=${label}>${arrange(sentence)}
    <div class="widget-foot widget-control">${copied}${linkButton(() => address.link(), copied)}</div></div>`;
  let address = null;

  function notify() {
    root.dispatchEvent(new Event("input", {bubbles: true}));
    address.changed();
  }

  return {
    root,
    show(value, words) {
      root.value = value;
      copied.textContent = "";
      if (sentence.textContent !== words) sentence.textContent = words;
    },
    notify,
    follow(controls, react) {
      for (const control of [controls].flat()) {
        onInput(control, () => {
          react();
          notify();
        });
      }
    },
    open() {
      address = keepInAddress(root, {
        name,
        fields,
        get: () => root.value,
        set(state) {
          set({...root.value, ...state});
          root.dispatchEvent(new Event("input", {bubbles: true}));
        }
      });
      return root;
    }
  };
}

function linkButton(link, status) {
  const copy = async () => {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(link());
      status.textContent = "Link copied.";
    } else {
      history.replaceState(history.state, "", link()); // the clipboard needs HTTPS
      status.textContent = "The link is in the address bar.";
    }
  };
  return html`<button type="button" class="widget-link" onclick=${copy}>
    <svg viewBox="0 0 16 16" aria-hidden="true"><path d=${LINK_ICON}></path></svg>Copy link to this state</button>`;
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
