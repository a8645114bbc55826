import {html} from "./vendor/observable.js";
import {distribution, oneOf} from "./lib/address.js";
import {addStyles} from "./lib/styles.js";
import {choice} from "./lib/inputs.js";
import {
  acceptanceRate,
  outputLaw,
  overlap,
  residualDistribution,
  RULES,
  setProbability,
  totalVariation
} from "./lib/distributions.js";
import {percent, probability, signed} from "./lib/formats.js";
import {onInput, widgetFrame} from "./lib/frame.js";

const RULE_NAMES = {correct: "draw from the residual", residual_from_p: "draw from p", accept_all: "keep it anyway"};

const EXACT = 5e-7; // a distance below this is rounding

/** What the widget shows for a target p, a draft q and a rule, as numbers. */
export function labState(p, q, rule) {
  if (!RULES.includes(rule)) throw new Error(`accept lab: rule must be one of ${RULES.join(", ")}, got ${rule}`);
  const {accepted, corrected} = outputLaw(p, q, rule);
  const law = accepted.map((mass, token) => mass + corrected[token]);
  return {
    p,
    q,
    rule,
    accepted,
    corrected,
    law,
    alpha: acceptanceRate(p, q),
    distance: totalVariation(p, q),
    residual: residualDistribution(p, q),
    lawDistance: totalVariation(law, p)
  };
}

/**
 * Checks a preset's record against what the widget computes.
 * @throws {Error} naming the preset and the quantity that disagree
 */
export function checkPreset(preset) {
  const {name, target_probs: p, draft_probs: q} = preset;
  const differs = (a, b) => a.length !== b.length || a.some((value, token) => Math.abs(value - b[token]) > 1e-5);
  const {alpha, distance, residual} = labState(p, q, "correct");
  const quantities = [
    ["alpha", [alpha], [preset.alpha]],
    ["total_variation", [distance], [preset.total_variation]],
    ["residual", residual, preset.residual],
    ...Object.entries(preset.laws).map(([rule, law]) => [`law of "${rule}"`, labState(p, q, rule).law, law])
  ];
  for (const [quantity, computed, recorded] of quantities) {
    if (differs(computed, recorded))
      throw new Error(`accept lab: preset "${name}": ${quantity} is recorded as ${recorded}, computed as ${computed}`);
  }
}

const WHY_EXACT = {
  correct: () => "The corrections fill exactly what is missing.",
  residual_from_p: (alpha) =>
    1 - alpha < EXACT
      ? "Nothing is ever rejected here."
      : "Here the residual happens to be p itself, so this rule does no harm.",
  accept_all: () => "The two laws agree, so even this rule does no harm."
};

/** The state in a sentence or two. */
export function describeLab({p, law, rule, alpha, lawDistance}, labels) {
  const rates = `p and q are ${probability(1 - alpha)} apart, so a guess is accepted with probability α = ${probability(alpha)}.`;
  if (lawDistance < EXACT) return `${rates} ${WHY_EXACT[rule](alpha)} Tokens come out with the law p.`;
  const worst = law
    .map((mass, token) => Math.abs(mass - p[token]))
    .reduce((best, gap, token, gaps) => (gap > gaps[best] ? token : best), 0);
  return `${rates} This rule misses p by ${probability(lawDistance)}: “${labels[worst]}” comes out with ${probability(law[worst])} instead of ${probability(p[worst])}.`;
}

