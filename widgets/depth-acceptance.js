import {Plot, html} from "./vendor/observable.js";
import {integer, oneOf} from "./lib/address.js";
import {role} from "./lib/colours.js";
import {probability} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {choice, levels} from "./lib/inputs.js";
import {plot, responsive} from "./lib/plot.js";
import {addStyles} from "./lib/styles.js";

/** How guesses are counted, by specdec.tree.DepthAcceptance: its key → [what the choice says, what a rate is]. */
export const MEASURES = {
  cumulative: ["so far all right", "this guess and all shallower ones are right"],
  given_shallower: ["right, if all before are", "this guess is right where all shallower ones are"],
  own: ["right on its own", "this guess is right, whatever the others"]
};

/** Rates given all shallower ones, multiplied up; null is never reached, so nothing is right there. */
export function cumulativeRates(givenShallower) {
  let reached = 1;
  return givenShallower.map((rate) => (reached *= rate === null ? 0 : rate));
}

/** Tokens that a pass emits on average with guesses down to a depth: those accepted, and one of the target's own. */
export function tokensPerPass(cumulative, depth) {
  return cumulative.slice(0, depth).reduce((total, rate) => total + rate, 1);
}

/**
 * Checks that a series' three ways of counting fit together.
 * @throws {Error} naming the series and the depth
 */
export function checkSeries({name, own, given_shallower, cumulative}) {
  cumulativeRates(given_shallower).forEach((rate, index) => {
    const place = `acceptance by depth: "${name}" at depth ${index + 1}`;
    if (!(Math.abs(rate - cumulative[index]) < 1e-4))
      throw new Error(`${place}: ${cumulative[index]} is recorded, the rates so far multiply to ${rate}`);
    if (!(own[index] >= cumulative[index] - 1e-5))
      throw new Error(`${place}: right on its own in ${own[index]}, but right with all others in ${cumulative[index]}`);
  });
}

/** What the widget shows, as numbers: a rate and the tokens per pass for each series, at a depth. */
export function depthState(series, measure, depth) {
  return {
    measure,
    depth,
    rates: series.map((entry) => entry[measure][depth - 1]),
    tokens: series.map(({cumulative}) => tokensPerPass(cumulative, depth))
  };
}

/** The state in a few sentences. */
export function describeDepth({measure, depth, rates, tokens}, series, contexts) {
  const shown = rates.map((rate, index) => `${series[index].name} ${rate === null ? "never gets there" : probability(rate)}`);
  const emitted = tokens.map((number, index) => `${series[index].name} ${number.toFixed(2)}`);
  return `At depth ${depth}, after ${contexts} texts, how often ${MEASURES[measure][1]}: ${shown.join(", ")}. Guesses down to depth ${depth} make so many tokens per pass: ${emitted.join(", ")}.`;
}

const CSS = `
  .widget-depth .depth-controls { display: grid; grid-template-columns: 1fr; gap: .5rem 1.5rem; }
  .widget-depth .depth-chart { margin-top: .75rem; }
  .widget-depth table { width: 100%; margin: .5rem 0 0; border: 0; border-collapse: collapse; font: inherit; display: table; }
  .widget-depth tr { border: 0; border-top: 1px solid var(--widget-line); background: none; }
  .widget-depth thead tr { border-top: 0; }
  .widget-depth :is(th, td) { padding: .1875rem .25rem; border: 0; background: none; text-align: right; font-weight: 400; }
  .widget-depth thead th { color: var(--role-muted); font-size: .8125rem; vertical-align: bottom; }
  .widget-depth :is(th, td):first-child { padding-left: 0; text-align: left; }
  .widget-depth tbody th { font-weight: 600; }
  .widget-depth .depth-mark { width: 1.5rem; height: .75rem; margin-right: .375rem; vertical-align: -.0625rem; overflow: visible; }
  @container (min-width: 34rem) { .widget-depth .depth-controls { grid-template-columns: auto minmax(12rem, 1fr); } }
`;

// A series' look tells its kind and its place among those of the kind, in marks and dashes as well as in colour.
const LOOKS = {
  chain: [["draft", "", "circle"], ["target", "", "square"], ["correction", "", "triangle"]],
  fan: [["muted", "6,3", "diamond2"], ["rejected", "2,3", "times"]]
};

/** Gives each series a look: {...series, colour, dashes, symbol}. */
export function withLooks(series) {
  const taken = {chain: 0, fan: 0};
  return series.map((entry) => {
    const [colour, dashes, symbol] = LOOKS[entry.kind][taken[entry.kind]++ % LOOKS[entry.kind].length];
    return {...entry, colour, dashes, symbol};
  });
}

