import {Plot, html} from "./vendor/observable.js";
import {integer, oneOf} from "./lib/address.js";
import {role} from "./lib/colours.js";
import {count, grouped} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {choice, levels, range} from "./lib/inputs.js";
import {keyMark, note, plot, responsive} from "./lib/plot.js";
import {addStyles} from "./lib/styles.js";

/** FLOPs of a pass over `positions` new tokens in each of `batch` texts that have `context` tokens in the cache. */
export function passFlops(shape, batch, positions, context) {
  const attention = 4 * shape.num_layers * shape.embed_dim * context;
  return batch * positions * (2 * shape.weights_read + attention);
}

/** Bytes that a pass reads: the weights once, and each text's cache; how many positions it covers doesn't matter. */
export function passBytes(shape, batch, context) {
  return shape.weights_read * shape.bytes_per_number + batch * context * shape.cache_bytes_per_token;
}

/** FLOPs per byte of a pass. */
export function arithmeticIntensity(shape, batch, positions, context) {
  return passFlops(shape, batch, positions, context) / passBytes(shape, batch, context);
}

/** The intensity from which on arithmetic, not memory, sets the pace. */
export function ridge(accelerator) {
  return accelerator.flops_per_second / accelerator.bytes_per_second;
}

/** Seconds that a pass spends at least on reading, and on arithmetic; the longer of the two is its time. */
export function passTimes(accelerator, shape, batch, positions, context) {
  const reading = passBytes(shape, batch, context) / accelerator.bytes_per_second;
  const computing = passFlops(shape, batch, positions, context) / accelerator.flops_per_second;
  return {reading, computing, seconds: Math.max(reading, computing)};
}

/** How many positions of each text a pass covers in the time of its reading; 0 where not even one. */
export function freePositions(accelerator, shape, batch, context) {
  const {reading, computing} = passTimes(accelerator, shape, batch, 1, context);
  return Math.floor(reading / computing);
}

/** What the widget shows, as numbers; `slowdown` is against a pass over one position. */
export function rooflineState(accelerator, shape, batch, gamma, context) {
  const times = passTimes(accelerator, shape, batch, gamma + 1, context);
  return {
    accelerator: accelerator.name,
    shape: shape.name,
    batch,
    gamma,
    context,
    ...times,
    slowdown: times.seconds / passTimes(accelerator, shape, batch, 1, context).seconds,
    intensity: arithmeticIntensity(shape, batch, gamma + 1, context),
    ridge: ridge(accelerator),
    freePositions: freePositions(accelerator, shape, batch, context)
  };
}

const find = (list, name) => list.find((entry) => entry.name === name);

/**
 * Checks Python's points against what the widget computes.
 * @throws {Error} naming the point that is off
 */
export function checkPoints({accelerators, shapes, points}) {
  for (const {accelerator, shape, batch, positions, context, seconds, free} of points) {
    const here = rooflineState(find(accelerators, accelerator), find(shapes, shape), batch, positions - 1, context);
    if (Math.abs(here.seconds / seconds - 1) > 1e-5 || here.freePositions !== free) {
      const place = `${accelerator}, ${shape}, batch ${batch}, ${positions} positions, context ${context}`;
      throw new Error(`roofline: the point at ${place} is recorded as ${seconds} s and ${free} free`);
    }
  }
}

const milliseconds = (seconds) => `${(1000 * seconds).toFixed(2)} ms`;

/** The state in a few sentences. */
export function describeRoofline({accelerator, shape, batch, gamma, context, seconds, slowdown, freePositions: free}) {
  const texts = `${count(batch, "text")}${context > 0 ? ` with ${grouped(context)} tokens of context each` : ""}`;
  const setting = `${shape} on ${accelerator}, ${texts}: a pass over γ + 1 = ${count(gamma + 1, "position")} takes at least ${milliseconds(seconds)}`;
  if (free === 0) return `${setting}. It waits for arithmetic even at one position: nothing rides for free here.`;
  const limit = `Up to ${count(free, "position")} a text ride for free.`;
  if (gamma === 0) return `${setting} and waits for memory. ${limit}`;
  if (gamma < free) return `${setting}, no longer than over 1: it waits for memory. ${limit}`;
  return `${setting}, ${slowdown.toFixed(2)} times as long as over 1: now it waits for arithmetic. ${limit}`;
}

const CSS = `
  .widget-roofline .roofline-choices { display: flex; flex-wrap: wrap; gap: .5rem 2rem; }
  .widget-roofline .roofline-sliders { display: grid; grid-template-columns: 1fr; gap: .5rem 1.5rem; margin-top: .5rem; }
  .widget-roofline .roofline-plots {
    display: grid; grid-template-columns: minmax(0, 1fr); gap: .75rem 1.5rem; margin-top: .75rem;
  }
  .widget-roofline .roofline-title { font-weight: 600; }
  .widget-roofline .roofline-key {
    display: flex; flex-wrap: wrap; gap: .125rem 1rem; margin: .5rem 0 0; padding: 0; color: var(--role-muted);
    font-size: .8125rem; list-style: none;
  }
  @container (min-width: 34rem) {
    .widget-roofline .roofline-sliders { grid-template-columns: repeat(3, minmax(0, 1fr)); }
    .widget-roofline .roofline-plots { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  }
`;

