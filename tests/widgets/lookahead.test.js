// Jacobi iteration, the pass counter and the n-gram pool: records are computed again before they are shown.

import assert from "node:assert/strict";
import {test} from "node:test";
import {checkRun, describeStep, gridState, runSteps} from "../../widgets/jacobi-grid.js";
import {acceptedPrefixLength, fateOfAnswer, fateOfGuess, leadingAgreement} from "../../widgets/lib/passes.js";
import {checkPoolRun, describePool, lookUp, poolEntries, poolState, poolSteps} from "../../widgets/ngram-pool.js";
import {checkGrid, counterState, describeCounter} from "../../widgets/pass-counter.js";
import {fixture} from "./fixtures.js";

async function jacobiRun(stream, blockSize) {
  const {streams: runs} = await fixture("jacobi-grid");
  return runs.find((run) => run.name === stream && run.block_size === blockSize);
}

test("the recorded Jacobi runs pass", async () => {
  (await fixture("jacobi-grid")).streams.forEach(checkRun);
});

const TAMPERINGS = {
  "a count that the tokens don't give": [(pass) => (pass.n_accepted = 2), /recorded as certain/],
  "another guess": [(pass) => (pass.guess[4] = 3), /the guess is another one/],
  "an answer lost": [(pass) => pass.refined.pop(), /one answer for each place/],
  "a token that is not certain": [(pass) => (pass.emitted[0] = 3), /what is emitted/],
  "a rest that is another one": [(pass) => (pass.carried[0] = 3), /what is carried/],
  "a token that the run does not have": [
    (pass, run) => run.tokens.push(0),
    /guess is another one|other tokens than the run/
  ],
  "a gap in the text": [(pass) => (pass.n_verified += 1), /where the last pass ended/]
};

for (const [name, [change, message]] of Object.entries(TAMPERINGS)) {
  test(`a Jacobi run with ${name} throws`, async () => {
    const run = await jacobiRun("runs of three", 5);
    change(run.passes[1], run);
    assert.throws(
      () => checkRun(run),
      (error) => message.test(error.message) && /runs of three, block 5/.test(error.message)
    );
  });
}

test("a block of one is always certain", () => {
  assert.equal(acceptedPrefixLength([1], [2]), 1);
  assert.equal(acceptedPrefixLength([1], [1]), 1);
  assert.equal(leadingAgreement([1, 2, 3], [1, 9, 3]), 1);
});

test("a run is told in two steps a pass, and ends with greedy's count", async () => {
  for (const run of (await fixture("jacobi-grid")).streams) {
    const steps = runSteps(run);
    assert.equal(steps.length, 2 * run.passes.length);
    steps.forEach((_, step) => assert.match(describeStep(run, step, String), /\.$/));
    const {locked, newTokens} = gridState(run, steps.length - 1);
    assert.equal(locked, newTokens);
    assert.match(
      describeStep(run, steps.length - 1, String),
      new RegExp(`after ${run.passes.length} passes; plain greedy decoding takes 12`)
    );
  }
});

test("the sentence says what was right and what is carried", async () => {
  const constant = await jacobiRun("constant", 5);
  assert.match(describeStep(constant, 0, String), /the next 5 places is 0 0 0 0 0, the last known token again\.$/);
  assert.match(
    describeStep(constant, 1, String),
    /every guess was right, and so is every answer: 5 tokens locked in, 0 carried over\. 5 of 12/
  );
  const cycle = await jacobiRun("3-cycle", 5);
  assert.match(
    describeStep(cycle, 1, String),
    /the first guess was wrong, so only its correction is certain: 1 token locked in, 4 carried over/
  );
  assert.match(describeStep(cycle, 2, String), /what the last pass left over\.$/);
});

