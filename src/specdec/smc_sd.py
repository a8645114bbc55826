"""Sequential Monte Carlo speculative decoding: nothing is rejected, particles are weighted and resampled.

N continuations of the text, the particles, grow side by side. In a round each gets K tokens from the draft and one
from the target, whatever they are; how much the target likes a block goes into the particle's weight. When few
particles carry all the weight, they are resampled. The pace is fixed, the law of the output is not quite the target's.

Source: Emara et al. 2026, *Faster LLM Inference via Sequential Monte Carlo*.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypedDict

import torch
from torch import Tensor

from specdec.checks import (
    check_at_least,
    check_between,
    check_distribution,
    check_prompt,
    check_same_vocabulary,
)
from specdec.distributions import acceptance_rate
from specdec.generation import check_room, evaluating
from specdec.randomness import Chance, categorical
from specdec.speculative import expected_accepted_tokens
from specdec.transformer import GPTModel, KVCache

ListStep = Callable[[list[int]], Tensor]
"""Maps all tokens so far, a list, to the next token's distribution (V,)."""

_LARGEST_LOG = 700.0  # beyond e^±700 a float over- or underflows


class SMCRound(TypedDict):
    """One round: every particle grows by K + 1 tokens."""

    contexts: list[list[int]]  # the particles before the round
    draft_blocks: list[list[int]]  # (N, K)
    draft_probs: list[
        list[float]
    ]  # (N, K) the draft's probability of each drafted token, > 0
    target_probs: list[list[float]]  # (N, K) the target's
    extra_tokens: list[int]  # (N,) drawn from the target after each block
    block_ratios: list[float]  # (N,) product of p / q over the block
    scored_weights: list[float]  # (N,) after the block, before any resampling
    ess: float  # effective sample size of these
    eta: float  # resampled if the ESS is below this
    resampled: bool
    ancestors: (
        list[int] | None
    )  # (N,) who was copied into each place; None without resampling
    weights: list[float]  # (N,) after resampling
    lengths: list[int]  # (N,) tokens of each particle, context included


class Drafted(NamedTuple):
    """What a round drew, before anything is made of it."""

    block: list[int]  # (K,)
    draft_probs: list[float]  # (K,)
    target_probs: list[float]  # (K,)
    extra_token: int


def effective_sample_size(weights: Sequence[float] | Tensor) -> float:
    """(Σ w)² / Σ w²: as how many equally weighted particles these count; from 1 to N.

    Source: Kong et al. 1994; Doucet & Johansen 2011, section 3.5.

    Args:
        weights: (N,), at least 0 and not all 0; they need not sum to 1.

    Raises:
        ValueError: no weight, or one that is negative, NaN or infinite, or all are 0.
    """
    return _ess(_logs(weights))


def smc_sd_round(
    particles: Sequence[Sequence[int]],
    weights: Sequence[float] | Tensor,
    draft_step: ListStep,
    target_step: ListStep,
    K: int,
    eta: float,
    rng: Chance = None,
) -> tuple[list[list[int]], list[float], SMCRound]:
    """Grow every particle by a drafted block and a target token; weigh, maybe resample.

    Weights are multiplied by Π p/q and never normalised. Only their ratios matter: should the largest leave the range
    of a float, all are divided by it. A particle whose block the target can't write dies (weight 0).

    Source: Emara et al. 2026, Algorithm 1.

    Args:
        particles: N token lists of one length, which may be 0.
        weights: (N,), at least 0 and not all 0.
        draft_step, target_step: map a list of tokens to a distribution (V,).
        K: drafted tokens a particle, at least 0.
        eta: resample iff the effective sample size is below this; 0 never does, above N always.
        rng: particle by particle K categorical draws for the draft and one for the target; then, if it comes to it,
            one draw of N ancestors.

    Returns:
        (particles, weights, trace) after the round; after resampling every weight is 1/N.

    Raises:
        ValueError: no particle, particles of several lengths, weights that are none, a number out of its range, a step
            that returns no distribution, two vocabularies, or every particle died.
    """
    particles = [list(particle) for particle in particles]
    _check_round(particles, weights, K, eta)
    drafted = [
        grow_particle(particle, draft_step, target_step, K, rng) for particle in particles
    ]
    ancestors, log_weights, trace = weigh_and_resample(
        particles, _logs(weights), drafted, eta, rng
    )
    return extended(particles, drafted, ancestors), trace["weights"], trace


