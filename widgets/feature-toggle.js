import {Plot, html} from "./vendor/observable.js";
import {number, oneOf} from "./lib/address.js";
import {role} from "./lib/colours.js";
import {probability} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {choice, range} from "./lib/inputs.js";
import {legend} from "./lib/legend.js";
import {keyMark, plot, responsive} from "./lib/plot.js";
import {addStyles} from "./lib/styles.js";

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** The mean of the squared differences of two vectors. */
export function meanSquaredError(a, b) {
  return sum(a.map((value, index) => (value - b[index]) ** 2)) / a.length;
}

/** The point a share of the way from one vector to another. */
export function between(from, to, share) {
  return from.map((value, index) => (1 - share) * value + share * to[index]);
}

/**
 * What both predictors say once a token has been sampled, and by how much they miss its feature.
 * @param {{branches: number[][]}} data the next feature after either token
 * @param {0|1} token the sampled one
 * @param {number} aim where between the branches the token-blind predictor places its one answer
 */
export function toggleState({branches}, token, aim) {
  const blind = between(branches[0], branches[1], aim);
  const errors = branches.map((branch) => meanSquaredError(blind, branch));
  return {token, aim, blind, blindError: errors[token], blindWorst: Math.max(...errors), awareError: 0};
}

/**
 * Checks what Python recorded: the midpoint, and the errors of both predictors.
 * @throws {Error} saying which
 */
export function checkErrors(data) {
  const {blind, blindWorst, awareError} = toggleState(data, 0, 0.5);
  const demand = (holds, what) => {
    if (!holds) throw new Error(`feature toggle: ${what}`);
  };
  demand(meanSquaredError(blind, data.blind) < 1e-9, "the recorded token-blind prediction is not the midpoint of the branches");
  demand(
    Math.abs(blindWorst - data.blind_worst) < 1e-5,
    `the token-blind error is recorded as ${data.blind_worst}, the branches give ${blindWorst}`
  );
  demand(data.aware_worst === awareError, `the token-aware error is recorded as ${data.aware_worst}, it must be 0`);
}

/**
 * The points in a plane that holds them all, with their true distances: the branches left and right of their middle,
 * the feature above it.
 */
export function inPlane(feature, branches) {
  const middle = between(branches[0], branches[1], 0.5);
  const minus = (a, b) => a.map((value, index) => value - b[index]);
  const dot = (a, b) => sum(a.map((value, index) => value * b[index]));
  const across = minus(branches[1], branches[0]);
  const half = Math.sqrt(dot(across, across)) / 2;
  const offset = minus(feature, middle);
  const x = dot(offset, across) / (2 * half);
  const y = Math.sqrt(Math.max(0, dot(offset, offset) - x * x));
  return {feature: {x, y}, branches: [{x: -half, y: 0}, {x: half, y: 0}]};
}

/** The state in a few sentences. */
export function describeToggle({token, aim, blindError, blindWorst}, labels) {
  const sampled = `“${labels[token]}” was sampled. The token-aware prediction sits on the feature that follows: error 0.`;
  const blind = `The token-blind one has to say the same for both tokens and misses by ${blindError.toFixed(4)}`;
  const worst =
    aim === 0.5
      ? `Halfway is the best it can do: its worse case is ${blindWorst.toFixed(4)} for either token.`
      : `Its worse case is ${blindWorst.toFixed(4)}, more than at the middle.`;
  return `${sampled} ${blind}. ${worst}`;
}

const CSS = `
  .widget-feature .feature-controls { display: grid; grid-template-columns: 1fr; gap: .5rem 1.5rem; margin-bottom: .75rem; }
  .widget-feature .feature-errors {
    display: grid; grid-template-columns: auto minmax(0, 1fr) 4rem; gap: .25rem .75rem; align-items: center; margin-top: .5rem;
  }
  .widget-feature .feature-track { height: 1rem; border-radius: .1875rem; background: var(--widget-soft); }
  .widget-feature .feature-track span { display: block; height: 100%; border-radius: .1875rem; }
  .widget-feature .feature-errors > :nth-child(3n) { text-align: right; }
  @container (min-width: 34rem) { .widget-feature .feature-controls { grid-template-columns: auto minmax(14rem, 1fr); } }
`;

/**
 * One feature, two tokens that may be sampled after it, two next features: what a predictor can know.
 * @param {object} data what specdec.eagle.feature_uncertainty_demo() returns
 * @param {{token?: 0|1, aim?: number, labels?: string[]}} options where to start; `labels` name the two tokens
 * @returns {HTMLElement} with `.value` {token, aim, blind, blindError, blindWorst, awareError}; emits `input`
 */
