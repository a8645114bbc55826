import {html} from "../vendor/observable.js";
import {role} from "./colours.js";
import {addStyles} from "./styles.js";

const CSS = `
  .widget-chip {
    --role: var(--role-muted);
    display: inline-flex; align-items: baseline; justify-content: center; gap: .25em; min-width: 1.75em; max-width: 100%;
    padding: .0625rem .375rem; border: 1px solid var(--role); border-radius: .375rem;
    background: color-mix(in srgb, var(--role) 12%, var(--widget-paper));
    font: .8125rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; white-space: pre;
  }
  .widget-chip > span { max-width: 100%; overflow: hidden; text-overflow: ellipsis; }
  .widget-chip > .chip-mark { flex: none; overflow: visible; color: var(--role); font-weight: 700; }
  .widget-chip.chip-context { background: none; }
  .widget-chip.chip-draft { border-style: dashed; }
  .widget-chip.chip-discarded {
    border-style: dotted; background: none; color: var(--role-muted); text-decoration: line-through;
  }
`;

/** What can become of a token: its colour, a mark, and the word that a screen reader hears. */
export const CHIP_KINDS = {
  context: {colour: "muted", mark: "", word: ""},
  draft: {colour: "draft", mark: "?", word: "guessed"},
  accepted: {colour: "accepted", mark: "✓", word: "accepted"},
  rejected: {colour: "rejected", mark: "✗", word: "rejected"},
  discarded: {colour: "muted", mark: "", word: "discarded"},
  correction: {colour: "correction", mark: "↺", word: "correction"},
  bonus: {colour: "correction", mark: "+", word: "bonus"}
};

/**
 * A token in a box, its fate told by colour, mark and word.
 * @param {string} label the token's text
 * @param {keyof CHIP_KINDS} kind
 */
export function chip(label, kind) {
  addStyles("chips", CSS);
  const {colour, mark, word} = CHIP_KINDS[kind];
  return html`<span class=${`widget-chip chip-${kind}`} style=${`--role: ${role(colour)}`}>${
    mark && html`<span class="chip-mark" aria-hidden="true">${mark}</span>`
  }<span>${label}</span>${word && html`<span class="widget-only-heard"> ${word}</span>`}</span>`;
}