const CSS = `
  .widget-accept .lab-controls { display: flex; flex-wrap: wrap; gap: .5rem 2rem; }
  .widget-accept .lab-split {
    display: flex; height: 1.5rem; margin-top: .75rem; border-radius: .25rem; overflow: hidden;
    background: var(--widget-soft);
  }
  .widget-accept .lab-split-accepted { background: var(--role-accepted); }
  .widget-accept .lab-split-rejected { flex: 1; background: var(--rejected-hatch); }
  .widget-accept .lab-figures {
    display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; margin-top: .125rem;
  }
  .widget-accept .lab-exact { color: var(--role-accepted); font-weight: 600; }
  .widget-accept .lab-wrong { color: var(--role-rejected); font-weight: 600; }
  .widget-accept .lab-token {
    display: grid; grid-template-columns: 3.5rem minmax(0, 1fr); align-items: center;
    margin-top: .375rem; padding-top: .375rem; border-top: 1px solid var(--widget-line);
  }
  .widget-accept .lab-name {
    overflow: hidden; text-overflow: ellipsis; white-space: pre;
    font: 600 .9375rem/1.4 ui-monospace, "SF Mono", Menlo, Consolas, monospace;
  }
  .widget-accept .lab-bars {
    --key-width: 2rem; --value-width: 3rem; position: relative; display: grid;
    grid-template-columns: var(--key-width) minmax(0, 1fr) var(--value-width); align-items: center;
  }
  .widget-accept .lab-value { text-align: right; }
  .widget-accept .lab-track { position: relative; height: 1.625rem; border-radius: .25rem; }
  .widget-accept .lab-track::before, .widget-accept .lab-fill {
    content: ""; position: absolute; top: .25rem; bottom: .25rem; left: 0;
  }
  .widget-accept .lab-track::before { right: 0; background: var(--widget-soft); border-radius: .25rem; }
  .widget-accept .lab-track[role="slider"] { cursor: ew-resize; touch-action: pan-y; }
  .widget-accept .lab-handle {
    position: absolute; top: .125rem; bottom: .125rem; width: .625rem; margin-left: -.3125rem;
    border: 2px solid var(--widget-paper); border-radius: .3125rem;
  }
  .widget-accept .lab-p { color: var(--role-target); font-weight: 700; }
  .widget-accept .lab-q { color: var(--role-draft); font-weight: 700; }
  .widget-accept .lab-p .lab-handle { background: var(--role-target); }
  .widget-accept .lab-q .lab-handle { background: var(--role-draft); }
  .widget-accept .lab-goal {
    position: absolute; top: 1.25rem; bottom: 0; left: var(--key-width); right: var(--value-width);
    pointer-events: none;
  }
  .widget-accept .lab-goal span {
    position: absolute; top: 0; bottom: 0; border-left: 2px dashed var(--role-target); margin-left: -1px;
  }
  .widget-accept .lab-gap {
    position: absolute; top: .25rem; padding: 0 .25rem; font-size: .8125rem; font-weight: 700;
    color: var(--role-rejected); white-space: nowrap;
  }
  .widget-accept .lab-gap.lab-gap-end { right: 0; background: var(--widget-paper); border-radius: .25rem; }
  .widget-accept .lab-key {
    display: flex; flex-wrap: wrap; gap: .125rem 1rem; margin: .75rem 0 0; padding: 0; list-style: none;
    font-size: .8125rem;
  }
  .widget-accept .lab-swatch {
    display: inline-block; width: 1.25em; height: .8em; margin-right: .35em; border-radius: .125rem;
    vertical-align: -.05em;
  }
  .widget-accept .lab-swatch-goal {
    width: 0; height: 1em; border-left: 2px dashed var(--role-target); border-radius: 0;
  }
  .widget-accept .lab-hint { margin: .375rem 0 0; color: var(--role-muted); font-size: .8125rem; }
  .widget-accept .lab-replacement { margin: .5rem 0 0; font-size: .8125rem; }
  @container (max-width: 27rem) {
    .widget-accept .lab-token { grid-template-columns: minmax(0, 1fr); }
  }
`;

const STEP = 0.01;
const sameLaw = (a, b) => totalVariation(a, b) < 1e-5;

/**
 * Bars of p and q to drag over a small vocabulary, and the law of the emitted token that grows out of them.
 * @param {{labels: string[], presets: object[]}} data a preset is {name, target_probs, draft_probs, alpha,
 *   total_variation, residual, laws: {correct, residual_from_p, accept_all}}, as Python computed it
 * @param {{preset?: string, rule?: string, p?: number[], q?: number[]}} options where to start; p and q take the
 *   preset's place
 * @returns {HTMLElement} with `.value` {p, q, rule, alpha, distance, residual, accepted, corrected, law, lawDistance};
 *   emits `input`
 */