def grow_particle(
    particle: list[int], draft_step: ListStep, target_step: ListStep, K: int, rng: Chance
) -> Drafted:
    """Draw K tokens from the draft, note both models' probabilities, add a target token."""
    tokens, draft_probs, target_probs = list(particle), [], []
    for _ in range(K):
        q = check_distribution(draft_step(tokens), "draft_step's distribution")  # (V,)
        p = check_distribution(target_step(tokens), "target_step's distribution")  # (V,)
        check_same_vocabulary(p, q)
        token = categorical(q, rng).item()
        draft_probs.append(q[token].item())
        target_probs.append(p[token].item())
        tokens = [*tokens, token]
    p = check_distribution(target_step(tokens), "target_step's distribution")
    return Drafted(
        tokens[len(particle) :], draft_probs, target_probs, categorical(p, rng).item()
    )


def weigh_and_resample(
    particles: list[list[int]],
    log_weights: list[float],
    drafted: list[Drafted],
    eta: float,
    rng: Chance,
) -> tuple[list[int] | None, list[float], SMCRound]:
    """Multiply weights by block ratios, in logs; draw N ancestors if the ESS is low."""
    n_particles = len(particles)
    log_ratios = [_log_ratio(each.target_probs, each.draft_probs) for each in drafted]
    scored = [weight + ratio for weight, ratio in zip(log_weights, log_ratios, strict=True)]
    ess = _ess(scored)
    resampled = ess < eta
    ancestors = (
        categorical(_normalised(scored), rng, n_particles).tolist() if resampled else None
    )
    log_weights = [-math.log(n_particles)] * n_particles if resampled else scored
    trace = SMCRound(
        contexts=particles,
        draft_blocks=[each.block for each in drafted],
        draft_probs=[each.draft_probs for each in drafted],
        target_probs=[each.target_probs for each in drafted],
        extra_tokens=[each.extra_token for each in drafted],
        block_ratios=_plain(log_ratios),
        scored_weights=_plain(scored),
        ess=ess,
        eta=float(eta),
        resampled=resampled,
        ancestors=ancestors,
        weights=[1 / n_particles] * n_particles if resampled else _plain(scored),
        lengths=[
            len(particle) + len(each.block) + 1
            for particle, each in zip(particles, drafted, strict=True)
        ],
    )
    return ancestors, log_weights, trace


def extended(
    particles: list[list[int]], drafted: list[Drafted], ancestors: list[int] | None
) -> list[list[int]]:
    """The particles after the round: those that were copied, or all as they are."""
    grown = [
        [*particle, *each.block, each.extra_token]
        for particle, each in zip(particles, drafted, strict=True)
    ]
    return grown if ancestors is None else [list(grown[index]) for index in ancestors]


def smc_sd_decode(
    draft_step: ListStep,
    target_step: ListStep,
    prompt: Sequence[int],
    K: int,
    N: int,
    eta: float,
    max_new_tokens: int,
    rng: Chance = None,
) -> tuple[list[int], list[SMCRound]]:
    """Decode by rounds until there are enough tokens, then draw a particle by weight.

    Exact in law if the draft is the target, or K = 0; else approximate, the more so the fewer the particles.

    Args:
        draft_step, target_step: map a list of tokens to a distribution (V,).
        prompt: at least one token.
        K: drafted tokens a round, at least 0.
        N: particles, at least 1.
        eta: resample iff the effective sample size is below this; N/2 is usual.
        max_new_tokens: at least 1. Rounds are whole; the surplus of the last one is cut off.
        rng: the draws of each round, then one for the answer.

    Returns:
        (tokens, trace): the prompt and ``max_new_tokens`` more; one record a round.

    Raises:
        ValueError: an empty prompt, a number out of its range, a step that returns no distribution, two vocabularies,
            or every particle died.
    """
    _check_decode(K, N, eta, max_new_tokens)
    prompt = check_prompt(prompt).tolist()
    particles, log_weights = [list(prompt)] * N, [0.0] * N
    trace: list[SMCRound] = []
    for _ in range(_rounds(max_new_tokens, K)):
        drafted = [
            grow_particle(particle, draft_step, target_step, K, rng)
            for particle in particles
        ]
        ancestors, log_weights, record = weigh_and_resample(
            particles, log_weights, drafted, eta, rng
        )
        particles = extended(particles, drafted, ancestors)
        trace.append(record)
    answer = particles[categorical(_normalised(log_weights), rng).item()]
    return answer[: len(prompt) + max_new_tokens], trace


