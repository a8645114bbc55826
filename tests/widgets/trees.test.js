// The tree widgets show recorded verdicts only after computing them again, and say what they show.

import assert from "node:assert/strict";
import {test} from "node:test";
import {treeDepths, treeRows} from "../../widgets/lib/trees.js";
import {checkRecord, describeMask, maskState, passInputs} from "../../widgets/mask-view.js";
import {checkRound, describeStep, progressAt, roundSteps} from "../../widgets/tree-stepper.js";
import {fixture} from "./fixtures.js";

const {rounds, labels} = await fixture("tree-stepper");
const round = (name) => rounds.find((record) => record.name === name);

test("parents that are no tree are named", () => {
  assert.throws(() => treeDepths([-1, 1]), /parents\[1\] must be −1 or an earlier node, got 1/);
  assert.throws(() => treeDepths([-1, -2]), /parents\[1\]/);
  assert.throws(() => treeDepths([undefined]), /parents\[0\]/);
});

test("leaves get a row each, parents stand amid their children", () => {
  assert.deepEqual(treeRows([-1, -1, 0, 0, 1]), [0.5, 2, 0, 1, 2]);
  assert.deepEqual(treeRows([-1, 0, 1]), [0, 0, 0]);
});

test("the recorded mask passes; a node that sees its sibling is caught, and a position by list order", async () => {
  const data = await fixture("mask-view");
  checkRecord(data);
  checkRecord({labels: data.labels, parents: data.parents, past: data.past});
  const leaking = data.mask.map((row) => [...row]);
  leaking[1][data.past.length] = true;
  assert.throws(() => checkRecord({...data, mask: leaking}), /mask of node 1/);
  const listed = data.parents.map((_, node) => data.past.length + node);
  assert.throws(() => checkRecord({...data, positions: listed}), /node 1 is recorded at position 3, its depth says 2/);
});

test("under a causal mask rivals are seen, and the sentence names them", () => {
  const data = {labels: ["sat", "ran", "."], parents: [-1, -1, 1], past: ["the", "cat"]};
  const state = (node, rule) => maskState(data.parents, 2, node, rule);
  assert.deepEqual(state(2, "tree").leaks, []);
  assert.deepEqual(state(2, "causal").leaks, [0]);
  assert.match(describeMask(data, state(2, "tree")), /2 tokens of the context, its ancestor “ran” and itself: 4 of 5 .* 3,/);
  assert.match(describeMask(data, state(2, "causal")), /also sees “sat”, which is not in its text.*becomes 4; right is 3\.$/);
  assert.match(describeMask(data, state(0, "causal")), /sees nothing that is not in its text.*happens to be right\.$/);
  assert.throws(() => passInputs(data.parents, 2, "full"), /rule must be one of tree, causal, got full/);
});

test("the recorded rounds pass, and one of them accepts nothing, another a whole path", () => {
  rounds.forEach(checkRound);
  const accepted = rounds.map((record) => record.accepted_nodes.length);
  assert.ok(accepted.includes(0) && accepted.includes(4));
});

const TAMPERINGS = {
  "a node too many": [(record) => record.accepted_nodes.push(0), /recorded as accepted/],
  "a rival accepted": [(record) => record.accepted_nodes.splice(0, 1, 0), /recorded as accepted/],
  "another bonus": [(record) => record.emitted.push(record.emitted.pop() + 1), /recorded as emitted/],
  "no bonus": [(record) => record.emitted.pop(), /recorded as emitted/],
  "another greedy text": [(record) => (record.greedy_reference[0] += 1), /plain greedy decoding/],
  "a target that says otherwise": [(record) => (record.root_next += 1), /recorded as accepted/],
  "a token of the target missing": [(record) => record.node_next.pop(), /as many/]
};

for (const [name, [change, message]] of Object.entries(TAMPERINGS)) {
  test(`throws on ${name}`, async () => {
    const record = (await fixture("tree-stepper")).rounds.find((other) => other.name === "root 2 wide");
    change(record);
    assert.throws(
      () => checkRound(record),
      (error) => message.test(error.message) && error.message.includes("root 2 wide")
    );
  });
}

test("the steps tell the whole round", () => {
  const kinds = (name) => roundSteps(round(name)).map(({kind}) => kind);
  const [draft, accept] = [Array(4).fill("draft"), Array(4).fill("accept")];
  assert.deepEqual(kinds("root 1 wide"), ["start", ...draft, "score", "stop", "commit"]);
  assert.deepEqual(kinds("one chain"), ["start", ...draft, "score", ...accept, "stop", "commit"]);
  const before = {drafted: 0, scored: false, accepted: [], stopped: false, committed: false};
  assert.deepEqual(progressAt(round("one chain"), 0), before);
  assert.deepEqual(progressAt(round("one chain"), 7).accepted, [0, 1]);
});

test("every step has a sentence; the walk's end says why it ends", () => {
  for (const record of rounds) {
    roundSteps(record).forEach((_, step) => assert.match(describeStep(record, step, labels), /^\S.*\.$/));
  }
  const end = (name) => {
    const record = round(name);
    return describeStep(record, roundSteps(record).findIndex(({kind}) => kind === "stop"), labels);
  };
  assert.match(end("root 1 wide"), /target writes “b”\. What is guessed there, “f”, does not agree\. So “b” is added/);
  assert.match(end("one chain"), /After “e” the target writes “f”\. The tree ends here\./);
});

test("widening the root keeps the text and lengthens it", () => {
  const [narrow, wide] = [round("root 1 wide").emitted, round("root 2 wide").emitted];
  assert.ok(wide.length > narrow.length);
  assert.deepEqual(wide.slice(0, narrow.length), narrow);
});
