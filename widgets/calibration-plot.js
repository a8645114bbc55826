import {Plot} from "./vendor/observable.js";
import {integer, oneOf} from "./lib/address.js";
import {role} from "./lib/colours.js";
import {grouped, probability, signed} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {choice, levels} from "./lib/inputs.js";
import {controlRow, part} from "./lib/layout.js";
import {legend} from "./lib/legend.js";
import {keyMark, note, plot, responsive} from "./lib/plot.js";

/** What a guess can be held against, as specdec names it, and in words. */
const AGAINST = new Map([
  ["what the target samples", "sampled"],
  ["the target’s likeliest token", "greedy"]
]);

const filledBins = (bins) => bins.filter((bin) => bin.count > 0);

/** The mean gap between confidence and outcome, each bin by its count. */
export function expectedCalibrationError(bins, against) {
  const filled = filledBins(bins);
  const gaps = filled.reduce((sum, bin) => sum + bin.count * Math.abs(bin.confidence - bin[against]), 0);
  return gaps / filled.reduce((sum, bin) => sum + bin.count, 0);
}

/** The confidences that a bin is for, bins being of equal width. */
export function binEdges(bins, index) {
  return [index / bins.length, (index + 1) / bins.length];
}

/**
 * Checks recorded bins: a mean confidence lies in its bin, outcomes are shares, and the recorded errors follow.
 * @throws {Error} naming the bin or the error
 */
export function checkBins({bins, errors}) {
  bins.forEach((bin, index) => {
    const [low, high] = binEdges(bins, index);
    const demand = (holds, words) => {
      if (!holds) throw new Error(`calibration plot, bin ${index + 1}: ${words}`);
    };
    if (bin.count === 0) return demand(bin.confidence === null, "an empty bin has no mean confidence");
    demand(
      bin.confidence >= low - 1e-6 && bin.confidence <= high + 1e-6,
      `its mean confidence ${bin.confidence} lies outside it`
    );
    for (const against of AGAINST.values())
      demand(bin[against] >= 0 && bin[against] <= 1 + 1e-6, `${against} is no share`);
  });
  for (const [against, recorded] of Object.entries(errors)) {
    const here = expectedCalibrationError(bins, against);
    if (!(Math.abs(here - recorded) < 1e-5))
      throw new Error(
        `calibration plot: the error against ${against} is recorded as ${recorded}, the bins give ${here}`
      );
  }
}

/** What the widget shows, as numbers; bins are counted from 1. */
export function calibrationState(bins, against, bin) {
  const {count: guesses, confidence, [against]: outcome} = bins[bin - 1];
  return {
    against,
    bin,
    count: guesses,
    confidence,
    outcome,
    gap: guesses > 0 ? outcome - confidence : null,
    error: expectedCalibrationError(bins, against)
  };
}

/** The state in a few sentences. */
export function describeCalibration(bins, {against, bin, count: guesses, confidence, outcome, gap, error}) {
  const range = binEdges(bins, bin - 1)
    .map((edge) => edge.toFixed(1))
    .join(" to ");
  const overall = `Over all guesses the gap is ${probability(error)} on average.`;
  if (guesses === 0) return `No guess had a confidence of ${range}. ${overall}`;
  const fared =
    against === "sampled"
      ? `the target says them with probability ${probability(outcome)} if it samples`
      : `${probability(outcome)} of them are the target’s likeliest token`;
  const verdict =
    Math.abs(gap) < 0.02
      ? "the head is right about itself"
      : gap > 0
        ? "the head is less sure than it might be"
        : "the head is too sure of itself";
  return `${guesses === 1 ? "1 guess" : `${grouped(guesses)} guesses`} had a confidence of ${range}, ${probability(confidence)} on average, and ${fared}: here ${verdict} (${signed(gap)}). ${overall}`;
}

/**
 * The draft's confidence against how its guesses fared, in bins.
 * @param {{bins: object[], errors: object}} data bins {count, confidence, sampled, greedy} of equal width over 0 to 1,
 *   from specdec.book.eagle_measures.measure_calibration; errors {sampled, greedy}, of its expected_calibration_error
 * @param {{against?: string, bin?: number}} options where to start; against "sampled" or "greedy", bins from 1
 * @returns {HTMLElement} with `.value` {against, bin, count, confidence, outcome, gap, error}; emits `input`
 */
export function calibrationPlot(data, {against = "sampled", bin = data.bins.length} = {}) {
  checkBins(data);
  const {bins} = data;
  const numbers = bins.map((_, index) => index + 1);
  const ranges = (number) =>
    binEdges(bins, number - 1)
      .map((edge) => edge.toFixed(1))
      .join("–");
  const chosen = choice(AGAINST, {label: "Held against", value: against});
  const slider = levels(numbers, {label: "confidence", name: "bin of confidence", value: bin, format: ranges});
  const chart = responsive((width) => drawBins(width, bins, frame.root.value));
  const arrange = (sentence) => [
    controlRow(chosen, slider),
    part("How the guesses fared, by the head’s confidence in them", chart),
    legend([
      [keyMark("circle", "draft"), "guesses of like confidence; area: how many"],
      [keyMark("ring", "target"), "the chosen bin"],
      [keyMark("dashes", "muted"), "confidence = outcome"]
    ]),
    sentence
  ];
  const frame = widgetFrame("calibration", "Calibration of the draft head", arrange, {
    fields: {against: oneOf([...AGAINST.values()]), bin: integer(1, bins.length)},
    set(state) {
      chosen.value = state.against;
      slider.value = state.bin;
      update();
    }
  });

  function update() {
    const state = calibrationState(bins, chosen.value, slider.value);
    frame.show(state, describeCalibration(bins, state));
    chart.redraw();
  }

  frame.follow([chosen, slider], update);
  update();
  return frame.open();
}

function drawBins(width, bins, {against, bin, confidence, outcome, error}) {
  const filled = filledBins(bins);
  const side = Math.min(width, 380);
  const [low, high] = binEdges(bins, bin - 1);
  const place = {x: "confidence", y: against};
  return plot({
    label: `Outcome against confidence in ${bins.length} bins; mean gap ${probability(error)}`,
    width,
    height: side * 0.8,
    marginLeft: 36,
    marginRight: 12,
    marginTop: 24,
    marginBottom: 36,
    x: {domain: [0, 1], ticks: 5, label: "confidence of the head", labelAnchor: "center", labelArrow: "none"},
    y: {
      domain: [0, 1],
      ticks: 5,
      grid: true,
      label: against === "sampled" ? "probability under the target" : "share that is the target’s likeliest",
      labelArrow: "none"
    },
    r: {range: [0, 11]},
    marks: [
      Plot.rect([0], {x1: low, x2: high, y1: 0, y2: 1, fill: role("target"), fillOpacity: 0.1}),
      Plot.line(
        [
          [0, 0],
          [1, 1]
        ],
        {stroke: role("muted"), strokeDasharray: "7,3"}
      ),
      note("too sure", "muted", "bottom-right"),
      Plot.ruleX(filled, {x: "confidence", y1: "confidence", y2: against, stroke: role("draft"), strokeWidth: 1.5}),
      Plot.dot(filled, {...place, r: "count", fill: role("draft"), fillOpacity: 0.8, stroke: role("draft")}),
      Plot.dot(outcome === null ? [] : [[confidence, outcome]], {r: 13, stroke: role("target"), strokeWidth: 2})
    ]
  });
}