def smc_sd_decode_models(
    draft: GPTModel,
    target: GPTModel,
    prompt: Sequence[int],
    K: int,
    N: int,
    eta: float,
    max_new_tokens: int,
    rng: Chance = None,
) -> tuple[list[int], list[SMCRound]]:
    """The same on two models, all particles in one batch: one target pass a round.

    The law is that of :func:`smc_sd_decode` with ``model_step``. A round takes K draft passes and one of the target.
    The draws come in another order, token by token over all particles: one categorical draw a particle for each
    drafted token, then one a particle for the target's. Both models keep a cache; resampling copies its rows.

    Args:
        draft, target: models over one vocabulary, with positions for all whole rounds.
        prompt, K, N, eta, max_new_tokens, rng: as there.

    Returns:
        (tokens, trace), as there.

    Raises:
        ValueError: as there, or a window that is too short.
    """
    _check_decode(K, N, eta, max_new_tokens)
    prompt = check_prompt(prompt)
    n_rounds = _rounds(max_new_tokens, K)
    for model in (draft, target):
        check_room(len(prompt), n_rounds * (K + 1), model.max_seq_len)
    if draft.vocab_size != target.vocab_size:
        raise ValueError(
            f"target and draft must share one vocabulary, got {target.vocab_size} tokens for the target"
            f" and {draft.vocab_size} for the draft"
        )
    models = _CachedModel(draft), _CachedModel(target)
    tokens, log_weights = prompt.expand(N, -1), [0.0] * N  # (N, T)
    trace: list[SMCRound] = []
    with evaluating(draft), evaluating(target), torch.no_grad():
        for _ in range(n_rounds):
            drafted = grow_batch(tokens, *models, K, rng)
            ancestors, log_weights, record = weigh_and_resample(
                tokens.tolist(), log_weights, drafted, eta, rng
            )
            tokens = torch.tensor(extended(tokens.tolist(), drafted, ancestors))
            if ancestors is not None:
                for model in models:
                    model.cache.reorder(ancestors)
            trace.append(record)
    answer = tokens[categorical(_normalised(log_weights), rng).item()]
    return answer[: len(prompt) + max_new_tokens].tolist(), trace


class _CachedModel:
    """A model and the cache of what it has seen of every particle."""

    def __init__(self, model: GPTModel) -> None:
        self.model, self.cache = model, KVCache()

    def probs(self, tokens: Tensor) -> Tensor:
        """(N, unseen, V): distributions after each token of (N, T) that is new to it, in one pass."""
        return torch.softmax(self.model(tokens[:, self.cache.length :], self.cache), dim=-1)


