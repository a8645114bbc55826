// Dynamic draft trees are judged by their values before they are shown, and the head's confidence by its bins.

import assert from "node:assert/strict";
import {test} from "node:test";
import {budgetState, checkBudgets, describeBudget, massCurves} from "../../widgets/budget-dial.js";
import {calibrationState, checkBins, describeCalibration} from "../../widgets/calibration-plot.js";
import {checkTree, describeStep, growState, growSteps} from "../../widgets/grow-prune.js";
import {isAncestorClosed, keptNodes, rerankOrder} from "../../widgets/lib/draft-values.js";
import {fixture} from "./fixtures.js";

const trees = async (name) => (await fixture(name)).trees;
const letter = (token) => "abcdefg"[token];

test("the recorded trees pass", async () => {
  (await trees("grow-prune")).forEach(checkTree);
  (await trees("budget-dial")).forEach(checkBudgets);
});

const TAMPERINGS = {
  "a wrong depth": [(tree) => (tree.depths[3] = 3), /node 3 is at depth 2, not 3/],
  "a child worth more than its parent": [
    (tree) => (tree.values[2] = tree.values[0] + 0.01),
    /node 2 is worth more than its parent/
  ],
  "a weak node that grew": [(tree) => (tree.values[3] = tree.values[2] - 1e-4), /in place of a better one/],
  "a kept node without its parent": [(tree) => (tree.kept = [1, 2, 6, 7]), /lacks its parent/],
  "a kept set that is not the best": [(tree) => (tree.kept = [0, 1, 2, 3]), /the best 4 are worth/]
};

for (const [name, [change, message]] of Object.entries(TAMPERINGS)) {
  test(`throws on ${name}`, async () => {
    const [tree] = await trees("grow-prune");
    change(tree);
    assert.throws(
      () => checkTree(tree),
      (error) => message.test(error.message) && error.message.includes('"expand 2"')
    );
  });
}

test("among equal values the shallower comes first, then the earlier", () => {
  const tree = {values: [0.5, 0.5, 0.5, 0.2], depths: [1, 2, 1, 2]};
  assert.deepEqual(rerankOrder(tree), [0, 2, 1, 3]);
  assert.deepEqual(keptNodes(tree, 3), [0, 1, 2]);
});

test("what any budget keeps is a tree", async () => {
  for (const tree of await trees("budget-dial")) {
    tree.values.forEach((_, index) => assert.ok(isAncestorClosed(tree.parents, keptNodes(tree, index + 1))));
  }
  assert.ok(!isAncestorClosed([-1, 0, 1], [0, 2]));
});

test("growing is told layer by layer, then ranked and cut", async () => {
  for (const tree of await trees("grow-prune")) {
    const kinds = growSteps(tree).map(({kind}) => kind);
    assert.deepEqual(kinds, ["grow", "choose", "grow", "choose", "grow", "rank", "keep"]);
    kinds.forEach((_, step) => assert.match(describeStep(tree, step, letter), /\.$/));
    assert.equal(growState(tree, 5).grown, tree.values.length);
  }
  const [wide, narrow] = await trees("grow-prune");
  assert.match(
    describeStep(wide, 2, letter),
    /Layer 2: 4 new nodes below “b” and “c”\..*0\.45 × 0\.90 = 0\.405 for “e”/
  );
  assert.match(
    describeStep(wide, 3, letter),
    /the 2 nodes of the largest values may grow: “e” \(0\.405\), “a” \(0\.158\)\. The other 2 stay leaves\.$/
  );
  assert.match(
    describeStep(narrow, 1, letter),
    /the 1 node of the largest values may grow: “b” \(0\.45\)\. The other one stays a leaf\.$/
  );
});

test("the curves start and end together, and the dynamic one is never below", async () => {
  for (const tree of await trees("budget-dial")) {
    const {dynamic, fixed} = massCurves(tree);
    assert.ok(Math.abs(dynamic[dynamic.length - 1] - fixed[fixed.length - 1]) < 1e-9);
    dynamic.forEach((mass, index) => assert.ok(mass >= fixed[index] - 1e-12));
    assert.match(describeBudget(tree, budgetState(tree, tree.values.length)), /the curves meet\.$/);
    tree.budgets[2].fixed_value_mass += 0.001;
    assert.throws(() => checkBudgets(tree), /at a budget of 4/);
  }
});

test("a budget of two: a sure draft goes down, the fixed tree goes wide", async () => {
  const [undecided, sure] = await trees("budget-dial");
  assert.deepEqual(
    budgetState(sure, 2).dynamicNodes.map((node) => sure.depths[node]),
    [1, 2]
  );
  assert.deepEqual(
    budgetState(sure, 2).fixedNodes.map((node) => sure.depths[node]),
    [1, 1]
  );
  assert.match(describeBudget(undecided, budgetState(undecided, 1)), /As yet they spend alike\.$/);
});

test("the recorded bins pass; tampered ones are named", async () => {
  const tampered = async (change) => {
    const data = await fixture("calibration-plot");
    change(data);
    return () => checkBins(data);
  };
  assert.doesNotThrow(await tampered(() => {}));
  assert.throws(
    await tampered(({bins}) => (bins[3].confidence = 0.41)),
    /bin 4: its mean confidence 0\.41 lies outside/
  );
  assert.throws(await tampered(({bins}) => (bins[2].greedy = 1.2)), /bin 3: greedy is no share/);
  assert.throws(await tampered(({bins}) => (bins[0].count = 0)), /bin 1: an empty bin/);
  assert.throws(await tampered(({errors}) => (errors.sampled += 0.001)), /the error against sampled/);
});

test("the calibration sentence says how far confidence can be trusted", async () => {
  const {bins} = await fixture("calibration-plot");
  const say = (...setting) => describeCalibration(bins, calibrationState(bins, ...setting));
  assert.match(say("sampled", 10), /365 guesses had a confidence of 0\.9 to 1\.0, .* the head is right about itself/);
  assert.match(
    say("greedy", 5),
    /0\.833 of them are the target’s likeliest token: here the head is less sure than it might be \(\+0\.399\)/
  );
  assert.match(say("greedy", 2), /too sure of itself \(−0\.118\)\. Over all guesses the gap is 0\.124 on average\.$/);
  const empty = [{count: 0, confidence: null, sampled: null, greedy: null}, bins[9]];
  assert.match(
    describeCalibration(empty, calibrationState(empty, "greedy", 1)),
    /^No guess had a confidence of 0\.0 to 0\.5\./
  );
});
