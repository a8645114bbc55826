"""Speculative sampling: a draft guesses γ tokens, one pass of the target verifies them, and the law stays the target's.

Sources: Leviathan et al. 2023, *Fast Inference from Transformers via Speculative Decoding*; Chen et al. 2023,
*Accelerating Large Language Model Decoding with Speculative Sampling*.
"""

from typing import NamedTuple, TypedDict

import torch
from torch import Tensor

from specdec.checks import (
    check_at_least,
    check_between,
    check_distribution,
    check_prompt,
    check_same_vocabulary,
    check_tokens,
)
from specdec.distributions import (
    StepFunction,
    acceptance_rate,
    residual_distribution,
    total_variation,
)
from specdec.generation import model_step
from specdec.randomness import Chance, accept, categorical
from specdec.trace import AcceptTest, SpeculativeRound

__all__ = [
    "Verification",
    "acceptance_rate",
    "best_gamma",
    "demonstrate_speculative",
    "draft_block",
    "expected_accepted_tokens",
    "model_step",
    "residual_distribution",
    "speculative_decode",
    "speculative_speedup",
    "speculative_verify",
    "total_variation",
    "verify_block",
]


class Verification(NamedTuple):
    """What one verification decided, and on which grounds."""

    emitted: list[int]  # the accepted prefix and one more token
    tests: list[AcceptTest]  # of the examined tokens, the rejected one last
    residual: Tensor | None  # (V,) the law of the correction; None after a clean block

    @property
    def n_accepted(self) -> int:
        return len(self.emitted) - 1


def verify_block(
    target_probs: Tensor,
    draft_probs: Tensor,
    draft_tokens: Tensor,
    generator: Chance = None,
) -> Verification:
    """Verify a drafted block: accept from the left while u < min(1, p/q), then add one token.

    The added token is a correction from the residual after a rejection, a bonus from the target's last row after a
    clean block. The inputs are taken as checked; :func:`speculative_verify` checks them.

    Source: Leviathan et al. 2023, Algorithm 1.

    Args:
        target_probs: (γ + 1, V), row i the target's law given the context and the first i drafted tokens.
        draft_probs: (γ, V), row i the law that drafted token i was drawn from.
        draft_tokens: (γ,) LongTensor.
        generator: one accept draw per examined token, then one categorical draw.
    """
    emitted: list[int] = []
    tests: list[AcceptTest] = []
    for token, p_row, q_row in zip(
        draft_tokens.tolist(), target_probs[:-1], draft_probs, strict=True
    ):
        p, q = p_row[token].item(), q_row[token].item()
        ratio = min(1.0, p / q)
        accepted, u = accept(ratio, generator)
        tests.append(AcceptTest(token=token, p=p, q=q, ratio=ratio, u=u, accepted=accepted))
        if not accepted:
            residual = residual_distribution(p_row, q_row)
            correction = categorical(residual, generator).item()
            return Verification([*emitted, correction], tests, residual)
        emitted.append(token)
    bonus = categorical(target_probs[-1], generator).item()
    return Verification([*emitted, bonus], tests, None)


def speculative_verify(
    target_probs: Tensor,
    draft_probs: Tensor,
    draft_tokens: Tensor,
    generator: Chance = None,
) -> tuple[Tensor, int]:
    """Verify a drafted block of γ tokens; whatever the draft, the emitted tokens have the target's law.

    Args:
        target_probs: (γ + 1, V), row i the target's law given the context and the first i drafted tokens.
        draft_probs: (γ, V), row i the law that drafted token i was drawn from. That law, after any warping: with
            another one the result is no longer the target's.
        draft_tokens: (γ,) integers in 0..V − 1, each of positive draft probability. γ may be 0.
        generator: where the draws come from.

    Returns:
        (emitted, n_accepted): emitted is a LongTensor (n_accepted + 1,).

    Raises:
        ValueError: shapes or vocabularies that disagree, rows that are no distributions, a token outside the
            vocabulary or one that the draft cannot have drawn.
    """
    _check_block(target_probs, draft_probs, draft_tokens)
    verification = verify_block(target_probs, draft_probs, draft_tokens, generator)
    return torch.tensor(verification.emitted), verification.n_accepted


