// The SMC-SD stepper and the divergence dial compute what is recorded again before they show it.

import assert from "node:assert/strict";
import {test} from "node:test";
import {checkRow, describeDial, dialState} from "../../widgets/divergence-dial.js";
import {copiesOf, effectiveSampleSize, samplingFloor} from "../../widgets/lib/particles.js";
import {STEPS, checkRound, describeStep, particlesAfter, roundState, weightsBefore} from "../../widgets/smc-stepper.js";
import {assertClose, fixture} from "./fixtures.js";

const recorded = async () => (await fixture("smc-stepper")).rounds;

test("the recorded rounds pass; there is one with and one without resampling", async () => {
  const rounds = await recorded();
  rounds.forEach((_, index) => checkRound(rounds, index));
  assert.deepEqual(
    rounds.map(({resampled}) => resampled),
    [false, true, true]
  );
});

const TAMPERINGS = {
  "a wrong ratio": [1, (round) => (round.block_ratios[0] *= 1.01), /not the product of p\/q/],
  "a weight that forgets the last round": [
    1,
    (round) => (round.scored_weights = round.block_ratios),
    /old ones times the ratios/
  ],
  "another sample size": [1, (round) => (round.ess += 0.01), /effective sample size/],
  "resampling that was not due": [0, (round) => (round.resampled = true), /if and only if/],
  "a threshold that decides otherwise": [1, (round) => (round.eta = 1), /if and only if/],
  "ancestors without resampling": [0, (round) => (round.ancestors = [0, 1, 2, 3, 4, 5, 6, 7]), /ancestors belong/],
  "weights that stay uneven": [1, (round) => (round.weights = round.scored_weights), /1\/N/],
  "a particle that grew less": [0, (round) => (round.lengths[3] -= 1), /another number of tokens/],
  "another ancestor": [1, (round) => (round.ancestors[0] = 0), /next round starts from other particles/]
};

for (const [name, [index, change, message]] of Object.entries(TAMPERINGS)) {
  test(`throws on ${name}`, async () => {
    const rounds = await recorded();
    change(rounds[index]);
    assert.throws(
      () => checkRound(rounds, index),
      (error) => message.test(error.message) && error.message.includes(`round ${index + 1}`)
    );
  });
}

test("weights go on from round to round until they are evened out", async () => {
  const rounds = await recorded();
  assert.deepEqual(weightsBefore(rounds, 0), Array(8).fill(1));
  assert.deepEqual(weightsBefore(rounds, 1), rounds[0].scored_weights);
  assert.deepEqual(weightsBefore(rounds, 2), Array(8).fill(1 / 8));
  assert.deepEqual(particlesAfter(rounds[1]), rounds[2].contexts);
});

test("every step has a sentence; resampling names who was copied and who died", async () => {
  const rounds = await recorded();
  for (const round of rounds.keys()) {
    for (const step of STEPS.keys()) assert.match(describeStep(rounds, round, step), /\.$/);
  }
  assert.match(describeStep(rounds, 0, 3), /5\.77 of 8: not below η = 4/);
  assert.match(describeStep(rounds, 0, 5), /No resampling: all 8 particles live on/);
  assert.match(describeStep(rounds, 1, 3), /1\.44 of 8: below η = 4/);
  assert.match(
    describeStep(rounds, 1, 5),
    /particle 2 has 6 copies; particles 1, 3, 4, 5, 7 died\. All weights are 1\/8/
  );
  assertClose(
    roundState(rounds, 1, 5).copies.reduce((total, copies) => total + copies),
    8,
    "copies"
  );
});

test("equal weights count fully, one weight counts once", () => {
  assertClose(effectiveSampleSize([3, 3, 3]), 3, "equal");
  assertClose(effectiveSampleSize([0, 5, 0]), 1, "one");
  assert.deepEqual(copiesOf([2, 2, 0], 3), [1, 0, 2]);
  assertClose(samplingFloor([0.5, 0.5], 10), 0.05, "floor");
});

test("the recorded rows pass; a tampered one is named, with the quantity", async () => {
  const rows = await fixture("divergence-dial");
  rows.forEach(checkRow);
  const [, , , , , row] = rows;
  assert.throws(() => checkRow({...row, chi2_block: row.chi2_block * 1.001}), /δ = 0\.5 chi2_block/);
  assert.throws(() => checkRow({...row, alpha: NaN}), /δ = 0\.5 alpha/);
  assert.throws(() => checkRow({...row, squared_error: row.squared_error + 1e-4}), /two parts/);
});

test("the dial's figures in the text", async () => {
  const states = (await fixture("divergence-dial")).map(dialState);
  const near = (delta) => states.find((state) => state.delta === delta);
  assert.deepEqual(
    [0, 0.5, 1].map((delta) => near(delta).sdTokens.toFixed(2)),
    ["5.00", "4.10", "3.36"]
  );
  assert.deepEqual(
    [0.5, 1].map((delta) => near(delta).chi2Block.toFixed(3)),
    ["0.249", "1.138"]
  );
  assert.match(describeDial(near(0)), /Draft and target agree/);
  assert.match(
    describeDial(near(1)),
    /3\.36 tokens a pass, particles 5 as ever\. The price: χ² is 0\.209 for a token and 1\.138 for a block/
  );
});