const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const CONTEXTS = [0, 500, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000];
const MAX_GAMMA = 16;

/**
 * An accelerator's roofline, and where a verifying pass of batch × (γ + 1) positions lies under it.
 * @param {{accelerators: object[], shapes: object[], points: object[]}} data accelerators {name, flops_per_second,
 *   bytes_per_second}; shapes {name, weights_read, bytes_per_number, num_layers, embed_dim, cache_bytes_per_token};
 *   points {accelerator, shape, batch, positions, context, seconds, free}, as specdec.roofline computed them
 * @param {{accelerator?: string, shape?: string, batch?: number, gamma?: number, context?: number}} options where to
 *   start; accelerator and shape by name
 * @returns {HTMLElement} with `.value` {accelerator, shape, batch, gamma, context, reading, computing, seconds, slowdown,
 *   intensity, ridge, freePositions}; emits `input`
 */
export function rooflineExplorer(data, options = {}) {
  addStyles("roofline", CSS);
  checkPoints(data);
  const [accelerators, shapes] = [data.accelerators, data.shapes].map((list) => list.map(({name}) => name));
  const start = {accelerator: accelerators[0], shape: shapes[0], batch: 1, gamma: 4, context: 2000, ...options};
  const gammaName = "γ, guesses a round";
  const controls = {
    accelerator: choice(new Map(accelerators.map((name) => [name.replace("NVIDIA ", ""), name])), {
      label: "Accelerator",
      value: start.accelerator
    }),
    shape: choice(shapes, {label: "Model", value: start.shape}),
    batch: levels(BATCHES, {label: "batch, texts at once", name: "batch, texts at once", value: start.batch}),
    gamma: range([0, MAX_GAMMA], {label: gammaName, name: gammaName, value: start.gamma, step: 1}),
    context: levels(CONTEXTS, {
      label: "context, tokens a text",
      name: "context, tokens a text",
      value: start.context,
      format: grouped
    })
  };
  const {accelerator, shape, ...sliders} = controls;
  const here = () => [
    find(data.accelerators, accelerator.value),
    find(data.shapes, shape.value),
    ...Object.values(sliders).map(({value}) => value)
  ];
  const roof = responsive((width) => drawRoof(width, here()));
  const clock = responsive((width) => drawClock(width, here(), recordedPoints(data.points, frame.root.value)));
  const intensity = html`<li>`;
  const recorded = html`<li>${keyMark("ring", "muted")} computed by Python: all on the line</li>`;

  const arrange = (sentence) => [
    html`<div class="roofline-choices">${accelerator}${shape}</div>`,
    html`<div class="roofline-sliders">${Object.values(sliders)}</div>`,
    html`<div class="roofline-plots">
      <div><div class="roofline-title">TFLOP/s within reach</div>${roof}</div>
      <div><div class="roofline-title">Least time of a pass, in ms</div>${clock}</div>
    </div>`,
    html`<ul class="roofline-key">
      <li>${keyMark("open", "target")} plain decoding</li>
      <li>${keyMark("circle", "target")} γ + 1 positions</li>
      <li>${keyMark("dashes", "muted")} reading</li>
      <li>${keyMark("dots", "muted")} arithmetic</li>
      ${intensity}${recorded}
    </ul>`,
    sentence
  ];
  const frame = widgetFrame("roofline", "Roofline", arrange, {
    fields: {
      accelerator: oneOf(accelerators),
      shape: oneOf(shapes),
      batch: oneOf(BATCHES),
      gamma: integer(0, MAX_GAMMA),
      context: oneOf(CONTEXTS)
    },
    set(state) {
      for (const [name, control] of Object.entries(controls)) control.value = state[name];
      update();
    }
  });

  function update() {
    const state = rooflineState(...here());
    frame.show(state, describeRoofline(state));
    const shown = state.intensity.toFixed(state.intensity < 100 ? 1 : 0);
    intensity.textContent = `intensity ${shown}, ridge ${state.ridge.toFixed(0)} operations a byte`;
    recorded.hidden = recordedPoints(data.points, state).length === 0;
    roof.redraw();
    clock.redraw();
  }

  frame.follow(Object.values(controls), update);
  update();
  return frame.open();
}

function recordedPoints(points, {accelerator, shape, batch, context}) {
  return points.filter(
    (point) =>
      point.accelerator === accelerator && point.shape === shape && point.batch === batch && point.context === context
  );
}

const PLOT = {height: 230, marginLeft: 40, marginRight: 10, marginTop: 14, marginBottom: 36};
const INTENSITIES = [0.5, 8192];

