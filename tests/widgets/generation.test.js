// What the warper explorer and the roofline say about their numbers.

import assert from "node:assert/strict";
import {test} from "node:test";
import {checkPoints, describeRoofline, rooflineState} from "../../widgets/roofline.js";
import {
  checkPreset,
  describeWarp,
  keepTopK,
  keepTopP,
  presetName,
  warpStages,
  warpState
} from "../../widgets/warper-explorer.js";
import {assertClose, fixture} from "./fixtures.js";

test("the recorded presets pass; a tampered one is named", async () => {
  const {presets, logits} = await fixture("warper-explorer");
  for (const preset of presets) checkPreset(preset, logits);
  const [preset] = presets.filter(({top_k}) => top_k === 3);
  assert.throws(() => checkPreset({...preset, temperature: 0.9}, logits), /preset "τ = 0\.9, k = 3" is off/);
  assert.throws(() => checkPreset({...preset, probs: preset.probs.map(() => NaN)}, logits), /is off by NaN/);
});

test("ties at the edge of top-k stay, and top-p always leaves the likeliest token", () => {
  assert.deepEqual(keepTopK([3, 1, 1, 0], 2), [3, 1, 1, -Infinity]);
  assert.deepEqual(keepTopK([3, 1], 9), [3, 1]);
  assertClose(keepTopP([0.5, 0.3, 0.2], 0.01), [1, 0, 0], "one is left");
  assertClose(keepTopP([0.5, 0.3, 0.2], 0.6), [0.625, 0.375, 0], "two are needed");
  assertClose(keepTopP([0.2, 0.2, 0.6], 0.7), [0, 0.25, 0.75], "of two equal ones the lower id goes first");
});

test("every cut token is told by which step it was cut", () => {
  const logits = [0.5, 0.3, 0.15, 0.05].map(Math.log);
  assert.deepEqual(warpStages(logits, 1, 3, 0.6).cutBy, ["", "", "top-p", "top-k"]);
  assert.deepEqual(warpStages(logits, 0, null, null).cutBy, ["", "greedy", "greedy", "greedy"]);
});

test("the warper's sentence tells each step that does something", () => {
  const logits = [0.5, 0.3, 0.15, 0.05].map(Math.log);
  const say = (...settings) => describeWarp(warpState(logits, ...settings), ["a", "b", "c", "d"]);
  assert.equal(say(1, 4, 1), "Temperature 1 changes nothing. All 4 tokens can be drawn.");
  assert.match(say(0.5, 4, 1), /0\.5 sharpens the law: “a” goes from 0\.50 to 0\.685\./);
  assert.match(say(2, 4, 1), /2 flattens the law: “a” goes from 0\.50 to 0\.379\./);
  assert.match(
    say(1, 3, 0.6),
    /Top-k keeps 3 of 4 tokens\. Top-p 0\.6 keeps 2, which hold 0\.842 of the mass\. .* probability 0\.625\.$/
  );
  assert.match(say(1, 1, 1), /“a” is the only one that can be drawn\.$/);
  const tied = describeWarp(warpState([1, 0, 0], 1, 2, 1), ["a", "b", "c"]);
  assert.match(tied, /Top-k keeps 3 of 3 tokens, since ties with number 2 stay\. All 3 tokens can be drawn\.$/);
  assert.match(say(0, 2, 0.5), /always “a”, whatever/);
});

test("presets are named by what they change", () => {
  const name = (temperature, top_k, top_p) => presetName({temperature, top_k, top_p});
  assert.deepEqual(
    [name(1, null, null), name(0, null, null), name(0.7, 40, 0.9)],
    ["the model’s own law", "greedy", "τ = 0.7, k = 40, p = 0.9"]
  );
});

test("Python's points pass; a tampered one is named", async () => {
  const data = await fixture("roofline");
  checkPoints(data);
  const [first, ...others] = data.points;
  const tampered = (change) => ({...data, points: [{...first, ...change}, ...others]});
  assert.throws(() => checkPoints(tampered({seconds: first.seconds * 1.001})), /the point at NVIDIA L4, Llama 3\.1 8B, batch 1/);
  assert.throws(() => checkPoints(tampered({free: first.free + 1})), /free/);
});

test("the roofline says what is free on either side of the ridge", async () => {
  const {accelerators, shapes} = await fixture("roofline");
  const h100 = accelerators.find(({name}) => name.includes("H100"));
  const say = (batch, gamma, context) => describeRoofline(rooflineState(h100, shapes[0], batch, gamma, context));
  assert.match(say(1, 4, 2000), /1 text with 2,000 tokens.*5 positions takes.*no longer than over 1: it waits for memory/);
  assert.match(say(64, 3, 0), /64 texts: a pass over γ \+ 1 = 4 positions .*Up to 4 positions a text ride for free\.$/);
  assert.match(say(64, 9, 0), /times as long as over 1: now it waits for arithmetic\. Up to 4 positions/);
  assert.match(say(512, 4, 0), /nothing rides for free here\.$/);
  assert.match(say(1, 0, 0), /γ \+ 1 = 1 position takes .* and waits for memory/);
});
