import {Plot, html} from "./vendor/observable.js";
import {oneOf} from "./lib/address.js";
import {role} from "./lib/colours.js";
import {acceptanceRate} from "./lib/distributions.js";
import {probability} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {levels} from "./lib/inputs.js";
import {lawChart} from "./lib/laws.js";
import {columns, part} from "./lib/layout.js";
import {legend} from "./lib/legend.js";
import {blockChiSquared, chiSquared, firstOrderSquaredError, samplingFloor} from "./lib/particles.js";
import {keyMark, plot, responsive} from "./lib/plot.js";
import {expectedAcceptedTokens} from "./speedup-explorer.js";

/**
 * What follows from a row's two laws, and the error that Python measured.
 * @param {object} row a DivergenceRow of specdec.smc_sd
 */
export function dialState(row) {
  const {delta, target_probs: p, draft_probs: q, n_particles: particles} = row;
  const K = row.smc_tokens_per_pass - 1;
  const alpha = Math.min(1, acceptanceRate(p, q));
  const chi2Token = chiSquared(p, q);
  return {
    delta,
    alpha,
    sdTokens: expectedAcceptedTokens(alpha, K),
    smcTokens: K + 1,
    chi2Token,
    chi2Block: blockChiSquared(chi2Token, K),
    ess: row.ess,
    squaredError: row.squared_error,
    samplingFloor: samplingFloor(p, particles),
    predictedError: firstOrderSquaredError(p, q, K) / particles
  };
}

const COMPUTED = {
  alpha: "alpha",
  sdTokens: "sd_tokens_per_pass",
  chi2Token: "chi2_token",
  chi2Block: "chi2_block",
  samplingFloor: "sampling_floor",
  predictedError: "predicted_squared_error"
};

/**
 * Computes a row again from its two laws.
 * @throws {Error} naming δ and the quantity that is off
 */
export function checkRow(row) {
  const here = dialState(row);
  for (const [name, key] of Object.entries(COMPUTED)) {
    if (!(Math.abs(here[name] - row[key]) <= 2e-5 * Math.max(1e-3, Math.abs(row[key]))))
      throw new Error(
        `divergence dial: at δ = ${row.delta} ${key} is recorded as ${row[key]}, the laws give ${here[name]}`
      );
  }
  if (Math.abs(row.sampling_floor + row.weight_error - row.squared_error) > 1e-6)
    throw new Error(`divergence dial: at δ = ${row.delta} the error's two parts don't add up`);
}

/** The state in a few sentences. */
export function describeDial({
  delta,
  alpha,
  sdTokens,
  smcTokens,
  chi2Token,
  chi2Block,
  squaredError,
  samplingFloor: floor
}) {
  const pace = `At δ = ${delta} rejection (α = ${probability(alpha)}) gives ${sdTokens.toFixed(2)} tokens a pass, particles ${smcTokens.toFixed(0)} as ever.`;
  if (chi2Block === 0)
    return `${pace} Draft and target agree: nothing is rejected, all weights are equal, and what error there is comes from drawing few particles.`;
  return `${pace} The price: χ² is ${probability(chi2Token)} for a token and ${probability(chi2Block)} for a block, and the squared error is ${squaredError.toFixed(4)}, of which ${floor.toFixed(4)} comes from drawing few particles.`;
}

/**
 * A dial between a draft that is the target (δ = 0) and one that is far from it (δ = 1): what rejection pays in pace,
 * and particles in error.
 * @param {object[]} rows what specdec.smc_sd.demonstrate_smc_sd() returns
 * @param {{delta?: number, labels?: string[]}} options where to start; names of the tokens, their numbers without it
 * @returns {HTMLElement} with `.value` {delta, alpha, sdTokens, smcTokens, chi2Token, chi2Block, ess, squaredError,
 *   samplingFloor, predictedError}; emits `input`
 */
