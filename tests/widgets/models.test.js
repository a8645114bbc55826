// What the accept lab and the speed-up explorer say about their numbers.

import assert from "node:assert/strict";
import {test} from "node:test";
import {checkPreset, describeLab, labState} from "../../widgets/accept-lab.js";
import {count, probability, signed, times} from "../../widgets/lib/formats.js";
import {describeRecord, describeSpeedup, recordedPoints, speedupState} from "../../widgets/speedup-explorer.js";
import {fixture} from "./fixtures.js";

test("the recorded presets pass; a tampered one is named, with the quantity", async () => {
  const {presets} = await fixture("accept-lab");
  presets.forEach(checkPreset);
  const [preset] = presets;
  assert.throws(() => checkPreset({...preset, alpha: preset.alpha + 1e-3}), /"close": alpha/);
  assert.throws(() => checkPreset({...preset, laws: {...preset.laws, accept_all: preset.target_probs}}), /accept_all/);
});

test("an unknown rule is an error", () => {
  assert.throws(() => labState([1, 0], [0, 1], "guess"), /rule must be one of correct/);
});

test("the lab says whether the law is p, and by how much it misses", () => {
  const labels = ["a", "b", "c"];
  const [p, q] = [
    [0.5, 0.3, 0.2],
    [0.2, 0.3, 0.5]
  ];
  assert.match(
    describeLab(labState(p, q, "correct"), labels),
    /0\.30 apart.*α = 0\.70.*exactly what is missing.*law p\.$/
  );
  assert.match(
    describeLab(labState(p, q, "residual_from_p"), labels),
    /misses p by 0\.15: “a” comes out with 0\.35 instead of 0\.50\.$/
  );
  assert.match(describeLab(labState(p, p, "accept_all"), labels), /two laws agree/);
  assert.match(describeLab(labState([1, 0], [0.4, 0.6], "residual_from_p"), labels), /residual happens to be p/);
});

test("the limits α = 0 and α = 1 are exact", () => {
  for (const gamma of [1, 4, 16]) {
    assert.equal(speedupState(0, gamma, 0.1).tokens, 1);
    assert.equal(speedupState(1, gamma, 0.1).tokens, gamma + 1);
  }
});

test("the peaks that the text names", () => {
  const peak = (alpha, c) => {
    const {bestGamma} = speedupState(alpha, 1, c);
    return [bestGamma, +speedupState(alpha, bestGamma, c).speedup.toFixed(2)];
  };
  assert.deepEqual(peak(0.9, 0.1), [10, 3.43]);
  assert.deepEqual(peak(0.4, 0.1), [2, 1.3]);
  assert.deepEqual([peak(0.85, 0.05), peak(0.85, 0.15)[0], peak(0.85, 0.4)], [[10, 3.7], 6, [3, 1.45]]);
});

test("no γ wins unless α > c, and the sentence says so", () => {
  for (const [alpha, c] of [
    [0.1, 0.1],
    [0.05, 0.3],
    [0, 0],
    [0.5, 1]
  ]) {
    assert.match(describeSpeedup(speedupState(alpha, 3, c)), /No γ wins here: any gain needs α > c\./);
  }
  assert.doesNotMatch(describeSpeedup(speedupState(0.11, 3, 0.1)), /No γ wins/);
});

test("Python's points are shown where its grid has a row, and must lie on the curve", async () => {
  const grid = await fixture("speedup-explorer");
  assert.equal(recordedPoints(grid, 0.8, 0.1).length, grid.gammas.length);
  assert.equal(recordedPoints(grid, 0.81, 0.1).length, 0);
  assert.equal(recordedPoints(grid, 0.8, 0.2).length, 0);
  assert.match(describeRecord(grid, recordedPoints(grid, 0.8, 0.1)), /all 16 lie on the curve/);
  grid.speedup[grid.alphas.indexOf(0.8)][3] *= 1.001;
  assert.throws(() => recordedPoints(grid, 0.8, 0.1), /α = 0\.8, γ = 4 is off the curve/);
});

test("number formats", () => {
  assert.deepEqual([0.4, 0.8333, 1, 0].map(probability), ["0.40", "0.833", "1.00", "0.00"]);
  assert.deepEqual([0.1, -0.0951, 0.0001].map(signed), ["+0.10", "−0.095", "0"]);
  assert.equal(times(3.4314), "3.43×");
  assert.deepEqual([count(1, "token"), count(5, "token")], ["1 token", "5 tokens"]);
});
