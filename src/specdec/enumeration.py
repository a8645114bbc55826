"""The exact law of what a decoder emits, by running it over every outcome of its random draws.

A statistical test of a sampler needs millions of draws to see a bias of one per cent. On a small vocabulary there is
no need to sample: :class:`BranchWalker` takes the place of the random generator, the decoder (the real one, not a
model of it) runs once for every branch, and the products of branch probabilities add up to the exact law.
"""

import itertools
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor

from specdec.checks import check_at_least, check_distribution, check_prompt
from specdec.distributions import StepFunction
from specdec.randomness import check_draw

Law = dict[Hashable, float]


@dataclass
class _Fork:
    """One draw of the decoder: its possible outcomes, their probabilities, and the one being followed."""

    outcomes: list[Any]
    probabilities: list[float]
    followed: int = 0


class BranchWalker:
    """Answers a decoder's draws so that repeated runs visit every branch once, depth first.

    Pass it as ``generator=``. Outcomes of probability 0 are not visited.
    """

    def __init__(self) -> None:
        self._forks: list[_Fork] = []
        self._depth = 0  # forks met so far in the current run

    def accept(self, prob: float) -> tuple[bool, float]:
        # u is the middle of the interval of draws that lead to this verdict.
        verdicts = [((True, prob / 2), prob), ((False, (1 + prob) / 2), 1 - prob)]
        return self._follow(lambda: verdicts)

    def categorical(self, probs: Tensor, count: int) -> Tensor:
        def sequences() -> Iterable[tuple[Tensor, float]]:
            check_draw(probs, count)
            weights = (probs.double() / probs.double().sum()).tolist()
            drawable = [token for token, weight in enumerate(weights) if weight > 0]
            for tokens in itertools.product(drawable, repeat=count):
                yield torch.tensor(tokens), prod(weights[token] for token in tokens)

        return self._follow(sequences).clone()  # a decoder may write into what it is given

    def probability(self) -> float:
        """The probability of the branch that the last run took."""
        return prod(fork.probabilities[fork.followed] for fork in self._forks)

    def advance(self) -> bool:
        """Move to the next branch; False when all have been walked.

        Raises:
            RuntimeError: the last run did not repeat the draws that lead to its branch.
        """
        if self._depth != len(self._forks):
            raise RuntimeError(
                "the decoder drew less than on an earlier run: it must depend on its draws alone"
            )
        while self._forks and self._forks[-1].followed == len(self._forks[-1].outcomes) - 1:
            self._forks.pop()
        if self._forks:
            self._forks[-1].followed += 1
        self._depth = 0
        return bool(self._forks)

    def _follow(self, weighted_outcomes: Callable[[], Iterable[tuple[Any, float]]]) -> Any:
        if self._depth == len(self._forks):
            possible = [
                (outcome, weight) for outcome, weight in weighted_outcomes() if weight > 0
            ]
            self._forks.append(
                _Fork(
                    [outcome for outcome, _ in possible], [weight for _, weight in possible]
                )
            )
        fork = self._forks[self._depth]
        self._depth += 1
        return fork.outcomes[fork.followed]


def output_law(decode: Callable[[BranchWalker], Any], max_leaves: int = 200_000) -> Law:
    """Run ``decode`` once per branch of its draws and return the exact law of its output.

    Args:
        decode: called with a walker to use as ``generator``; must depend on its draws alone. A tensor or list that it
            returns becomes a tuple.
        max_leaves: how many branches to walk at most.

    Returns:
        ``{output: probability}``; the probabilities sum to 1 up to rounding.

    Raises:
        ValueError: there are more than ``max_leaves`` branches.
    """
    check_at_least(max_leaves, 1, "max_leaves")
    walker = BranchWalker()
    law: Law = {}
    for leaf in itertools.count(1):
        if leaf > max_leaves:
            raise ValueError(
                f"the decoder has more than max_leaves = {max_leaves} branches; emit fewer tokens"
            )
        output = _as_key(decode(walker))
        law[output] = law.get(output, 0.0) + walker.probability()
        if not walker.advance():
            return law


def autoregressive_law(
    step: StepFunction, prompt: Tensor | list[int], n_tokens: int
) -> Law:
    """The law of the first ``n_tokens`` that plain sampling from ``step`` emits: products of conditionals.

    It shares no code with the walker, so that the two can be held against each other.

    Args:
        step: maps a 1-D LongTensor of tokens to the next token's distribution (V,).
        prompt: at least one token.
        n_tokens: at least 1.

    Returns:
        ``{(token, …): probability}`` over the sequences of positive probability.
    """
    check_at_least(n_tokens, 1, "n_tokens")
    prompt = check_prompt(prompt)
    law: Law = {(): 1.0}
    for _ in range(n_tokens):
        longer: Law = {}
        for tokens, weight in law.items():
            context = torch.cat([prompt, torch.tensor(tokens, dtype=torch.long)])
            probs = check_distribution(step(context), "step's distribution").tolist()
            longer |= {
                (*tokens, token): weight * prob
                for token, prob in enumerate(probs)
                if prob > 0
            }
        law = longer
    return law


def law_distance(law: Law, other: Law) -> float:
    """Total variation distance between two laws, in [0, 1]."""
    return 0.5 * sum(
        abs(law.get(output, 0.0) - other.get(output, 0.0))
        for output in law.keys() | other.keys()
    )


def _as_key(output: Any) -> Hashable:
    if isinstance(output, Tensor):
        output = output.tolist()
    return tuple(output) if isinstance(output, list) else output
