// Every formula that a widget computes equals the tested Python function.

import assert from "node:assert/strict";
import {test} from "node:test";
import {labState} from "../../widgets/accept-lab.js";
import {
  acceptanceRate,
  outputLaw,
  residualDistribution,
  RULES,
  setProbability,
  totalVariation
} from "../../widgets/lib/distributions.js";
import {bestGamma, expectedAcceptedTokens, speculativeSpeedup} from "../../widgets/speedup-explorer.js";
import {assertClose, fixture} from "./fixtures.js";

const grid = await fixture("parity");

test("acceptance rate, distance and residual of every pair", () => {
  assert.ok(grid.pairs.length > 30);
  for (const {target_probs: p, draft_probs: q, alpha, total_variation, residual} of grid.pairs) {
    assertClose(acceptanceRate(p, q), alpha, `α of ${p} and ${q}`);
    assertClose(totalVariation(p, q), total_variation, `distance of ${p} and ${q}`);
    assertClose(residualDistribution(p, q), residual, `residual of ${p} and ${q}`);
  }
});

test("the output law of every rule is the one that walking every branch gives", () => {
  for (const {target_probs: p, draft_probs: q, laws} of grid.pairs) {
    assert.deepEqual(Object.keys(laws), RULES);
    for (const rule of RULES) assertClose(labState(p, q, rule).law, laws[rule], `law of ${rule} for ${p} and ${q}`);
  }
});

test("only the correct rule gives p", () => {
  // Drawing from p is harmless where the residual happens to be p: the same laws, disjoint ones, a one-hot p.
  const telling = grid.pairs.filter(({target_probs, residual}) => totalVariation(target_probs, residual) > 0.01);
  assert.ok(telling.length > 30);
  for (const {target_probs: p, draft_probs: q} of telling) {
    assert.ok(labState(p, q, "correct").lawDistance < 1e-12);
    assert.ok(labState(p, q, "residual_from_p").lawDistance > 1e-6);
    assert.ok(labState(p, q, "accept_all").lawDistance > 1e-6);
  }
});

test("tokens per pass, speed-up and best γ over the grid, edges included", () => {
  for (const {alpha, values} of grid.tokens) {
    grid.gammas.forEach((gamma, index) =>
      assertClose(expectedAcceptedTokens(alpha, gamma), values[index], `tokens at ${alpha}, ${gamma}`)
    );
  }
  for (const {alpha, c, values, best_gamma} of grid.speedups) {
    grid.gammas.forEach((gamma, index) =>
      assertClose(speculativeSpeedup(alpha, gamma, c), values[index], `speed-up at ${alpha}, ${gamma}, ${c}`)
    );
    assert.equal(bestGamma(alpha, c, grid.gammas[grid.gammas.length - 1]), best_gamma, `best γ at ${alpha}, ${c}`);
  }
});

test("the parity check can fail", () => {
  const [{target_probs: p, draft_probs: q, laws}] = grid.pairs;
  assert.throws(() => assertClose(labState(p, q, "residual_from_p").law, laws.correct, "law"));
  assert.throws(() => assertClose(NaN, NaN, "not a number"));
  assert.throws(() => assertClose([1], [1, 2], "lengths"));
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
