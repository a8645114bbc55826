import {Plot, html} from "./vendor/observable.js";
import {integer, number} from "./lib/address.js";
import {role} from "./lib/colours.js";
import {times} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {range} from "./lib/inputs.js";
import {keyMark, note, plot, responsive} from "./lib/plot.js";
import {addStyles} from "./lib/styles.js";

const MAX_GAMMA = 16;

/** Expected tokens per target pass, bonus included: 1 + α + … + α^γ. */
export function expectedAcceptedTokens(alpha, gamma) {
  let tokens = 0;
  for (let accepted = 0; accepted <= gamma; accepted += 1) tokens += Math.pow(alpha, accepted);
  return tokens;
}

/** Speed-up over plain decoding when a draft step costs c target passes. */
export function speculativeSpeedup(alpha, gamma, c) {
  return expectedAcceptedTokens(alpha, gamma) / (gamma * c + 1);
}

/** The γ in 0..maxGamma of greatest speed-up, the smallest among equals; 0 means: do not draft. */
export function bestGamma(alpha, c, maxGamma = MAX_GAMMA) {
  let best = 0;
  for (let gamma = 1; gamma <= maxGamma; gamma += 1) {
    if (speculativeSpeedup(alpha, gamma, c) > speculativeSpeedup(alpha, best, c)) best = gamma;
  }
  return best;
}

/** The two curves over γ = 0..maxGamma. */
export function curves(alpha, c, maxGamma = MAX_GAMMA) {
  return Array.from({length: maxGamma + 1}, (_, gamma) => ({
    gamma,
    tokens: expectedAcceptedTokens(alpha, gamma),
    speedup: speculativeSpeedup(alpha, gamma, c)
  }));
}

/**
 * The points that Python computed at this α and c, or none where its grid has no such row.
 * @throws {Error} if a point does not lie on the curve drawn here
 */
export function recordedPoints(grid, alpha, c) {
  const row = grid.alphas.findIndex((value) => Math.abs(value - alpha) < 1e-9);
  if (row < 0 || Math.abs(grid.c - c) > 1e-9) return [];
  return grid.gammas.map((gamma, column) => {
    const point = {gamma, tokens: grid.tokens_per_pass[row][column], speedup: grid.speedup[row][column]};
    const apart = Math.max(
      Math.abs(point.tokens / expectedAcceptedTokens(alpha, gamma) - 1),
      Math.abs(point.speedup / speculativeSpeedup(alpha, gamma, c) - 1)
    );
    if (apart > 1e-5)
      throw new Error(`speedup explorer: the recorded point at α = ${alpha}, γ = ${gamma} is off the curve`);
    return point;
  });
}

/** What the widget shows, as numbers. */
export function speedupState(alpha, gamma, c) {
  return {
    alpha,
    gamma,
    c,
    tokens: expectedAcceptedTokens(alpha, gamma),
    speedup: speculativeSpeedup(alpha, gamma, c),
    bestGamma: bestGamma(alpha, c)
  };
}

/** The state in a sentence or two. */
export function describeSpeedup({alpha, gamma, c, tokens, speedup, bestGamma: best}) {
  const setting = `At α = ${alpha}, γ = ${gamma}, c = ${c}: ${tokens.toFixed(2)} tokens per target pass, ${times(speedup)} the speed of plain decoding.`;
  if (best === 0) return `${setting} No γ wins here: any gain needs α > c.`;
  const peak = times(speculativeSpeedup(alpha, best, c));
  const edge = best === MAX_GAMMA ? " or more" : "";
  return gamma === best ? `${setting} This γ is the best one.` : `${setting} Best is γ = ${best}${edge}, with ${peak}.`;
}

/** What the key says about Python's points. */
export function describeRecord({c, alphas}, points) {
  if (points.length > 0) return `computed by Python: all ${points.length} lie on the curve`;
  return `computed by Python: shown at c = ${c} and α = ${alphas[0]}, ${alphas[1]}, … ${alphas[alphas.length - 1]}`;
}