/** The roof on two logarithmic axes, and the passes over 1 to MAX_GAMMA + 1 positions under it. */
function drawRoof(width, [accelerator, shape, batch, gamma, context]) {
  const peak = accelerator.flops_per_second / 1e12;
  const corner = ridge(accelerator);
  const height = (intensity) => Math.min(peak, (intensity * accelerator.bytes_per_second) / 1e12);
  const passes = Array.from({length: MAX_GAMMA + 1}, (_, guesses) => {
    const intensity = arithmeticIntensity(shape, batch, guesses + 1, context);
    return {guesses, intensity, height: height(intensity)};
  });
  const [low, high] = INTENSITIES;
  const line = [low, corner, high].map((intensity) => ({intensity, height: height(intensity)}));
  const chosen = passes[gamma];
  return plot({
    ...PLOT,
    width,
    label: `Roofline with its ridge at ${corner.toFixed(0)} operations a byte; the pass is at ${chosen.intensity.toFixed(1)}`,
    x: {
      type: "log",
      domain: INTENSITIES,
      ticks: [1, 10, 100, 1000],
      tickFormat: "~s",
      label: "operations a byte",
      labelAnchor: "center",
      labelArrow: "none"
    },
    y: {type: "log", domain: [height(low), peak * 2.2], ticks: 4, tickFormat: "~g", label: null},
    marks: [
      Plot.rectY([0], {x1: low, x2: corner, y1: height(low), y2: peak * 2.2, fill: role("accepted"), fillOpacity: 0.08}),
      Plot.rectY([0], {x1: corner, x2: high, y1: height(low), y2: peak * 2.2, fill: role("rejected"), fillOpacity: 0.08}),
      Plot.line(line, {x: "intensity", y: "height", stroke: role("muted"), strokeWidth: 2}),
      note("waits for memory", "accepted", "bottom-left"),
      note("for arithmetic", "rejected", "bottom-right"),
      Plot.dot(passes, {x: "intensity", y: "height", r: 2, fill: role("target")}),
      Plot.dot([passes[0]], {x: "intensity", y: "height", r: 5, stroke: role("target"), fill: "var(--widget-paper)"}),
      Plot.dot([chosen], {x: "intensity", y: "height", r: 5.5, fill: role("target"), stroke: "var(--widget-paper)"})
    ]
  });
}

/** The time of a pass against its positions: flat while it waits for memory, then rising. */
function drawClock(width, [accelerator, shape, batch, gamma, context], recorded) {
  const passes = Array.from({length: MAX_GAMMA + 1}, (_, guesses) => {
    const {reading, computing, seconds} = passTimes(accelerator, shape, batch, guesses + 1, context);
    return {positions: guesses + 1, reading: 1000 * reading, computing: 1000 * computing, time: 1000 * seconds};
  });
  const [chosen, [first], last] = [passes[gamma], passes, passes[MAX_GAMMA]];
  const top = 1.25 * Math.max(last.time, 1.6 * first.reading);
  const free = Math.min(freePositions(accelerator, shape, batch, context), MAX_GAMMA + 1);
  const side = gamma > MAX_GAMMA / 2 ? "end" : "start";
  const points = recorded.map(({positions, seconds}) => ({positions, time: 1000 * seconds}));
  return plot({
    ...PLOT,
    width,
    label: `Time of a pass against positions: ${chosen.time.toFixed(2)} ms at ${chosen.positions}; ${free} are free`,
    x: {
      domain: [0.5, MAX_GAMMA + 1.5],
      ticks: [1, 5, 9, 13, 17],
      tickFormat: "d",
      label: "positions a text, γ + 1",
      labelAnchor: "center",
      labelArrow: "none"
    },
    y: {domain: [0, top], ticks: 5, grid: true, label: null},
    marks: [
      Plot.rectY([0], {x1: 0.5, x2: free + 0.5, y1: 0, y2: top, fill: role("accepted"), fillOpacity: 0.1}),
      note(free > 0 ? "free" : "none is free", free > 0 ? "accepted" : "rejected", free > 0 ? "bottom-left" : "bottom-right"),
      Plot.line(passes, {x: "positions", y: "computing", stroke: role("muted"), strokeDasharray: "2,3"}),
      Plot.line(passes, {x: "positions", y: "reading", stroke: role("muted"), strokeDasharray: "8,4"}),
      Plot.line(passes, {x: "positions", y: "time", stroke: role("target"), strokeWidth: 1.5}),
      Plot.dot(passes, {x: "positions", y: "time", r: 2.5, fill: role("target")}),
      Plot.dot(points, {x: "positions", y: "time", r: 4.5, stroke: role("muted")}),
      Plot.dot([first], {x: "positions", y: "time", r: 5, stroke: role("target"), fill: "var(--widget-paper)"}),
      Plot.dot([chosen], {x: "positions", y: "time", r: 5.5, fill: role("target"), stroke: "var(--widget-paper)"}),
      Plot.text([chosen], {
        x: "positions",
        frameAnchor: "top",
        text: ({time}) => `${time.toFixed(2)} ms`,
        textAnchor: side,
        dx: side === "end" ? -6 : 6,
        dy: -4,
        fontWeight: 700,
        fontSize: 15,
        fill: role("target"),
        stroke: "var(--widget-paper)",
        strokeWidth: 4
      }),
      Plot.ruleX([chosen], {x: "positions", stroke: role("target"), strokeOpacity: 0.4})
    ]
  });
}