export function divergenceDial(rows, {delta = 0.5, labels} = {}) {
  rows.forEach(checkRow);
  const names = labels || rows[0].target_probs.map((_, token) => String(token));
  const deltas = rows.map((row) => row.delta);
  const states = rows.map(dialState);
  const dial = levels(deltas, {label: "δ, divergence of the draft", name: "δ, divergence of the draft", value: delta});
  const row = () => rows[deltas.indexOf(dial.value)];
  const laws = html`<div>`;
  const pace = responsive((width) => drawPace(width, states, frame.root.value));
  const error = responsive((width) => drawError(width, states, frame.root.value));
  const [{n_particles: particles, n_seeds: seeds}] = rows;
  const arrange = (sentence) => [
    dial,
    part("Target p (left) and draft q (right)", laws),
    columns(part("Tokens per target pass", pace), part(`Squared error, N = ${particles} particles`, error)),
    legend([
      [keyMark("circle", "target"), "rejection"],
      [keyMark("dashes", "accepted"), "particles: K + 1"],
      [keyMark("circle", "rejected"), `measured error, mean of ${seeds} seeds`],
      [keyMark("dashes", "rejected"), "predicted: grows with χ²"],
      [keyMark("dots", "muted"), "sampling floor, at q = p too"]
    ]),
    sentence
  ];
  const frame = widgetFrame("divergence", "Divergence dial", arrange, {
    fields: {delta: oneOf(deltas)},
    set(state) {
      dial.value = state.delta;
      update();
    }
  });

  function update() {
    const {target_probs: p, draft_probs: q} = row();
    const state = dialState(row());
    frame.show(state, describeDial(state));
    laws.replaceChildren(
      lawChart(
        names,
        [
          ["p", "target", p],
          ["q", "draft", q]
        ],
        null
      )
    );
    pace.redraw();
    error.redraw();
  }

  frame.follow(dial, update);
  update();
  return frame.open();
}

function drawPace(width, states, here) {
  const place = {x: "delta", y: "sdTokens"};
  return drawOverDelta({
    width,
    here,
    label: `Tokens per pass against δ: rejection ${here.sdTokens.toFixed(2)}, particles ${here.smcTokens}`,
    top: here.smcTokens * 1.15,
    value: [here.sdTokens, here.sdTokens.toFixed(2), "target"],
    marks: [
      Plot.line(states, {x: "delta", y: "smcTokens", stroke: role("accepted"), strokeWidth: 2, strokeDasharray: "8,3"}),
      Plot.line(states, {...place, stroke: role("target"), strokeWidth: 1.5}),
      Plot.dot(states, {...place, r: 2.5, fill: role("target")}),
      Plot.dot([here], {
        x: "delta",
        y: "smcTokens",
        symbol: "square",
        r: 5,
        fill: role("accepted"),
        stroke: "var(--widget-paper)"
      })
    ]
  });
}

function drawError(width, states, here) {
  const top = 1.25 * Math.max(...states.map(({squaredError}) => squaredError));
  return drawOverDelta({
    width,
    here,
    label: `Squared error against δ: measured ${here.squaredError.toFixed(4)}, of which the sampling floor is ${here.samplingFloor.toFixed(4)}`,
    top,
    value: [here.squaredError, here.squaredError.toFixed(4), "rejected"],
    marks: [
      Plot.areaY(states, {x: "delta", y1: 0, y2: "samplingFloor", fill: role("muted"), fillOpacity: 0.12}),
      Plot.line(states, {
        x: "delta",
        y: "samplingFloor",
        stroke: role("muted"),
        strokeWidth: 1.5,
        strokeDasharray: "2,3"
      }),
      Plot.line(states, {
        x: "delta",
        y: "predictedError",
        stroke: role("rejected"),
        strokeWidth: 1.5,
        strokeDasharray: "8,4"
      }),
      Plot.dot(states, {x: "delta", y: "squaredError", r: 3, fill: role("rejected")})
    ]
  });
}

/** A plot over δ with the chosen δ marked and its value written out. */
function drawOverDelta({width, here, label, top, value: [height, words, colour], marks}) {
  const side = here.delta > 0.5 ? "end" : "start";
  return plot({
    label,
    width,
    height: 190,
    marginLeft: 36,
    marginRight: 10,
    marginTop: 18,
    marginBottom: 34,
    x: {
      domain: [0, 1],
      inset: 6,
      ticks: [0, 0.2, 0.4, 0.6, 0.8, 1],
      label: "δ",
      labelAnchor: "center",
      labelArrow: "none"
    },
    y: {domain: [0, top], ticks: 5, grid: true, label: null},
    marks: [
      ...marks,
      Plot.ruleX([here.delta], {stroke: role(colour), strokeOpacity: 0.4}),
      Plot.dot([[here.delta, height]], {r: 5.5, fill: role(colour), stroke: "var(--widget-paper)"}),
      Plot.text([here.delta], {
        x: (delta) => delta,
        frameAnchor: "top",
        text: () => words,
        textAnchor: side,
        dx: side === "end" ? -6 : 6,
        dy: -14,
        fontWeight: 700,
        fontSize: 15,
        fill: role(colour),
        stroke: "var(--widget-paper)",
        strokeWidth: 4
      })
    ]
  });
}