def draft_block(
    context: Tensor, draft_step: StepFunction, gamma: int, generator: Chance = None
) -> tuple[Tensor, list[Tensor]]:
    """Draw γ tokens from the draft, each given the ones before it.

    Args:
        context: 1-D LongTensor of all tokens so far.
        draft_step: the draft, as a step function.
        gamma: how many tokens to draw; 0 draws none.
        generator: one categorical draw per token.

    Returns:
        (draft_tokens (γ,), the γ laws (V,) that they were drawn from).
    """
    tokens, rows = context, []
    for _ in range(gamma):
        rows.append(
            check_distribution(draft_step(tokens), "draft_step's distribution")
        )  # (V,)
        tokens = torch.cat([tokens, categorical(rows[-1], generator)])
    return tokens[len(context) :], rows


def score_block(context: Tensor, draft_tokens: Tensor, target_step: StepFunction) -> Tensor:
    """The target's law at all γ + 1 positions of a drafted block, as (γ + 1, V).

    A transformer gives every row in one forward pass over ``context`` and ``draft_tokens``: causal attention makes row
    i the same as if the later tokens weren't there. A step function is asked once per row.

    Raises:
        ValueError: a row is no distribution, or a drafted token lies outside the target's vocabulary.
    """
    tokens = torch.cat([context, draft_tokens])
    rows = [target_step(context)]  # each (V,)
    check_tokens(
        draft_tokens, rows[0].shape[-1], "drafted tokens"
    )  # before the target is shown them
    rows += [
        target_step(tokens[:length]) for length in range(len(context) + 1, len(tokens) + 1)
    ]
    return check_distribution(torch.stack(rows), "target_step's distribution")


def speculative_decode(
    prompt: Tensor | list[int],
    target_step: StepFunction,
    draft_step: StepFunction,
    gamma: int,
    max_new_tokens: int,
    generator: Chance = None,
) -> tuple[list[int], list[SpeculativeRound]]:
    """Decode by rounds of draft-and-verify until ``max_new_tokens`` tokens are there.

    γ is not shrunk near the end, so the last round may emit more than is needed; the surplus is left out of
    ``new_tokens`` and stays in the trace.

    Args:
        prompt: at least one token.
        target_step, draft_step: step functions over one vocabulary; each maps a 1-D LongTensor of all tokens so far to
            a next-token distribution (V,).
        gamma: drafted tokens a round, at least 0 (0 is plain sampling).
        max_new_tokens: at least 1.
        generator: per round γ categorical draws for the draft, then those of the verification.

    Returns:
        (new_tokens, trace): exactly ``max_new_tokens`` tokens without the prompt; one record per round.

    Raises:
        ValueError: an empty prompt, ``gamma`` or ``max_new_tokens`` below its least value, a step that returns no
            distribution, or two vocabularies.
    """
    check_at_least(gamma, 0, "gamma")
    check_at_least(max_new_tokens, 1, "max_new_tokens")
    prompt = check_prompt(prompt)
    tokens, trace = prompt, []
    while len(tokens) - len(prompt) < max_new_tokens:
        trace.append(_decode_round(tokens, target_step, draft_step, gamma, generator))
        tokens = torch.cat([tokens, torch.tensor(trace[-1]["emitted"])])
    return tokens[len(prompt) : len(prompt) + max_new_tokens].tolist(), trace


def _decode_round(
    context: Tensor,
    target_step: StepFunction,
    draft_step: StepFunction,
    gamma: int,
    generator: Chance,
) -> SpeculativeRound:
    """One round: draft γ tokens, score them with the target, verify."""
    draft_tokens, draft_rows = draft_block(context, draft_step, gamma, generator)
    target_probs = score_block(context, draft_tokens, target_step)
    draft_probs = torch.stack(draft_rows) if draft_rows else target_probs[:0]
    check_same_vocabulary(target_probs, draft_probs)
    verification = verify_block(target_probs, draft_probs, draft_tokens, generator)
    return SpeculativeRound(
        context=context.tolist(),
        proposed=draft_tokens.tolist(),
        n_accepted=verification.n_accepted,
        emitted=verification.emitted,
        tests=verification.tests,
        draft_probs=draft_probs.tolist(),
        target_probs=target_probs.tolist(),
        residual=None if verification.residual is None else verification.residual.tolist(),
        last_kind="bonus" if verification.residual is None else "correction",
    )


