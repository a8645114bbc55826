import {Plot, html} from "./vendor/observable.js";
import {number} from "./lib/address.js";
import {role} from "./lib/colours.js";
import {probability} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {choice, range} from "./lib/inputs.js";
import {legend} from "./lib/legend.js";
import {keyMark, plot, responsive} from "./lib/plot.js";
import {addStyles} from "./lib/styles.js";

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** What each head adds to a pass: p₁ ⋯ pₖ, the probability that its guess and all shallower ones are right. */
export function headGains(probs) {
  let reached = 1;
  return probs.map((prob) => (reached *= prob));
}

/** Expected tokens per pass, the target's own included: 1 + Σₖ p₁ ⋯ pₖ. */
export function expectedAcceptedLength(probs) {
  return 1 + sum(headGains(probs));
}

/**
 * Checks what Python computed for a list of rates.
 * @throws {Error} naming it
 */
export function checkExpected({name, probs, expected}) {
  const here = expectedAcceptedLength(probs);
  if (!(Math.abs(here - expected) < 1e-4))
    throw new Error(`head explorer: "${name}" is recorded with ${expected} tokens per pass, its rates give ${here}`);
}

/** What the widget shows, as numbers. */
export function headState(probs) {
  return {...sliderFields(probs), probs, gains: headGains(probs), tokens: expectedAcceptedLength(probs)};
}

const sliderFields = (probs) => Object.fromEntries(probs.map((prob, head) => [`p${head + 1}`, prob]));

/** The state in a few sentences. */
export function describeHeads({probs, gains, tokens}, demo) {
  const terms = gains.map((gain) => probability(gain)).join(" + ");
  const sentences = [`1 + ${terms} = ${tokens.toFixed(2)} expected tokens per pass, of at most ${probs.length + 1}.`];
  const last = gains[gains.length - 1];
  if (probs.every((prob, head) => prob === demo.probs[head]))
    sentences.push(`These are the rates of ${demo.name}; whole runs with them brought ${demo.tokens_per_pass.toFixed(2)} per pass.`);
  else if (last === 0) sentences.push(`From head ${gains.indexOf(0) + 1} on nothing is added: a guess counts only if all shallower ones are right.`);
  else sentences.push(`The last head adds ${probability(last)}.`);
  return sentences.join(" ");
}

const CSS = `
  .widget-heads .heads-sliders { display: grid; grid-template-columns: 1fr; gap: .5rem 1.5rem; margin: .5rem 0 .75rem; }
  .widget-heads .heads-title { font-weight: 600; }
  @container (min-width: 34rem) {
    .widget-heads .heads-sliders { grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); }
  }
`;

/**
 * How often each head is right, given that all shallower ones are, and the tokens per pass that follow.
 * @param {{presets: object[], demo: object}} data presets are {name, probs, expected}; so is the demo, named like "the
 *   trained heads", with `tokens_per_pass`, what whole runs with them brought; all have as many probs as there are heads
 * @param {{probs?: number[]}} options where the sliders start
 * @returns {HTMLElement} with `.value` {p1, p2, …, probs, gains, tokens}; emits `input`
 */
export function headExplorer({presets, demo}, {probs: start = demo.probs} = {}) {
  addStyles("heads", CSS);
  const cases = [demo, ...presets];
  cases.forEach(checkExpected);
  let probs = [...start]; // exact, where a slider shows two decimals
  const sliders = probs.map((prob, head) =>
    range([0, 1], {
      label: `p${"₁₂₃₄₅₆₇₈₉"[head]}, head ${head + 1}`,
      name: `p${head + 1}, how often head ${head + 1} is right where all shallower ones are`,
      value: prob,
      step: 0.01
    })
  );
  const caseChoice = choice(new Map(cases.map((entry) => [entry.name, entry])), {label: "Rates"});
  const chart = responsive((width) => drawTokens(width, frame.root.value, demo));
  const arrange = (sentence) => [
    caseChoice,
    html`<div class="heads-sliders">${sliders}</div>`,
    html`<div class="heads-title">Expected tokens per pass, by the heads used</div>`,
    chart,
    legend([
      [keyMark("circle", "target"), "these rates; + what a head adds"],
      [keyMark("dots", "muted"), "always right"],
      [keyMark("dashes", "draft"), `${demo.name}, by the tested formula`],
      [keyMark("star", "accepted"), `${demo.name}, measured in whole runs`]
    ]),
    sentence
  ];
  const frame = widgetFrame("heads", "Head-accuracy explorer", arrange, {
    fields: Object.fromEntries(probs.map((_, head) => [`p${head + 1}`, number(0, 1)])),
    set: (state) => set(probs.map((_, head) => state[`p${head + 1}`]))
  });

  function set(newProbs) {
    probs = [...newProbs];
    sliders.forEach((slider, head) => (slider.value = probs[head]));
    update();
  }

  function update() {
    const state = headState(probs);
    const chosen = cases.find((entry) => entry.probs.every((prob, head) => prob === probs[head]));
    if (chosen) caseChoice.value = chosen;
    else caseChoice.clear();
    frame.show(state, describeHeads(state, demo));
    chart.redraw();
  }

  sliders.forEach((slider, head) => {
    frame.follow(slider, () => {
      probs[head] = slider.value;
      update();
    });
  });
  frame.follow(caseChoice, () => set(caseChoice.value.probs));
  update();
  return frame.open();
}

/** Tokens per pass against the number of heads used. */
function drawTokens(width, {probs, gains, tokens}, demo) {
  const heads = [0, ...probs.map((_, head) => head + 1)];
  const curve = heads.map((used) => ({used, tokens: expectedAcceptedLength(probs.slice(0, used)), gain: gains[used - 1]}));
  const measured = {used: probs.length, tokens: demo.tokens_per_pass};
  const halo = {stroke: "var(--widget-paper)", strokeWidth: 4};
  return plot({
    label: `Tokens per pass against heads used: ${tokens.toFixed(2)} with all ${probs.length}`,
    width,
    height: 220,
    marginLeft: 28,
    marginRight: 24,
    marginTop: 14,
    marginBottom: 34,
    x: {domain: [-0.25, probs.length + 0.25], ticks: heads, tickFormat: "d", label: "heads used", labelArrow: "none", labelAnchor: "center"},
    y: {domain: [0, probs.length + 1], ticks: probs.length + 1, tickFormat: "d", label: null, grid: true},
    marks: [
      Plot.line(heads, {x: (used) => used, y: (used) => used + 1, stroke: role("muted"), strokeDasharray: "2,3"}),
      Plot.ruleY([demo.expected], {stroke: role("draft"), strokeDasharray: "8,4"}),
      Plot.line(curve, {x: "used", y: "tokens", stroke: role("target"), strokeWidth: 1.5}),
      Plot.dot(curve, {x: "used", y: "tokens", r: 4.5, fill: role("target")}),
      Plot.dot([measured], {x: "used", y: "tokens", symbol: "star", r: 7, fill: role("accepted"), stroke: "var(--widget-paper)"}),
      Plot.text(curve.slice(1), {
        x: "used", y: "tokens", dy: 15, text: ({gain}) => `+${probability(gain)}`, fill: role("target"), ...halo
      }),
      Plot.text([curve[probs.length]], {
        x: "used", y: "tokens", dy: -14, text: (point) => point.tokens.toFixed(2), fontWeight: 700, fontSize: 15, fill: role("target"), ...halo
      })
    ]
  });
}
