// What the head-accuracy explorer, acceptance by depth and the feature toggle check and say.

import assert from "node:assert/strict";
import {test} from "node:test";
import {checkSeries, cumulativeRates, depthState, describeDepth, tokensPerPass, withLooks} from "../../widgets/depth-acceptance.js";
import {checkErrors, describeToggle, inPlane, meanSquaredError, toggleState} from "../../widgets/feature-toggle.js";
import {checkExpected, describeHeads, expectedAcceptedLength, headState} from "../../widgets/head-explorer.js";
import {assertClose, fixture} from "./fixtures.js";

test("the recorded rates pass; a tampered expectation is named", async () => {
  const {presets, demo} = await fixture("head-explorer");
  [...presets, demo].forEach(checkExpected);
  assert.throws(() => checkExpected({...presets[0], expected: presets[0].expected + 1e-3}), /"all at 0\.9" is recorded with/);
  assert.throws(() => checkExpected({...demo, expected: NaN}), /recorded with NaN/);
});

test("the limits of the heads: all right, and none beyond the first", () => {
  assert.equal(expectedAcceptedLength([1, 1, 1]), 4);
  assert.equal(expectedAcceptedLength([0.6, 0, 0.9]), 1.6);
  assert.equal(expectedAcceptedLength([]), 1);
});

test("where more heads stop paying under a geometric decay of 0.7", () => {
  const {gains} = headState([1, 2, 3, 4, 5].map((head) => 0.7 ** head));
  assert.deepEqual([gains[3].toFixed(3), gains[4].toFixed(3)], ["0.028", "0.005"]);
});

test("the heads' sentence adds up, and knows the demo's rates and dead heads", async () => {
  const {demo} = await fixture("head-explorer");
  const say = (probs) => describeHeads(headState(probs), demo);
  assert.match(say([0.9, 0.9, 0.9]), /^1 \+ 0\.90 \+ 0\.81 \+ 0\.729 = 3\.44 expected tokens per pass, of at most 4\. The last head adds 0\.729\.$/);
  assert.match(say([0.8, 0, 0.5]), /= 1\.80 .* From head 2 on nothing is added/);
  assert.match(say(demo.probs), new RegExp(`whole runs with them brought ${demo.tokens_per_pass.toFixed(2)} per pass`));
});

test("the recorded acceptance passes; counts that don't fit together are named", async () => {
  const {series} = await fixture("depth-acceptance");
  series.forEach(checkSeries);
  const tampered = (key, change) => ({...series[1], [key]: series[1][key].map((rate, index) => (index === 2 ? rate + change : rate))});
  assert.throws(() => checkSeries(tampered("cumulative", 0.01)), /"a fan" at depth 3: .* multiply to/);
  assert.throws(() => checkSeries(tampered("given_shallower", -0.01)), /"a fan" at depth 3/);
  assert.throws(() => checkSeries(tampered("own", -0.5)), /"a fan" at depth 3: right on its own/);
});

test("a depth that is never reached counts nothing", () => {
  assert.deepEqual(cumulativeRates([0.5, 0, null]), [0.5, 0, 0]);
  assert.equal(tokensPerPass([0.5, 0.25], 0), 1);
  assert.equal(tokensPerPass([0.5, 0.25], 2), 1.75);
  const series = [{name: "x", given_shallower: [0, null], cumulative: [0, 0]}];
  assert.match(describeDepth(depthState(series, "given_shallower", 2), series, 9), /x never gets there\./);
});

test("no two series of a kind look alike", () => {
  const looks = withLooks(["chain", "fan", "chain", "fan"].map((kind) => ({kind}))).map(({symbol}) => symbol);
  assert.equal(new Set(looks).size, 4);
});

test("the recorded errors pass; a blind prediction off the middle or an error of its own is caught", async () => {
  const data = await fixture("feature-toggle");
  checkErrors(data);
  assert.throws(() => checkErrors({...data, blind: data.branches[0]}), /not the midpoint/);
  assert.throws(() => checkErrors({...data, blind_worst: 0.1}), /recorded as 0\.1, the branches give 0\.159/);
  assert.throws(() => checkErrors({...data, aware_worst: 0.1}), /must be 0/);
});

test("wherever the blind prediction aims, halfway is the best it can do", async () => {
  const data = await fixture("feature-toggle");
  const {blindWorst} = toggleState(data, 0, 0.5);
  for (const aim of [0, 0.2, 0.45, 0.55, 1]) assert.ok(toggleState(data, 1, aim).blindWorst > blindWorst);
  assert.match(describeToggle(toggleState(data, 1, 0.5), ["A", "B"]), /^“B” was sampled.*0\.1596.*Halfway is the best/);
  assert.match(describeToggle(toggleState(data, 0, 0), ["A", "B"]), /misses by 0\.0000\. Its worse case is 0\.6386/);
});

test("the plane keeps the distances", async () => {
  const {feature, branches} = await fixture("feature-toggle");
  const drawn = inPlane(feature, branches);
  const distance = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);
  const length = (a, b) => Math.sqrt(meanSquaredError(a, b) * a.length);
  assertClose(distance(...drawn.branches), length(...branches), "between the branches");
  branches.forEach((branch, index) => assertClose(distance(drawn.feature, drawn.branches[index]), length(feature, branch), "to a branch"));
});