const CSS = `
  .widget-speedup .speedup-controls { display: grid; grid-template-columns: 1fr; gap: .5rem 1.5rem; }
  .widget-speedup .speedup-plots {
    display: grid; grid-template-columns: minmax(0, 1fr); gap: .75rem 1.5rem; margin-top: .75rem;
  }
  .widget-speedup .speedup-title { font-weight: 600; }
  .widget-speedup .speedup-key {
    display: flex; flex-wrap: wrap; gap: .125rem 1rem; margin: .5rem 0 0; padding: 0; color: var(--role-muted);
    font-size: .8125rem; list-style: none;
  }
  @container (min-width: 34rem) {
    .widget-speedup .speedup-controls { grid-template-columns: repeat(3, minmax(0, 1fr)); }
    .widget-speedup .speedup-plots { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  }
`;

/**
 * Sliders for α, γ and c; tokens per target pass and speed-up against γ.
 * @param {object} grid what specdec.speculative.demonstrate_speculative() returns
 * @param {{alpha?: number, gamma?: number, c?: number}} options where the sliders start
 * @returns {HTMLElement} with `.value` {alpha, gamma, c, tokens, speedup, bestGamma}; emits `input`
 */
export function speedupExplorer(grid, {alpha = 0.8, gamma = 4, c = 0.1} = {}) {
  addStyles("speedup", CSS);
  const sliders = {
    alpha: range([0, 1], {label: "α, acceptance rate", name: "α, acceptance rate", value: alpha, step: 0.01}),
    gamma: range([1, MAX_GAMMA], {label: "γ, guesses a round", name: "γ, guesses a round", value: gamma, step: 1}),
    c: range([0, 1], {
      label: "c, cost of a guess",
      name: "c, cost of one draft step in target passes",
      value: c,
      step: 0.01
    })
  };
  const tokensPlot = responsive((width) => drawTokens(width, frame.root.value, points()));
  const speedupPlot = responsive((width) => drawSpeedup(width, frame.root.value, points()));
  const recorded = html`<span>`;
  const limit = html`<span>`;
  const key = html`<ul class="speedup-key">
    <li>${keyMark("circle", "target")} the chosen γ</li>
    <li>${keyMark("star", "accepted")} the best γ</li>
    <li>${keyMark("dots", "muted")} all accepted: γ + 1</li>
    <li>${keyMark("dashes", "muted")} ${limit}</li>
    <li>${keyMark("ring", "muted")} ${recorded}</li>
  </ul>`;
  const arrange = (sentence) => [
    html`<div class="speedup-controls">${Object.values(sliders)}</div>`,
    html`<div class="speedup-plots">
      <div><div class="speedup-title">Tokens per target pass</div>${tokensPlot}</div>
      <div><div class="speedup-title">Speed-up over plain decoding</div>${speedupPlot}</div>
    </div>`,
    key,
    sentence
  ];
  const frame = widgetFrame("speedup", "Speed-up explorer", arrange, {
    fields: {alpha: number(0, 1), gamma: integer(1, MAX_GAMMA), c: number(0, 1)},
    set(state) {
      for (const [name, slider] of Object.entries(sliders)) slider.value = state[name];
      update();
    }
  });

  function points() {
    return recordedPoints(grid, frame.root.value.alpha, frame.root.value.c);
  }

  function update() {
    const state = speedupState(sliders.alpha.value, sliders.gamma.value, sliders.c.value);
    frame.show(state, describeSpeedup(state));
    limit.textContent = `γ → ∞: 1/(1 − α) = ${state.alpha < 1 ? (1 / (1 - state.alpha)).toFixed(2) : "∞"}`;
    recorded.textContent = describeRecord(grid, points());
    tokensPlot.redraw();
    speedupPlot.redraw();
  }

  frame.follow(Object.values(sliders), update);
  update();
  return frame.open();
}

const PLOT_HEIGHT = 220;
const TOP_LEVELS = [2, 3, 4, 6, 9, 13, 18]; // few, so that the axis stands still while a slider moves

