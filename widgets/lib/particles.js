/**
 * Weighted particles and the distance of a draft from its target, on plain lists; each function equals the one of the
 * same name in specdec.smc_sd.
 */

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** The weights scaled to sum to 1. */
export function shares(weights) {
  const total = sum(weights);
  return weights.map((weight) => weight / total);
}

/** (Σ w)² / Σ w²: how many equally weighted particles are as good as these. */
export function effectiveSampleSize(weights) {
  return sum(weights) ** 2 / sum(weights.map((weight) => weight * weight));
}

/** Π p/q over a block's drafted tokens. */
export function blockRatio(targetProbs, draftProbs) {
  return targetProbs.reduce((product, p, place) => product * (p / draftProbs[place]), 1);
}

/** How often each of n particles was copied. */
export function copiesOf(ancestors, n) {
  return Array.from({length: n}, (_, particle) => ancestors.filter((ancestor) => ancestor === particle).length);
}

/** χ²(p‖q) = Σ (p − q)²/q, the variance of p/q under q; infinite if q misses a token of p. */
export function chiSquared(p, q) {
  return sum(p.map((mass, token) => (mass === q[token] ? 0 : (mass - q[token]) ** 2 / q[token])));
}

/** χ² of a block of K independent tokens: (1 + χ²)^K − 1. */
export function blockChiSquared(tokenChiSquared, K) {
  return (1 + tokenChiSquared) ** K - 1;
}

/** N times the squared error that weighted particles add up to, N large: Σ_x E_q[W²(1{x} − p(x))²]. */
export function firstOrderSquaredError(p, q, K) {
  const first = sum(
    p.map((mass, token) => {
      const offTarget = sum(p.map((other, x) => ((x === token ? 1 : 0) - other) ** 2));
      return (mass ** 2 / q[token]) * offTarget;
    })
  );
  return (1 + chiSquared(p, q)) ** (K - 1) * first;
}

/** What N draws from p itself miss its law by, squared and summed: (1 − Σ p²) / N. */
export function samplingFloor(p, N) {
  return (1 - sum(p.map((mass) => mass * mass))) / N;
}