export function featureToggle(data, {token = 0, aim = 0.5, labels = ["A", "B"]} = {}) {
  addStyles("feature", CSS);
  checkErrors(data);
  const plane = inPlane(data.feature, data.branches);
  const tokenChoice = choice(new Map(labels.map((label, index) => [label, index])), {label: "Sampled token", value: token});
  const aimRange = range([0, 1], {
    label: "Where the token-blind prediction aims",
    name: `Where the token-blind prediction aims, from ${labels[0]} at 0 to ${labels[1]} at 1`,
    value: aim,
    step: 0.05
  });
  const chart = responsive((width) => drawPlane(width, plane, frame.root.value, labels));
  const errors = html`<div class="feature-errors">`;
  const farthest = meanSquaredError(...data.branches); // the largest error that the slider reaches
  const arrange = (sentence) => [
    html`<div class="feature-controls">${tokenChoice}${aimRange}</div>`,
    chart,
    legend([
      [keyMark("circle", "muted"), "the feature now"],
      [keyMark("circle", "target"), "the true next features"],
      [keyMark("ring", "accepted"), "token-aware prediction"],
      [keyMark("star", "rejected"), "token-blind prediction"]
    ]),
    errors,
    sentence
  ];
  const frame = widgetFrame("feature", "Feature uncertainty", arrange, {
    fields: {token: {...oneOf(["0", "1"]), read: (text) => ({0: 0, 1: 1})[text]}, aim: number(0, 1)},
    set(state) {
      tokenChoice.value = state.token;
      aimRange.value = state.aim;
      update();
    }
  });

  function update() {
    const state = toggleState(data, tokenChoice.value, aimRange.value);
    frame.show(state, describeToggle(state, labels));
    errors.replaceChildren(
      ...errorBar("token-blind", state.blindError / farthest, state.blindError, "rejected"),
      ...errorBar("token-aware", state.awareError / farthest, state.awareError, "accepted")
    );
    chart.redraw();
  }

  frame.follow([tokenChoice, aimRange], update);
  update();
  return frame.open();
}

function errorBar(name, share, error, colour) {
  return [
    html`<span>${name}</span>`,
    html`<div class="feature-track" aria-hidden="true"><span style=${`width: ${100 * share}%; background: ${role(colour)}`}></span></div>`,
    html`<span>${error === 0 ? "0" : error.toFixed(4)}</span>`
  ];
}

/** Distances in the drawing are those of the vectors. */
function drawPlane(width, {feature, branches}, {token, aim, blindError}, labels) {
  const blind = {x: (1 - aim) * branches[0].x + aim * branches[1].x, y: 0};
  const truth = branches[token];
  const [least, most] = [Math.min(feature.x, branches[0].x), Math.max(feature.x, branches[1].x)];
  const margin = 72; // for the words beside the branches
  const scale = Math.min((width - 2 * margin) / (most - least), 190 / feature.y);
  const height = Math.round(feature.y * scale) + 84;
  const room = (width / scale - (most - least)) / 2;
  const place = {x: "x", y: "y"};
  const halo = {stroke: "var(--widget-paper)", strokeWidth: 4};
  const arrows = branches.map((branch, index) => ({x1: feature.x, y1: feature.y, x2: branch.x, y2: branch.y, index}));
  return plot({
    label: `The feature, the two next features, and the predictions; ${labels[token]} was sampled and the token-blind prediction misses by ${blindError.toFixed(4)}`,
    width,
    height,
    margin: 0,
    axis: null,
    x: {domain: [least - room, most + room]},
    y: {domain: [-44 / scale, feature.y + 40 / scale]},
    marks: [
      Plot.arrow(arrows, {
        x1: "x1", y1: "y1", x2: "x2", y2: "y2", inset: 12, strokeWidth: 1.5, headLength: 6,
        stroke: role("muted"), strokeOpacity: ({index}) => (index === token ? 1 : 0.35)
      }),
      Plot.text(arrows, {
        x: ({x1, x2}) => (x1 + x2) / 2,
        y: ({y1, y2}) => (y1 + y2) / 2,
        text: ({index}) => labels[index],
        fontWeight: ({index}) => (index === token ? 700 : 400),
        fill: "var(--widget-ink)",
        fontSize: 14,
        ...halo
      }),
      Plot.link([{x1: blind.x, x2: truth.x, y: 0}], {
        x1: "x1", x2: "x2", y1: "y", y2: "y", stroke: role("rejected"), strokeWidth: 2.5, strokeDasharray: "5,3"
      }),
      Plot.text([{x: (blind.x + truth.x) / 2, y: 0}], {
        ...place, dy: 22, text: () => (blindError === 0 ? "" : "error"), fill: role("rejected"), fontWeight: 700, ...halo
      }),
      Plot.dot([feature], {...place, r: 7, fill: role("muted")}),
      Plot.text([feature], {...place, dy: -16, text: () => "feature", fill: role("muted")}),
      Plot.dot(branches, {...place, r: 7, fill: role("target"), fillOpacity: (_, index) => (index === token ? 1 : 0.35)}),
      Plot.text(branches.slice(0, 1), {...place, dx: -16, textAnchor: "end", text: () => `after ${labels[0]}`, fill: role("target")}),
      Plot.text(branches.slice(1), {...place, dx: 16, textAnchor: "start", text: () => `after ${labels[1]}`, fill: role("target")}),
      Plot.dot([truth], {...place, r: 11, stroke: role("accepted"), strokeWidth: 2.5}),
      Plot.dot([blind], {...place, symbol: "star", r: 8, fill: role("rejected"), stroke: "var(--widget-paper)"})
    ]
  });
}