function drawTokens(width, state, recorded) {
  const curve = curves(state.alpha, state.c);
  const ceiling = state.alpha < 1 ? 1 / (1 - state.alpha) : Infinity;
  const top = topLevel(curve, "tokens");
  return drawCurve({
    width,
    top,
    state,
    curve,
    recorded,
    channel: "tokens",
    shown: (value) => value.toFixed(2),
    label: `Tokens per target pass against γ: ${state.tokens.toFixed(2)} at γ = ${state.gamma}`,
    background: [
      Plot.line(curve, {
        x: "gamma",
        y: (point) => Math.min(point.gamma + 1, top),
        filter: (point) => point.gamma < top,
        stroke: role("muted"),
        strokeDasharray: "2,3"
      }),
      ceiling <= top && Plot.ruleY([ceiling], {stroke: role("muted"), strokeDasharray: "8,4"})
    ]
  });
}

function drawSpeedup(width, state, recorded) {
  const curve = curves(state.alpha, state.c);
  const best = curve[state.bestGamma];
  return drawCurve({
    width,
    top: topLevel(curve, "speedup"),
    state,
    curve,
    recorded,
    channel: "speedup",
    shown: times,
    label: `Speed-up against γ: ${times(state.speedup)} at γ = ${state.gamma}, best at γ = ${state.bestGamma}`,
    background: [
      Plot.rectY([1], {x1: -0.5, x2: MAX_GAMMA + 0.5, y1: 0, y2: 1, fill: role("rejected"), fillOpacity: 0.08}),
      Plot.ruleY([1], {stroke: role("rejected")}),
      note("slower than plain decoding", "rejected", "bottom-right")
    ],
    foreground: [Plot.dot([best], {x: "gamma", y: "speedup", dy: -14, symbol: "star", r: 6, fill: role("accepted")})]
  });
}

/** One curve over γ with the chosen γ marked; `background` is drawn beneath it, `foreground` above. */
function drawCurve({width, top, state, curve, recorded, channel, shown, label, background, foreground = []}) {
  const here = curve[state.gamma];
  const side = state.gamma > MAX_GAMMA / 2 ? "end" : "start";
  return plot({
    label,
    width,
    height: PLOT_HEIGHT,
    marginLeft: 28,
    marginRight: 8,
    marginTop: 12,
    marginBottom: 34,
    x: {
      domain: [-0.5, MAX_GAMMA + 0.5],
      ticks: [0, 4, 8, 12, 16],
      tickFormat: "d",
      label: "γ, guesses a round",
      labelArrow: "none",
      labelAnchor: "center"
    },
    y: {domain: [0, top], ticks: 5, label: null, grid: true},
    marks: [
      ...background.filter(Boolean),
      Plot.line(curve, {x: "gamma", y: channel, stroke: role("target"), strokeWidth: 1.5}),
      Plot.dot(curve, {x: "gamma", y: channel, r: 2.5, fill: role("target")}),
      Plot.dot(recorded, {x: "gamma", y: channel, r: 4.5, stroke: role("muted")}),
      Plot.ruleX([here], {x: "gamma", stroke: role("target"), strokeOpacity: 0.4}),
      Plot.dot([here], {x: "gamma", y: channel, r: 5.5, fill: role("target"), stroke: "var(--widget-paper)"}),
      ...foreground,
      Plot.text([here], {
        x: "gamma",
        frameAnchor: "top",
        text: (point) => shown(point[channel]),
        textAnchor: side,
        dx: side === "end" ? -6 : 6,
        dy: -6,
        fontWeight: 700,
        fontSize: 15,
        fill: role("target"),
        stroke: "var(--widget-paper)",
        strokeWidth: 4
      })
    ]
  });
}

function topLevel(curve, channel) {
  const highest = Math.max(...curve.map((point) => point[channel]));
  return TOP_LEVELS.find((level) => level >= highest * 1.2) || TOP_LEVELS[TOP_LEVELS.length - 1];
}