export function acceptLab({labels, presets}, {preset = presets[0].name, rule = "correct", p, q} = {}) {
  addStyles("accept", CSS);
  presets.forEach(checkPreset);
  const start = presets.find(({name}) => name === preset);
  if (!start) throw new Error(`accept lab: no preset "${preset}" among ${presets.map(({name}) => name).join(", ")}`);
  let state = labState(p || start.target_probs, q || start.draft_probs, rule);

  const presetChoice = choice(
    presets.map(({name}) => name),
    {label: "Start from", value: p || q ? undefined : preset}
  );
  const ruleChoice = choice(new Map(RULES.map((key) => [RULE_NAMES[key], key])), {
    label: "When a guess fails the test",
    value: rule
  });
  const split = html`<div class="lab-split-accepted">`;
  const [acceptedFigure, rejectedFigure, distanceFigure] = [html`<span>`, html`<span>`, html`<span>`];
  const replacement = html`<p class="lab-replacement">`;
  const rows = labels.map((label, token) =>
    tokenRow(label, (which, value) => {
      const changed = setProbability(state[which], token, value);
      presetChoice.clear();
      change({...state, [which]: changed});
    })
  );

  const arrange = (sentence) => [
    html`<div class="lab-controls">${presetChoice}${ruleChoice}</div>`,
    html`<div class="lab-split" aria-hidden="true">${split}<div class="lab-split-rejected"></div></div>`,
    html`<div class="lab-figures">${acceptedFigure}${rejectedFigure}${distanceFigure}</div>`,
    html`<p class="lab-hint widget-control">
      Drag the end of a bar of p or q; the other bars of that law make room in proportion.
      “out” is the law of the output.
    </p>`,
    html`<div class="lab-tokens">${rows.map(({element}) => element)}</div>`,
    replacement,
    key(),
    sentence
  ];
  const frame = widgetFrame("accept", "Accept-and-residual lab", arrange, {
    fields: {p: distribution(labels.length), q: distribution(labels.length), rule: oneOf(RULES)},
    set({p, q, rule}) {
      ruleChoice.value = rule;
      choosePreset(p, q);
      show(labState(p, q, rule));
    }
  });

  function choosePreset(p, q) {
    const preset = presets.find(({target_probs, draft_probs}) => sameLaw(p, target_probs) && sameLaw(q, draft_probs));
    if (preset) presetChoice.value = preset.name;
    else presetChoice.clear();
  }

  function change({p, q, rule}) {
    show(labState(p, q, rule));
    frame.notify();
  }

  function show(newState) {
    state = newState;
    split.style.width = percent(state.alpha);
    acceptedFigure.textContent = `accepted α = ${probability(state.alpha)}`;
    rejectedFigure.textContent = `rejected 1 − α = ${probability(1 - state.alpha)}`;
    const exact = state.lawDistance < EXACT;
    distanceFigure.textContent = exact
      ? "✓ the law of the output is p"
      : `✗ the law of the output is ${probability(state.lawDistance)} away from p`;
    distanceFigure.className = exact ? "lab-exact" : "lab-wrong";
    replacement.textContent = describeReplacement(state, labels);
    rows.forEach(({show: showRow}, token) => showRow(state, token));
    frame.show(state, describeLab(state, labels));
  }

  onInput(presetChoice, () => {
    const {target_probs, draft_probs} = presets.find(({name}) => name === presetChoice.value);
    change({...state, p: target_probs, q: draft_probs});
  });
  onInput(ruleChoice, () => change({...state, rule: ruleChoice.value}));
  show(state);
  return frame.open();
}

/** The law that a rejected guess is replaced from, in words. */
export function describeReplacement({rule, residual, p}, labels) {
  if (rule === "accept_all") return "Nothing is replaced: every guess is kept, so tokens have the draft’s law q.";
  const law = rule === "correct" ? residual : p;
  const name = rule === "correct" ? "the residual, (p − q)₊ scaled to sum to 1" : "p itself";
  const listed = labels.map((label, token) => `${label} ${probability(law[token])}`).join(" · ");
  return `A rejected guess is replaced by a draw from ${name}: ${listed}`;
}