def grow_batch(
    tokens: Tensor, draft: _CachedModel, target: _CachedModel, K: int, rng: Chance
) -> list[Drafted]:
    """What :func:`grow_particle` does, for all particles (N, T) at once."""
    length, draft_probs = tokens.shape[1], []
    for _ in range(K):
        rows = draft.probs(tokens)[:, -1]  # (N, V)
        drawn = _draw_each(rows, rng)  # (N, 1)
        draft_probs.append(rows.gather(1, drawn)[:, 0].tolist())
        tokens = torch.cat([tokens, drawn], dim=1)
    blocks = tokens[:, length:]  # (N, K)
    rows = target.probs(tokens)[:, -(K + 1) :]  # (N, K + 1, V)
    target_probs = rows[:, :-1].gather(2, blocks[:, :, None])[:, :, 0]  # (N, K)
    extra_tokens = _draw_each(rows[:, -1], rng)[:, 0]  # (N,)
    return [
        Drafted(block, [probs[n] for probs in draft_probs], p, extra)
        for n, (block, p, extra) in enumerate(
            zip(blocks.tolist(), target_probs.tolist(), extra_tokens.tolist(), strict=True)
        )
    ]


def _draw_each(rows: Tensor, rng: Chance) -> Tensor:
    """One token from each row's law: (N, V) → (N, 1)."""
    return torch.stack([categorical(row, rng) for row in rows])


def _log_ratio(target_probs: list[float], draft_probs: list[float]) -> float:
    """log Π p/q over a block; −inf where the target can't write it."""
    if min(target_probs, default=1.0) == 0.0:
        return -math.inf
    return sum(
        math.log(p) - math.log(q) for p, q in zip(target_probs, draft_probs, strict=True)
    )


def _logs(weights: Sequence[float] | Tensor) -> list[float]:
    weights = [float(weight) for weight in weights]
    if not weights or not all(0.0 <= weight < math.inf for weight in weights):
        raise ValueError(
            f"weights must be at least one finite number of at least 0, got {weights}"
        )
    return [math.log(weight) if weight > 0 else -math.inf for weight in weights]


def _shares(log_weights: list[float]) -> list[float]:
    """The weights divided by the largest, which therefore is 1.

    Raises:
        ValueError: every particle is dead.
    """
    largest = max(log_weights)
    if largest == -math.inf:
        raise ValueError(
            "every particle died: all weights are 0, because the target can write none of the drafted blocks;"
            " use more particles or a draft that stays within what the target can write"
        )
    return [math.exp(weight - largest) for weight in log_weights]


def _ess(log_weights: list[float]) -> float:
    shares = _shares(log_weights)
    return sum(shares) ** 2 / sum(share**2 for share in shares)


def _normalised(log_weights: list[float]) -> Tensor:
    """(N,) float64, summing to 1."""
    shares = torch.tensor(_shares(log_weights), dtype=torch.float64)
    return shares / shares.sum()


def _plain(log_weights: list[float]) -> list[float]:
    """The weights; if the largest leaves the range of a float, all divided by it."""
    largest = max(log_weights)
    fits = abs(largest) < _LARGEST_LOG or largest == -math.inf
    return [math.exp(weight - (0.0 if fits else largest)) for weight in log_weights]


def _rounds(max_new_tokens: int, K: int) -> int:
    return math.ceil(max_new_tokens / (K + 1))


def _check_decode(K: int, N: int, eta: float, max_new_tokens: int) -> None:
    check_at_least(K, 0, "K")
    check_at_least(N, 1, "N")
    check_between(eta, 0.0, math.inf, "eta")
    check_at_least(max_new_tokens, 1, "max_new_tokens")


def _check_round(
    particles: list[list[int]], weights: Sequence[float] | Tensor, K: int, eta: float
) -> None:
    check_at_least(K, 0, "K")
    check_between(eta, 0.0, math.inf, "eta")
    if not particles or len(particles) != len(weights):
        raise ValueError(
            "particles and weights must be equally many, at least 1,"
            f" got {len(particles)} and {len(weights)}"
        )
    lengths = {len(particle) for particle in particles}
    if len(lengths) > 1:
        raise ValueError(f"particles must have one length, got {sorted(lengths)}")


def chi_squared(p: Tensor, q: Tensor) -> float:
    """χ²(p‖q) = Σ (p − q)²/q = E_q[(W − 1)²], the variance of the weight W = p/q.

    Infinite if q misses a token that p wants.

    Args:
        p, q: (V,) distributions of the target and the draft.

    Raises:
        ValueError: not distributions over one vocabulary.
    """
    check_same_vocabulary(check_distribution(p, "p"), check_distribution(q, "q"))
    apart = p != q
    return ((p[apart] - q[apart]) ** 2 / q[apart]).sum().item()


