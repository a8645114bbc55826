import {html} from "./vendor/observable.js";
import {integer, number} from "./lib/address.js";
import {count, percent, probability} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {choice, range} from "./lib/inputs.js";
import {addStyles} from "./lib/styles.js";

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** Logits → probabilities. */
export function softmax(logits) {
  const highest = Math.max(...logits);
  const weights = logits.map((logit) => Math.exp(logit - highest));
  const total = sum(weights);
  return weights.map((weight) => weight / total);
}

/** Sets every logit below the k-th largest to −∞; ties with it stay. */
export function keepTopK(logits, k) {
  const descending = [...logits].sort((a, b) => b - a);
  const threshold = descending[Math.min(k, logits.length) - 1];
  return logits.map((logit) => (logit < threshold ? -Infinity : logit));
}

/** Removes the unlikeliest tokens while those removed hold at most 1 − p, and scales the others up to sum to 1. */
export function keepTopP(probs, p) {
  const ascending = probs.map((_, token) => token).sort((a, b) => probs[a] - probs[b] || a - b);
  const likeliest = ascending[ascending.length - 1];
  const kept = probs.map(() => 0);
  let mass = 0;
  for (const token of ascending) {
    mass += probs[token];
    if (mass > 1 - p || token === likeliest) kept[token] = probs[token];
  }
  const total = sum(kept);
  return kept.map((share) => share / total);
}

/**
 * A law from logits, step by step: what the model gave, after temperature, after top-k, after top-p, and by which step
 * each token was cut ("" where it was not). `topK` and `topP` may be null for off.
 */
export function warpStages(logits, temperature, topK, topP) {
  const model = softmax(logits);
  if (temperature === 0) {
    const likeliest = logits.indexOf(Math.max(...logits));
    const greedy = logits.map((_, token) => (token === likeliest ? 1 : 0));
    const cutBy = greedy.map((mass) => (mass > 0 ? "" : "greedy"));
    return {model, tempered: greedy, shortened: greedy, probs: greedy, cutBy};
  }
  const scaled = logits.map((logit) => logit / temperature);
  const tempered = softmax(scaled);
  const shortened = topK === null ? tempered : softmax(keepTopK(scaled, topK));
  const probs = topP === null ? shortened : keepTopP(shortened, topP);
  const cutBy = probs.map((mass, token) => (mass > 0 ? "" : shortened[token] > 0 ? "top-p" : "top-k"));
  return {model, tempered, shortened, probs, cutBy};
}

/** The law that is sampled from: temperature, then top-k, then top-p. */
export function nextTokenDistribution(logits, temperature, topK, topP) {
  return warpStages(logits, temperature, topK, topP).probs;
}

/** What the widget shows, as numbers; `keptMass` is what the kept tokens held before they were scaled up. */
export function warpState(logits, temperature, topK, topP) {
  const stages = warpStages(logits, temperature, topK < logits.length ? topK : null, topP < 1 ? topP : null);
  const survives = (mass, token) => (stages.probs[token] > 0 ? mass : 0);
  return {
    temperature,
    topK,
    topP,
    ...stages,
    kept: stages.probs.filter((mass) => mass > 0).length,
    keptMass: sum(stages.shortened.map(survives))
  };
}

/**
 * Checks a preset's record against what the widget computes.
 * @throws {Error} naming the preset
 */
export function checkPreset(preset, logits) {
  const probs = nextTokenDistribution(logits, preset.temperature, preset.top_k, preset.top_p);
  const apart = Math.max(...probs.map((mass, token) => Math.abs(mass - preset.probs[token])));
  if (!(apart < 1e-5)) throw new Error(`warper explorer: preset "${presetName(preset)}" is off by ${apart}`);
}

/** What a preset changes, in a few signs. */
export function presetName({temperature, top_k, top_p}) {
  const parts = [
    temperature !== 1 && (temperature === 0 ? "greedy" : `τ = ${temperature}`),
    top_k !== null && `k = ${top_k}`,
    top_p !== null && `p = ${top_p}`
  ].filter(Boolean);
  return parts.join(", ") || "the model’s own law";
}

/** The state in a few sentences. */
export function describeWarp({temperature, topK, topP, model, tempered, shortened, probs, kept, keptMass}, labels) {
  const likeliest = probs.indexOf(Math.max(...probs));
  const name = `“${labels[likeliest]}”`;
  if (temperature === 0) return `Temperature 0 is greedy: always ${name}, whatever top-k and top-p are.`;
  const heat = `Temperature ${temperature}`;
  const change = `${name} goes from ${probability(model[likeliest])} to ${probability(tempered[likeliest])}`;
  const sentences = [
    temperature === 1 ? `${heat} changes nothing.` : `${heat} ${temperature < 1 ? "sharpens" : "flattens"} the law: ${change}.`
  ];
  if (topK < labels.length) {
    const survivors = shortened.filter((mass) => mass > 0).length;
    const ties = survivors > topK ? `, since ties with number ${topK} stay` : "";
    sentences.push(`Top-k keeps ${survivors} of ${count(labels.length, "token")}${ties}.`);
  }
  if (topP < 1) sentences.push(`Top-p ${topP} keeps ${kept}, which hold ${probability(keptMass)} of the mass.`);
  if (kept === labels.length) return [...sentences, `All ${kept} tokens can be drawn.`].join(" ");
  const law = kept === 1 ? "the only one that can be drawn" : `drawn with probability ${probability(probs[likeliest])}`;
  return [...sentences, `Scaled up to sum to 1, ${name} is ${law}.`].join(" ");
}

