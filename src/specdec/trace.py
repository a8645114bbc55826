"""The record that a decoder keeps of what it did.

One schema feeds the widgets, the tests and the terminal. It holds plain Python numbers and lists only, so that
it can be printed, compared and written as JSON. ``p`` is always the target's probability, ``q`` the draft's.
"""

from typing import Literal, TypedDict


class AcceptTest(TypedDict):
    """One drafted token held against the target: accepted iff ``u < ratio``."""

    token: int
    p: float  # the target's probability of the token
    q: float  # the draft's probability of the token, > 0 because the token was drawn from it
    ratio: float  # min(1, p / q), the probability of acceptance
    u: float  # the uniform draw in [0, 1)
    accepted: bool


class SpeculativeRound(TypedDict):
    """One round of draft-and-verify: γ drafted tokens, one target pass, 1 to γ + 1 emitted tokens."""

    context: list[int]  # all tokens before the round
    proposed: list[int]  # (γ,) the drafted tokens
    n_accepted: int  # length of the accepted prefix, 0..γ
    emitted: list[int]  # the accepted prefix and one more token
    tests: list[AcceptTest]  # the examined tokens only: the first rejection ends the round
    draft_probs: list[list[float]]  # (γ, V) the law each drafted token was drawn from
    target_probs: list[list[float]]  # (γ + 1, V) from the one target pass
    residual: list[float] | None  # (V,) the law of a correction; None after a clean block
    last_kind: Literal["correction", "bonus"]  # how the last emitted token came about


class TraceSummary(TypedDict):
    """What a run of draft-and-verify achieved. The two rates are None when nothing was drafted."""

    rounds: int  # target passes
    tokens: int  # all emitted, surplus of the last round included
    tokens_per_pass: float
    accepted_of_drafted: float | None  # the share of all drafted tokens that was kept
    accepted_of_examined: float | None  # the share of the tested ones: estimates α


def summarise(trace: list[SpeculativeRound]) -> TraceSummary:
    """Count a trace. The added token of each round is no draft and enters neither rate.

    Raises:
        ValueError: the trace holds no round.
    """
    if not trace:
        raise ValueError("trace must hold at least one round, got none")
    accepted = sum(record["n_accepted"] for record in trace)
    drafted = sum(len(record["proposed"]) for record in trace)
    examined = sum(len(record["tests"]) for record in trace)
    tokens = sum(len(record["emitted"]) for record in trace)
    return TraceSummary(
        rounds=len(trace),
        tokens=tokens,
        tokens_per_pass=tokens / len(trace),
        accepted_of_drafted=accepted / drafted if drafted else None,
        accepted_of_examined=accepted / examined if examined else None,
    )