def block_chi_squared(token_chi_squared: float, K: int) -> float:
    """χ² of a block of K independent tokens: (1 + χ²)^K − 1."""
    check_between(token_chi_squared, 0.0, math.inf, "token_chi_squared")
    check_at_least(K, 0, "K")
    return (1 + token_chi_squared) ** K - 1


def smc_sd_speedup(K: int, rho: float) -> float:
    """(K + 1) / (ρK + 1): speed-up over plain decoding as long as particles ride free.

    Args:
        K: drafted tokens a round, at least 0.
        rho: cost of a draft step in target passes, at least 0.
    """
    check_at_least(K, 0, "K")
    check_between(rho, 0.0, math.inf, "rho")
    return (K + 1) / (rho * K + 1)


def self_normalised_law(p: Tensor, q: Tensor, N: int) -> list[float]:
    """E[p̂_N(x)], exactly: the law of an answer drawn by weight from N particles.

    p̂_N(x) = Σ_n w̄_n 1{x_n = x}, the particles' blocks drawn from q and weighted by p/q.

    Args:
        p, q: (V,) laws of a block under the target and the draft.
        N: particles, at least 1.

    Returns:
        (V,) probabilities.

    Raises:
        ValueError: not distributions over one vocabulary, ``N`` below 1, or particles that can all be dead.
    """
    law = torch.zeros(len(p), dtype=torch.float64)
    for probability, estimate in _estimates(p, q, N):
        law += probability * estimate
    return law.tolist()


def self_normalised_squared_error(p: Tensor, q: Tensor, N: int) -> list[float]:
    """E[(p̂_N(x) − p(x))²], exactly; arguments and errors as in :func:`self_normalised_law`."""
    error = torch.zeros(len(p), dtype=torch.float64)
    for probability, estimate in _estimates(p, q, N):
        error += probability * (estimate - p.double()) ** 2
    return error.tolist()


def _estimates(p: Tensor, q: Tensor, N: int) -> Iterator[tuple[float, Tensor]]:
    """Every possible p̂_N (V,) with its probability.

    Particles that drew the same block count together: one outcome for each way to share N particles among the V
    blocks, not V^N.
    """
    check_same_vocabulary(check_distribution(p, "p"), check_distribution(q, "q"))
    check_at_least(N, 1, "N")
    if bool(((q > 0) & (p == 0)).any()):
        raise ValueError("p must be positive wherever q is: else every particle may die")
    drawable = (q > 0).nonzero()[:, 0]
    log_q, weights = q[drawable].double().log(), (p[drawable] / q[drawable]).double()
    for shares in _compositions(N, len(drawable)):
        counts = torch.tensor(shares, dtype=torch.float64)
        log_ways = math.lgamma(N + 1) - torch.lgamma(counts + 1).sum()
        masses = counts * weights
        estimate = torch.zeros(len(p), dtype=torch.float64)
        estimate[drawable] = masses / masses.sum()
        yield math.exp(log_ways + counts @ log_q), estimate


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Every way to write ``total`` as an ordered sum of ``parts`` counts of at least 0."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


class DivergenceRow(TypedDict):
    """What one divergence between draft and target does to the two methods."""

    delta: float  # 0: the draft is the target; 1: it is the far one
    target_probs: list[float]  # (V,)
    draft_probs: list[float]  # (V,)
    alpha: float  # acceptance rate under rejection
    sd_tokens_per_pass: float  # expected, of rejection at γ = K
    smc_tokens_per_pass: float  # K + 1
    chi2_token: float
    chi2_block: float  # of K tokens
    ess: float  # mean over the seeds
    squared_error: (
        float  # mean over the seeds of Σ_x (p̂_N(x) − p(x))², x the block's first token
    )
    sampling_floor: float  # what of it N draws from p itself would have: (1 − Σ p²) / N
    weight_error: float  # the rest: what the uneven weights add
    predicted_squared_error: float  # to first order in 1/N
    n_particles: int
    n_seeds: int
    metric: str