const CSS = `
  .widget-warper .warper-sliders { display: grid; grid-template-columns: 1fr; gap: .5rem 1.5rem; margin-top: .5rem; }
  .widget-warper .warper-strip {
    position: relative; display: flex; height: 1.5rem; margin: .75rem 0 .25rem; border-radius: .25rem;
    background: var(--widget-soft);
  }
  .widget-warper .warper-strip span { box-shadow: inset -1px 0 var(--widget-paper); background: var(--role-target); }
  .widget-warper .warper-strip span:first-child { border-radius: .25rem 0 0 .25rem; }
  .widget-warper .warper-strip .warper-cut { background: var(--rejected-hatch); }
  .widget-warper .warper-strip b {
    position: absolute; top: -.25rem; bottom: -.25rem; width: 3px; margin-left: -1.5px; background: var(--widget-ink);
    outline: 1px solid var(--widget-paper);
  }
  .widget-warper .warper-note { color: var(--role-muted); font-size: .8125rem; }
  .widget-warper .warper-rows { margin-top: .5rem; }
  .widget-warper .warper-row {
    display: grid; grid-template-columns: 4.5rem minmax(0, 1fr) 3rem 3.5rem; gap: 0 .5rem; align-items: center;
    padding: .1875rem 0; border-top: 1px solid var(--widget-line);
  }
  .widget-warper .warper-name {
    overflow: hidden; text-overflow: ellipsis; white-space: pre;
    font: 600 .875rem/1.4 ui-monospace, "SF Mono", Menlo, Consolas, monospace;
  }
  .widget-warper .warper-rest {
    color: var(--role-muted); font: 400 .8125rem/1.4 var(--sans, system-ui, "Segoe UI", Roboto, Arial, sans-serif);
  }
  .widget-warper .warper-axis { padding: 0; border: 0; color: var(--role-muted); font-size: .75rem; }
  .widget-warper .warper-axis > span { display: flex; grid-column: 2; justify-content: space-between; }
  .widget-warper .warper-track { position: relative; height: 1.125rem; border-radius: .1875rem; background: var(--widget-soft); }
  .widget-warper .warper-track span { position: absolute; left: 0; border-radius: .1875rem; }
  .widget-warper .warper-new { top: .125rem; bottom: .125rem; background: var(--role-target); }
  .widget-warper .warper-lost { top: .125rem; bottom: .125rem; background: var(--rejected-hatch); }
  .widget-warper .warper-old { top: 0; bottom: 0; border-right: 2px solid var(--widget-ink); }
  .widget-warper .warper-value { text-align: right; }
  .widget-warper .warper-fate { color: var(--role-rejected); font-size: .8125rem; font-weight: 600; white-space: nowrap; }
  .widget-warper .warper-key {
    display: flex; flex-wrap: wrap; gap: .125rem 1rem; margin: .5rem 0 0; padding: 0; list-style: none; font-size: .8125rem;
  }
  .widget-warper .warper-swatch {
    display: inline-block; width: 1.25em; height: .8em; margin-right: .35em; border-radius: .125rem; vertical-align: -.05em;
  }
  .widget-warper .warper-swatch-old { width: 0; height: 1em; border-left: 2px solid var(--widget-ink); border-radius: 0; }
  @container (max-width: 27rem) {
    .widget-warper .warper-row { grid-template-columns: 3.75rem minmax(0, 1fr) 2.5rem 3.25rem; gap: 0 .25rem; }
  }
  @container (min-width: 34rem) { .widget-warper .warper-sliders { grid-template-columns: repeat(3, minmax(0, 1fr)); } }
`;

const ROWS = 10;
const SCALES = [0.25, 0.5, 1]; // where the bars' axis may end; few, so that it stands still while a slider moves
const LEAST_TOP_P = 0.05;

/**
 * Temperature, top-k and top-p, and what they make of one next-token law.
 * @param {{labels: string[], logits: number[], presets: object[]}} data a preset is {temperature, top_k, top_p, probs},
 *   with null for off, as Python computed it
 * @param {{temperature?: number, topK?: number, topP?: number}} options where the sliders start; top-k of all tokens
 *   and top-p of 1 are off
 * @returns {HTMLElement} with `.value` {temperature, topK, topP, model, tempered, shortened, probs, cutBy, kept,
 *   keptMass}; emits `input`
 */