def expected_accepted_tokens(alpha: float, gamma: int) -> float:
    """Expected tokens per target pass when every drafted token is accepted with probability α, on its own.

    (1 − α^{γ+1}) / (1 − α), the bonus included; written as the sum 1 + α + … + α^γ, which is exact at α = 1 too.

    Source: Leviathan et al. 2023, equation 1.

    Args:
        alpha: in [0, 1].
        gamma: drafted tokens a round, at least 0.
    """
    check_between(alpha, 0.0, 1.0, "alpha")
    check_at_least(gamma, 0, "gamma")
    return float(sum(alpha**accepted for accepted in range(gamma + 1)))


def speculative_speedup(alpha: float, gamma: int, c: float) -> float:
    """Speed-up over plain decoding when one draft step costs c target passes.

    A round costs γ draft steps and one pass: expected tokens / (γc + 1).

    Source: Leviathan et al. 2023, Theorem 3.8.

    Args:
        alpha: acceptance rate, in [0, 1].
        gamma: drafted tokens a round, at least 0.
        c: cost of a draft step in target passes, at least 0.
    """
    check_between(c, 0.0, float("inf"), "c")
    return expected_accepted_tokens(alpha, gamma) / (gamma * c + 1)


def best_gamma(alpha: float, c: float, max_gamma: int = 16) -> int:
    """The γ in 0..max_gamma of greatest speed-up; the smallest among equals. 0 means: do not draft."""
    check_at_least(max_gamma, 0, "max_gamma")
    return max(range(max_gamma + 1), key=lambda gamma: speculative_speedup(alpha, gamma, c))


class SpeedupGrid(TypedDict):
    """Speed-up over a grid of α (A values) and γ (G values) at one draft cost."""

    c: float
    alphas: list[float]  # (A,)
    gammas: list[int]  # (G,)
    tokens_per_pass: list[list[float]]  # (A, G)
    speedup: list[list[float]]  # (A, G)
    best_gamma: list[int]  # (A,) 0 where no γ wins


def demonstrate_speculative() -> SpeedupGrid:
    """The data of the speed-up explorer: α from 0 to 1 in steps of 0.05, γ from 1 to 16, c = 0.1."""
    c, gammas = 0.1, list(range(1, 17))
    alphas = [step / 20 for step in range(21)]
    return SpeedupGrid(
        c=c,
        alphas=alphas,
        gammas=gammas,
        tokens_per_pass=[
            [expected_accepted_tokens(alpha, gamma) for gamma in gammas] for alpha in alphas
        ],
        speedup=[
            [speculative_speedup(alpha, gamma, c) for gamma in gammas] for alpha in alphas
        ],
        best_gamma=[best_gamma(alpha, c, gammas[-1]) for alpha in alphas],
    )


def _check_block(target_probs: Tensor, draft_probs: Tensor, draft_tokens: Tensor) -> None:
    check_distribution(target_probs, "target_probs")
    if draft_tokens.dim() != 1 or target_probs.dim() != 2 or draft_probs.dim() != 2:
        shapes = [
            tuple(tensor.shape) for tensor in (target_probs, draft_probs, draft_tokens)
        ]
        raise ValueError(
            f"expected shapes (γ + 1, V), (γ, V) and (γ,), got {shapes[0]}, {shapes[1]} and {shapes[2]}"
        )
    gamma = len(draft_tokens)
    if len(draft_probs) != gamma or len(target_probs) != gamma + 1:
        raise ValueError(
            f"{gamma} draft_tokens need {gamma} rows of draft_probs and {gamma + 1} of target_probs,"
            f" got {len(draft_probs)} and {len(target_probs)}"
        )
    check_same_vocabulary(target_probs, draft_probs)
    if gamma == 0:
        return
    check_distribution(draft_probs, "draft_probs")
    check_tokens(draft_tokens, draft_probs.shape[-1], "draft_tokens")
    drawn = draft_probs.gather(1, draft_tokens.long()[:, None])  # (γ, 1)
    if not bool((drawn > 0).all()):
        place = int((drawn[:, 0] <= 0).nonzero()[0])
        raise ValueError(
            f"draft_tokens[{place}] = {int(draft_tokens[place])} has probability 0 in draft_probs[{place}]:"
            " it cannot have been drawn from there"
        )
