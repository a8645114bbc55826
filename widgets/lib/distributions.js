/**
 * Formulas of speculative sampling on plain lists of probabilities. `p` is the target's distribution, `q` the draft's.
 * Each equals the function of the same name in specdec; the tests hold them together.
 */

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** min(p, q), token by token: the part of the draft's mass that is accepted. */
export function overlap(p, q) {
  return p.map((mass, token) => Math.min(mass, q[token]));
}

/** (p − q)₊, token by token: the target's mass that accepted drafts leave uncovered. */
export function uncovered(p, q) {
  return p.map((mass, token) => Math.max(mass - q[token], 0));
}

/** α = Σ min(p, q): how likely a drafted token is accepted. */
export function acceptanceRate(p, q) {
  return sum(overlap(p, q));
}

/** Half the summed absolute difference. */
export function totalVariation(p, q) {
  return 0.5 * sum(p.map((mass, token) => Math.abs(mass - q[token])));
}

/** (p − q)₊ normalised, the law of a correction; p itself where p = q. */
export function residualDistribution(p, q) {
  const rest = uncovered(p, q);
  const mass = sum(rest);
  return mass > 0 ? rest.map((value) => value / mass) : [...p];
}

/** The verdict on one drafted token: accepted iff u < min(1, p/q). */
export function verdict({p, q, u}) {
  const ratio = Math.min(1, p / q);
  return {ratio, accepted: u < ratio};
}

/**
 * What a rule does with a drafted token that fails the test, named as in specdec's records.
 * "correct" draws the replacement from the residual; the others are wrong on purpose.
 */
export const RULES = ["correct", "residual_from_p", "accept_all"];

/**
 * The law of the emitted token under a rule, in two parts that add up to it.
 * @returns {{accepted: number[], corrected: number[]}} mass that comes from accepted drafts and from replacements
 */
export function outputLaw(p, q, rule) {
  if (rule === "accept_all") return {accepted: [...q], corrected: q.map(() => 0)};
  const rejection = 1 - acceptanceRate(p, q);
  const replacement = rule === "correct" ? residualDistribution(p, q) : p;
  return {accepted: overlap(p, q), corrected: replacement.map((mass) => mass * rejection)};
}

/** Sets one probability and scales the others in proportion (evenly where all were 0), so that they still sum to 1. */
export function setProbability(probs, token, value) {
  const others = 1 - probs[token];
  const share = (mass) => (others > 0 ? mass / others : 1 / (probs.length - 1));
  return probs.map((mass, other) => (other === token ? value : share(mass) * (1 - value)));
}