export function warperExplorer({labels, logits, presets}, {temperature = 1, topK = labels.length, topP = 1} = {}) {
  addStyles("warper", CSS);
  presets.forEach((preset) => checkPreset(preset, logits));
  const sliders = {
    temperature: range([0, 2], {label: "τ, temperature", name: "τ, temperature", value: temperature, step: 0.05}),
    topK: range([1, labels.length], {
      label: "k, tokens kept",
      name: `k of top-k, tokens kept; ${labels.length} is off`,
      value: topK,
      step: 1
    }),
    topP: range([LEAST_TOP_P, 1], {label: "p, mass kept", name: "p of top-p, mass kept; 1 is off", value: topP, step: 0.01})
  };
  const settingsOf = ({temperature, top_k, top_p}) => ({
    temperature,
    topK: top_k === null ? labels.length : top_k,
    topP: top_p === null ? 1 : top_p
  });
  const presetChoice = choice(new Map(presets.map((preset) => [presetName(preset), preset])), {label: "Start from"});
  const strip = html`<div class="warper-strip" aria-hidden="true">`;
  const order = labels.map((_, token) => token).sort((a, b) => logits[b] - logits[a] || a - b);
  const shown = order.length > ROWS + 2 ? ROWS : order.length;
  const rows = order.slice(0, shown).map((token) => tokenRow(labels[token], (law) => law[token]));
  if (shown < order.length) rows.push(restRow(order.slice(shown)));

  const axisEnd = html`<span>`;
  const axis = html`<div class="warper-row warper-axis" aria-hidden="true"><span><span>0</span>${axisEnd}</span></div>`;

  const arrange = (sentence) => [
    presetChoice,
    html`<div class="warper-sliders">${Object.values(sliders)}</div>`,
    strip,
    html`<div class="warper-note">The mass after temperature and top-k, likeliest token first; the mark is top-p.</div>`,
    html`<div class="warper-rows">${axis}${rows.map(({element}) => element)}</div>`,
    key(),
    sentence
  ];
  const frame = widgetFrame("warper", "Temperature, top-k and top-p", arrange, {
    fields: {temperature: number(0, 2), topK: integer(1, labels.length), topP: number(LEAST_TOP_P, 1)},
    set
  });

  function set(settings) {
    for (const [name, slider] of Object.entries(sliders)) slider.value = settings[name];
    update();
  }

  function update() {
    const state = warpState(logits, sliders.temperature.value, sliders.topK.value, sliders.topP.value);
    const chosen = presets.find((preset) =>
      Object.entries(settingsOf(preset)).every(([name, setting]) => setting === state[name])
    );
    if (chosen) presetChoice.value = chosen;
    else presetChoice.clear();
    strip.replaceChildren(...stripParts(state, order));
    const longest = Math.max(...rows.flatMap(({lengths}) => lengths(state)));
    const scale = SCALES.find((end) => end >= longest - 1e-9);
    axisEnd.textContent = scale;
    for (const row of rows) row.show(state, scale);
    frame.show(state, describeWarp(state, labels));
  }

  frame.follow(Object.values(sliders), update);
  frame.follow(presetChoice, () => set(settingsOf(presetChoice.value)));
  update();
  return frame.open();
}

/** The mass before top-p, token by token, and how far top-p goes. */
function stripParts({shortened, probs, topP}, order) {
  const parts = order
    .filter((token) => shortened[token] > 0)
    .map((token) => html`<span class=${probs[token] > 0 ? "" : "warper-cut"} style=${`width: ${percent(shortened[token])}`}>`);
  return topP < 1 ? [...parts, html`<b style=${`left: ${percent(topP)}`}>`] : parts;
}

/** One token, or several summed up: its new mass as a bar, what the model gave it as a mark. */
function tokenRow(name, entryOf) {
  const [bar, lost, old] = [html`<span class="warper-new">`, html`<span class="warper-lost">`, html`<span class="warper-old">`];
  const [value, fate] = [html`<span class="warper-value">`, html`<span class="warper-fate">`];
  const element = html`<div class="warper-row"><span class="warper-name">${name}</span>
    <div class="warper-track" aria-hidden="true">${lost}${bar}${old}</div>${value}${fate}</div>`;

  const lengths = (state) => [entryOf(state.probs), entryOf(state.model)];

  function show(state, scale) {
    const [now, before] = lengths(state);
    bar.style.width = percent(now / scale);
    lost.style.width = percent(now === 0 ? before / scale : 0);
    old.style.width = percent(before / scale);
    value.textContent = now.toFixed(3);
    const words = entryOf(state.cutBy);
    fate.textContent = words ? `✗ ${words}` : "";
  }
  return {element, lengths, show};
}

/** The tokens that there is no room for, summed up; they are cut when all of them are. */
function restRow(tokens) {
  const name = html`<span class="warper-rest">${tokens.length} more</span>`;
  return tokenRow(name, (law) => {
    const values = tokens.map((token) => law[token]);
    if (typeof values[0] === "number") return sum(values);
    return values.every(Boolean) ? values[0] : "";
  });
}

function key() {
  const swatch = (background) => html`<span class="warper-swatch" style=${`background: ${background}`}>`;
  return html`<ul class="warper-key">
    <li>${swatch("var(--role-target)")}new probability</li>
    <li><span class="warper-swatch warper-swatch-old"></span>what the model gave</li>
    <li>${swatch("var(--rejected-hatch)")}cut</li>
  </ul>`;
}