/** The three bars of one token. `set(which, value)` is called when the reader moves the bar of p or q. */
function tokenRow(label, set) {
  const p = slider("p", label, (value) => set("p", value));
  const q = slider("q", label, (value) => set("q", value));
  const [overlapP, missing] = [fill("role-accepted"), fill("correction-hatch")];
  const [overlapQ, excess] = [fill("role-accepted"), fill("rejected-hatch")];
  p.track.prepend(overlapP, missing);
  q.track.prepend(overlapQ, excess);
  const [accepted, corrected] = [fill("role-accepted"), fill("correction-hatch")];
  const gap = html`<span class="lab-gap">`;
  const goal = html`<span>`;
  const law = html`<span class="lab-value">`;
  const element = html`<div class="lab-token" role="group" aria-label=${label}>
    <div class="lab-name" aria-hidden="true">${label}</div>
    <div class="lab-bars">
      <span class="lab-p" aria-hidden="true">p</span>${p.track}${p.value}
      <span class="lab-q" aria-hidden="true">q</span>${q.track}${q.value}
      <span>out</span><div class="lab-track">${accepted}${corrected}${gap}</div>${law}
      <div class="lab-goal">${goal}</div>
    </div></div>`;

  function show(state, token) {
    const common = overlap(state.p, state.q)[token];
    p.show(state.p[token]);
    q.show(state.q[token]);
    place(overlapP, 0, common);
    place(missing, common, state.p[token]);
    place(overlapQ, 0, common);
    place(excess, common, state.q[token]);
    place(accepted, 0, state.accepted[token]);
    place(corrected, state.accepted[token], state.law[token]);
    goal.style.left = percent(state.p[token]);
    law.textContent = probability(state.law[token]);
    showGap(gap, state.law[token], state.p[token]);
  }
  return {element, show};
}

/** A bar whose end can be dragged, or moved by keys: arrows by 0.01, Page keys by 0.1, Home and End to 0 and 1. */
function slider(which, label, set) {
  const handle = html`<span class="lab-handle">`;
  const track = html`<div class=${`lab-track lab-${which}`} role="slider" tabindex="0" aria-valuemin="0" aria-valuemax="1"
    aria-label=${`${which} of ${label}`}>${handle}</div>`;
  const value = html`<span class="lab-value" aria-hidden="true">`;
  let current = 0;
  const move = (target) => set(Math.max(0, Math.min(1, Math.round(target / STEP) * STEP)));

  track.addEventListener("keydown", (event) => {
    const target = {
      ArrowLeft: current - STEP,
      ArrowDown: current - STEP,
      ArrowRight: current + STEP,
      ArrowUp: current + STEP,
      PageDown: current - 10 * STEP,
      PageUp: current + 10 * STEP,
      Home: 0,
      End: 1
    }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    move(target);
  });
  const follow = ({clientX}) => {
    const {left, width} = track.getBoundingClientRect();
    move((clientX - left) / width);
  };
  // A finger may be about to scroll the page: it moves the bar only when it slides along it or taps it.
  let start = null;
  const scrolls = ({pointerType, clientX, clientY}) =>
    pointerType === "touch" && Math.abs(clientY - start.clientY) > Math.abs(clientX - start.clientX);
  track.addEventListener("pointerdown", (event) => {
    start = event;
    track.setPointerCapture(event.pointerId);
    track.focus({focusVisible: false, preventScroll: true});
    event.preventDefault();
    if (event.pointerType !== "touch") follow(event);
  });
  for (const type of ["pointermove", "pointerup"]) {
    track.addEventListener(type, (event) => {
      if (track.hasPointerCapture(event.pointerId) && !scrolls(event)) follow(event);
    });
  }

  function show(mass) {
    current = mass;
    handle.style.left = percent(mass);
    value.textContent = probability(mass);
    track.setAttribute("aria-valuenow", mass.toFixed(3));
  }
  return {track, value, show};
}

const fill = (pattern) => html`<span class="lab-fill" style=${`background: var(--${pattern})`}>`;

function place(element, from, to) {
  element.style.left = percent(from);
  element.style.width = percent(Math.max(0, to - from));
}

/** Says by how much the law misses p, beside the bar, or over its end where the bar is long. */
function showGap(gap, law, p) {
  const difference = law - p;
  const long = Math.max(law, p) > 0.6;
  gap.textContent = Math.abs(difference) < 0.0005 ? "" : signed(difference);
  gap.classList.toggle("lab-gap-end", long);
  gap.style.left = long ? "auto" : percent(Math.max(law, p));
}

function key() {
  const swatch = (background) => html`<span class="lab-swatch" style=${`background: ${background}`}>`;
  return html`<ul class="lab-key">
    <li>${swatch("var(--role-accepted)")}accepted, min(p, q)</li>
    <li>${swatch("var(--rejected-hatch)")}rejected, (q − p)₊</li>
    <li>${swatch("var(--correction-hatch)")}missing, (p − q)₊; replaced</li>
    <li><span class="lab-swatch lab-swatch-goal"></span>p, the goal</li>
  </ul>`;
}