/**
 * How often guesses are right at each depth: chains (EAGLE) against fans (Medusa), counted alike.
 * @param {{contexts: number, series: object[]}} data each series is a specdec.tree.DepthAcceptance with `name` and
 *   `kind`, "chain" or "fan"; all reach the same depth, counted from the token after the target's own next one;
 *   `contexts` is how many texts were continued
 * @param {{measure?: keyof MEASURES, depth?: number}} options where to start
 * @returns {HTMLElement} with `.value` {measure, depth, rates, tokens}, by series; emits `input`
 */
export function depthAcceptance({contexts, series}, {measure = "cumulative", depth = series[0].cumulative.length} = {}) {
  addStyles("depth", CSS);
  series.forEach(checkSeries);
  const drawn = withLooks(series);
  const deepest = series[0].cumulative.length;
  const names = Object.entries(MEASURES).map(([key, [words]]) => [words, key]);
  const measureChoice = choice(new Map(names), {label: "A guess counts if it is", value: measure});
  const depthChoice = levels(Array.from({length: deepest}, (_, index) => index + 1), {
    label: "Guesses down to depth",
    name: "Depth of the deepest guess",
    value: depth
  });
  const chart = responsive((width) => drawRates(width, drawn, frame.root.value));
  const table = html`<table>`;
  const arrange = (sentence) => [
    html`<div class="depth-controls">${measureChoice}${depthChoice}</div>`,
    html`<div class="depth-chart">${chart}</div>`,
    table,
    sentence
  ];
  const frame = widgetFrame("depth", "Acceptance by depth", arrange, {
    fields: {measure: oneOf(Object.keys(MEASURES)), depth: integer(1, deepest)},
    set(state) {
      measureChoice.value = state.measure;
      depthChoice.value = state.depth;
      update();
    }
  });

  function update() {
    const state = depthState(series, measureChoice.value, depthChoice.value);
    frame.show(state, describeDepth(state, series, contexts));
    table.replaceChildren(...tableParts(drawn, state));
    chart.redraw();
  }

  frame.follow([measureChoice, depthChoice], update);
  update();
  return frame.open();
}

function tableParts(series, {depth, rates, tokens}) {
  const rows = series.map((entry, index) => {
    const rate = rates[index] === null ? "–" : probability(rates[index]);
    return html`<tr><th scope="row">${seriesMark(entry)}${entry.name}</th><td>${rate}</td><td>${tokens[index].toFixed(2)}</td></tr>`;
  });
  return [
    html`<thead><tr><th scope="col">Drafted by</th><th scope="col">rate at depth ${depth}</th><th scope="col">tokens per pass</th></tr></thead>`,
    html`<tbody>${rows}</tbody>`
  ];
}

/** A series' line and mark, as in the chart. */
function seriesMark({colour, dashes, symbol}) {
  const mark = Plot.plot({
    width: 24,
    height: 12,
    margin: 0,
    axis: null,
    x: {domain: [0, 2]},
    y: {domain: [0, 2]},
    symbol: {type: "identity"},
    style: {background: "none"},
    marks: [
      Plot.line([0, 2], {x: (x) => x, y: 1, stroke: role(colour), strokeWidth: 2, strokeDasharray: dashes}),
      Plot.dot([1], {x: (x) => x, y: 1, symbol, r: 4, ...dotColours(symbol, colour)})
    ]
  });
  for (const group of mark.querySelectorAll("[aria-label]")) group.removeAttribute("aria-label");
  mark.setAttribute("class", "depth-mark");
  mark.setAttribute("aria-hidden", "true");
  return mark;
}

const dotColours = (symbol, colour) =>
  symbol === "times" ? {stroke: role(colour), strokeWidth: 2} : {fill: role(colour), stroke: "var(--widget-paper)"};

function drawRates(width, series, {measure, depth}) {
  const deepest = series[0].cumulative.length;
  const points = series.map((entry) =>
    entry[measure].map((rate, index) => ({rate, depth: index + 1})).filter(({rate}) => rate !== null)
  );
  const faint = (point) => (point.depth <= depth ? 1 : 0.35);
  return plot({
    label: `Acceptance against depth, counted as: ${MEASURES[measure][0]}`,
    width,
    height: 220,
    marginLeft: 32,
    marginRight: 12,
    marginTop: 12,
    marginBottom: 34,
    x: {domain: [0.75, deepest + 0.25], ticks: series[0].cumulative.map((_, index) => index + 1), tickFormat: "d", label: "depth of the guess", labelArrow: "none", labelAnchor: "center"},
    y: {domain: [0, 1], ticks: 5, label: null, grid: true},
    symbol: {type: "identity"},
    marks: [
      Plot.ruleX([depth], {stroke: role("muted"), strokeOpacity: 0.6}),
      ...series.flatMap(({colour, dashes, symbol}, index) => [
        Plot.line(points[index], {x: "depth", y: "rate", stroke: role(colour), strokeWidth: 2, strokeDasharray: dashes}),
        Plot.dot(points[index], {x: "depth", y: "rate", symbol, r: 5, fillOpacity: faint, ...dotColours(symbol, colour)})
      ])
    ]
  });
}
