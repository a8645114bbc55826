// Every formula that a listed widget computes equals the tested Python function.

import assert from "node:assert/strict";
import {test} from "node:test";
import {labState} from "../../widgets/accept-lab.js";
import {outputLaw, setProbability, totalVariation} from "../../widgets/lib/distributions.js";
import {assertClose, parityGrid} from "./fixtures.js";
import {BROKEN, differs, listed, parityFaults, REGISTRY} from "./registered.js";

for (const entry of await listed(REGISTRY)) {
  test(`${entry.name} computes what Python computes`, async () => assert.deepEqual(await parityFaults(entry), []));
}

test("a widget that computes a wrong number is caught, and named with the arguments", async () => {
  const entries = await listed(BROKEN);
  const faultsOf = (name) => parityFaults(entries.find((entry) => entry.name === name));
  assert.deepEqual(await faultsOf("sound"), []);
  assert.match((await faultsOf("wrong-number"))[0], /^wrong-number: squared\(.*\) is .*, expected/);
  assert.match((await faultsOf("no-parity"))[0], /holds no function against Python/);
});

test("the comparison sees the last digits, lengths, missing entries and NaN", () => {
  assert.equal(differs({a: [1, 2 + 1e-13], b: 0}, {a: [1, 2]}, "x"), null);
  assert.match(differs([1, 2 + 1e-11], [1, 2], "x"), /^x\.1 is/);
  assert.match(differs([1], [1, 2], "x"), /length 1/);
  assert.match(differs({}, {a: 1}, "x"), /^x\.a is undefined/);
  assert.match(differs(NaN, 1, "x"), /NaN/);
  assert.match(differs(1, true, "x"), /expected true/);
});

test("only the correct rule gives p", async () => {
  const {functions} = await parityGrid("accept-lab");
  const pairs = functions.find(({function: name}) => name === "residualDistribution").cases;
  // Drawing from p is harmless where the residual happens to be p: the same laws, disjoint ones, a one-hot p.
  const telling = pairs.filter(({arguments: [p], value: residual}) => totalVariation(p, residual) > 0.01);
  assert.ok(telling.length > 30);
  for (const {
    arguments: [p, q]
  } of telling) {
    assert.ok(labState(p, q, "correct").lawDistance < 1e-12);
    assert.ok(labState(p, q, "residual_from_p").lawDistance > 1e-6);
    assert.ok(labState(p, q, "accept_all").lawDistance > 1e-6);
  }
});

test("setting one probability keeps a distribution and the proportions of the others", () => {
  const probs = [0.5, 0.3, 0.2];
  assertClose(setProbability(probs, 0, 0.75), [0.75, 0.15, 0.1], "scaled");
  assertClose(setProbability(probs, 1, 1), [0, 1, 0], "one takes all");
  assertClose(setProbability([0, 1, 0], 1, 0.4), [0.3, 0.4, 0.3], "zeros grow evenly");
  assertClose(setProbability([0, 1, 0], 0, 0), [0, 1, 0], "nothing changes");
});

test("accepted and corrected mass are the two parts of the law", () => {
  const {accepted, corrected} = outputLaw([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], "correct");
  assertClose(accepted, [0.2, 0.3, 0.2], "accepted");
  assertClose(corrected, [0.3, 0, 0], "corrected");
});