def demonstrate_smc_sd(n_particles: int = 64, n_seeds: int = 2000) -> list[DivergenceRow]:
    """The data of the divergence dial: δ from 0 to 1, K = 4, a draft (1 − δ)p + δ·q_far.

    The squared error of the weighted particles is averaged over the seeds 0 … ``n_seeds`` − 1, the same for every δ,
    and split: even N draws from the target itself miss its law by the sampling floor.
    """
    p = torch.tensor([0.4, 0.25, 0.15, 0.1, 0.06, 0.04], dtype=torch.float64)
    q_far = torch.tensor([0.25, 0.2, 0.15, 0.15, 0.15, 0.1], dtype=torch.float64)
    deltas = [step / 10 for step in range(11)]
    return [
        _divergence_row(delta, p, (1 - delta) * p + delta * q_far, 4, n_particles, n_seeds)
        for delta in deltas
    ]


def _divergence_row(
    delta: float, p: Tensor, q: Tensor, K: int, n_particles: int, n_seeds: int
) -> DivergenceRow:
    estimates, ess = weighted_first_tokens(p, q, K, n_particles, n_seeds)
    squared_error = ((estimates - p) ** 2).sum(dim=1).mean().item()
    floor = (1 - (p**2).sum().item()) / n_particles
    alpha, chi2 = min(1.0, acceptance_rate(p, q)), chi_squared(p, q)
    return DivergenceRow(
        delta=delta,
        target_probs=p.tolist(),
        draft_probs=q.tolist(),
        alpha=alpha,
        sd_tokens_per_pass=expected_accepted_tokens(alpha, K),
        smc_tokens_per_pass=float(K + 1),
        chi2_token=chi2,
        chi2_block=block_chi_squared(chi2, K),
        ess=ess.mean().item(),
        squared_error=squared_error,
        sampling_floor=floor,
        weight_error=squared_error - floor,
        predicted_squared_error=first_order_squared_error(p, q, K) / n_particles,
        n_particles=n_particles,
        n_seeds=n_seeds,
        metric="summed squared error of the weighted frequencies of the first token, mean over seeds",
    )


def weighted_first_tokens(
    p: Tensor, q: Tensor, K: int, n_particles: int, n_seeds: int
) -> tuple[Tensor, Tensor]:
    """One round of context-free particles for each of many seeds, weighted only.

    Args:
        p, q: (V,) distributions of the target and the draft, in float64.
        K: drafted tokens, at least 1.
        n_particles: N.
        n_seeds: generators, seeded 0 … n_seeds − 1.

    Returns:
        (estimates, ess): (n_seeds, V), p̂_N of a block's first token; (n_seeds,).
    """
    check_at_least(K, 1, "K")
    blocks = torch.stack(
        [
            categorical(q, torch.Generator().manual_seed(seed), n_particles * K)
            for seed in range(n_seeds)
        ]
    ).view(n_seeds, n_particles, K)
    weights = torch.softmax((p.log() - q.log())[blocks].sum(dim=2), dim=1)  # (n_seeds, N)
    estimates = torch.zeros(n_seeds, len(p), dtype=p.dtype)
    estimates.scatter_add_(1, blocks[:, :, 0], weights)
    return estimates, 1 / (weights**2).sum(dim=1)


def first_order_squared_error(p: Tensor, q: Tensor, K: int) -> float:
    """N times the squared error, N large: Σ_x E_q[W²(1{x} − p(x))²].

    W is the weight of a block of K tokens, x its first token.

    Args:
        p, q: (V,) distributions of the target and the draft.
        K: drafted tokens, at least 1.
    """
    check_at_least(K, 1, "K")
    second_moment = p**2 / q  # E_q[W²; token], of the first token's own weight
    off_target = (torch.eye(len(p), dtype=p.dtype) - p) ** 2  # (token, x)
    first = (second_moment @ off_target).sum().item()
    return (1 + chi_squared(p, q)) ** (K - 1) * first
