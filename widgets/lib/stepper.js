import {html, svg} from "../vendor/observable.js";
import {onInput} from "./frame.js";
import {addStyles} from "./styles.js";

const CSS = `
  .widget-stepper { display: flex; flex-wrap: wrap; gap: .375rem; align-items: center; }
  .widget-stepper button {
    display: inline-flex; align-items: center; justify-content: center; width: 2.25rem; height: 2.25rem; margin: 0; padding: 0;
    border: 1px solid var(--widget-line); border-radius: .375rem; background: var(--widget-paper); color: inherit; cursor: pointer;
  }
  .widget-stepper button:hover { border-color: var(--role-muted); background: var(--widget-soft); }
  .widget-stepper button[aria-disabled="true"] { color: var(--role-muted); opacity: .45; cursor: default; }
  .widget-stepper .stepper-next {
    border-color: var(--role-target); background: color-mix(in srgb, var(--role-target) 13%, var(--widget-paper));
  }
  .widget-stepper svg { width: 1rem; height: 1rem; fill: currentColor; }
  .widget-stepper .stepper-place { display: flex; flex: 1 1 10rem; gap: .5rem; align-items: center; min-width: 0; }
  .widget-stepper input {
    flex: 1; min-width: 5rem; height: 2.25rem; margin: 0 0 0 .25rem; accent-color: var(--role-target);
  }
  .widget-stepper output { color: var(--role-muted); white-space: nowrap; }
`;

const ICONS = {
  first: "M3 2.5h2v11H3zM11.5 2.5L6 8l5.5 5.5 1.4-1.4L8.8 8l4.1-4.1z",
  back: "M10 2.5L4.5 8l5.5 5.5 1.4-1.4L7.3 8l4.1-4.1z",
  next: "M6 2.5L11.5 8 6 13.5l-1.4-1.4L8.7 8 4.6 3.9z",
  last: "M11 2.5h2v11h-2zM4.5 2.5L10 8l-5.5 5.5-1.4-1.4L7.2 8 3.1 3.9z",
  play: "M4 2v12l9.5-6z",
  pause: "M4 2.5h3v11H4zM9 2.5h3v11H9z"
};

const PLAY_INTERVAL = 1600; // ms, long enough to read a step's sentence

/**
 * Buttons and a slider that walk through the steps of a story. Arrow keys, Home and End work wherever the focus is
 * in it; nothing moves by itself until Play is pressed.
 * @param {{steps: string[], value?: number}} options `steps` are short names, read aloud by the slider
 * @returns {HTMLElement} with `.value`, the index of the step, and `.setSteps(names, value)`; emits `input`
 */
export function stepper({steps, value = 0}) {
  addStyles("stepper", CSS);
  let names = steps;
  let timer = null;

  const first = button("first", "First step", () => go(0));
  const back = button("back", "Previous step", () => go(root.value - 1));
  const next = button("next", "Next step", () => go(root.value + 1));
  const last = button("last", "Last step", () => go(names.length - 1));
  const play = button("play", "Play", () => (timer === null ? start() : stop()));
  const slider = html`<input type="range" min="0" step="1" aria-label="Step">`;
  const output = html`<output>`;
  const root = html`<div class="widget-stepper widget-control" role="group" aria-label="Steps">
    ${first}${back}${next}${last}${play}<div class="stepper-place">${slider}${output}</div></div>`;

  onInput(slider, () => go(slider.valueAsNumber));
  root.addEventListener("keydown", (event) => {
    const target = {ArrowLeft: root.value - 1, ArrowRight: root.value + 1, Home: 0, End: names.length - 1}[event.key];
    if (target === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    go(target);
  });

  function go(step) {
    stop();
    move(step);
  }

  function move(step) {
    const reachable = Math.max(0, Math.min(names.length - 1, step));
    if (reachable === root.value) return;
    show(reachable);
    root.dispatchEvent(new Event("input", {bubbles: true}));
  }

  function show(step) {
    root.value = step;
    slider.max = names.length - 1;
    slider.value = step;
    slider.setAttribute("aria-valuetext", `Step ${step + 1} of ${names.length}: ${names[step]}`);
    output.textContent = `${step + 1} / ${names.length}`;
    for (const control of [first, back]) control.setAttribute("aria-disabled", step === 0);
    for (const control of [next, last]) control.setAttribute("aria-disabled", step === names.length - 1);
  }

  function start() {
    if (root.value === names.length - 1) move(0);
    timer = setInterval(tick, PLAY_INTERVAL);
    setIcon(play, "pause", "Pause");
  }

  function tick() {
    if (root.isConnected) move(root.value + 1);
    if (!root.isConnected || root.value === names.length - 1) stop();
  }

  function stop() {
    if (timer === null) return;
    clearInterval(timer);
    timer = null;
    setIcon(play, "play", "Play");
  }

  root.setSteps = (newSteps, step) => {
    stop();
    names = newSteps;
    show(step);
  };
  show(value);
  return root;
}

function button(icon, label, press) {
  const element = html`<button type="button" class=${`stepper-${icon}`} onclick=${press}>`;
  setIcon(element, icon, label);
  return element;
}

function setIcon(element, icon, label) {
  element.setAttribute("aria-label", label);
  element.title = label;
  element.replaceChildren(svg`<svg viewBox="0 0 16 16" aria-hidden="true"><path d=${ICONS[icon]}></path></svg>`);
}