test("the recorded grids pass; impossible ones are named", async () => {
  const {streams} = await fixture("pass-counter");
  streams.forEach(checkGrid);
  const tampered = (change) => {
    const grid = JSON.parse(JSON.stringify(streams[2]));
    change(grid);
    return () => checkGrid(grid);
  };
  assert.throws(
    tampered((grid) => (grid.greedy -= 1)),
    /3-cycle: greedy decoding takes one pass a token/
  );
  assert.throws(
    tampered((grid) => (grid.lookahead[3][2] = 25)),
    /more passes than greedy at block 5, N = 3/
  );
  assert.throws(
    tampered((grid) => (grid.jacobi[3] = 2)),
    /more than its block at block 5/
  );
  assert.throws(
    tampered((grid) => (grid.jacobi[0] = 23)),
    /more than its block at block 1|greedy decoding at block 1/
  );
});

test("the counter says who wins and why", async () => {
  const {streams} = await fixture("pass-counter");
  const say = (stream, ...setting) =>
    describeCounter(
      counterState(
        streams.find((grid) => grid.name === stream),
        ...setting
      )
    );
  assert.match(say("3-cycle", 5, 3), /greedy 24 passes, Jacobi 24, lookahead 9 .*The pool finds/);
  assert.match(say("3-cycle", 1, 3), /plain greedy decoding\.$/);
  assert.match(say("sums of two", 5, 3), /no gain, and no loss/);
  assert.match(say("constant", 5, 3), /converges without the pool’s help\.$/);
});

test("the recorded runs with a pool pass", async () => {
  (await fixture("ngram-pool")).streams.forEach(checkPoolRun);
});

const POOL_TAMPERINGS = {
  "an entry lost": [(pass) => pass.added.pop(), /took in something else/],
  "another entry": [(pass) => (pass.added[0].continuation[0] = 9), /took in something else/],
  "another key": [(pass) => (pass.key = 2), /not the last known token/],
  "another answer": [(pass) => (pass.hit[0] = 9), /answers otherwise/],
  "a hit denied": [(pass) => (pass.hit = null), /answers otherwise/],
  "another size": [(pass) => (pass.pool_size += 1), /number of keys/],
  "another source": [(pass) => (pass.source = "carried"), /if and only if/],
  "a guess that the pool did not give": [(pass) => (pass.guess[0] = 9), /the guess is another one/]
};

for (const [name, [change, message]] of Object.entries(POOL_TAMPERINGS)) {
  test(`a run with ${name} throws`, async () => {
    const [run] = (await fixture("ngram-pool")).streams;
    change(run.passes[3]);
    assert.throws(
      () => checkPoolRun(run),
      (error) => message.test(error.message) && /3-cycle, .*pass 4/.test(error.message)
    );
  });
}

test("the pool keeps full continuations, the latest of each key", () => {
  assert.deepEqual(poolEntries([3, 1, 2, 3], 3), [{key: 3, continuation: [1, 2, 3], position: 0}]);
  assert.deepEqual(poolEntries([3, 1], 3), []);
  assert.deepEqual(lookUp([7, 1, 7, 2, 7], 1, 7), [2]);
  assert.equal(lookUp([1, 2, 3], 1, 3), null);
});

test("the pool's story: misses, then hits, to greedy's text", async () => {
  for (const run of (await fixture("ngram-pool")).streams) {
    const steps = poolSteps(run);
    steps.forEach((_, step) => assert.match(describePool(run, step, String), /\.$/));
    assert.equal(poolState(run, steps.length - 1).locked, run.tokens.length);
  }
  const [cycle] = (await fixture("ngram-pool")).streams;
  assert.match(describePool(cycle, 0, String), /the pool holds 0 keys\. .*“3” is not among them/);
  assert.match(describePool(cycle, 6, String), /“3” is one: the last time, 1 2 3 followed\. That is the guess\.$/);
  assert.match(
    describePool(cycle, 2 * cycle.passes.length - 1, String),
    /after 7 passes, 4 hits among them; greedy decoding takes 18\.$/
  );
});

test("guesses and answers are marked by where they part", () => {
  const pass = {guess: [1, 2, 3], refined: [1, 9, 9], n_accepted: 2};
  assert.deepEqual(
    [0, 1, 2].map((place) => fateOfGuess(pass, place)),
    ["accepted", "rejected", "discarded"]
  );
  assert.deepEqual(
    [0, 1, 2].map((place) => fateOfAnswer(pass, place)),
    ["accepted", "accepted", "draft"]
  );
});
