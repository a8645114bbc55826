"""Right rules beside wrong ones, and the exact law that each of them has.

``RULES`` are those of one drafted token that the chapter on speculative sampling shows and the accept lab lets the
reader switch between. ``WRONG_LAWS`` are the mistakes of the chapter on pitfalls: each a rule that looks right, the
right one beside it, and a target and a draft on which the two differ.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from specdec.distributions import (
    acceptance_rate,
    next_token_distribution,
    residual_distribution,
    total_variation,
)
from specdec.enumeration import output_law
from specdec.randomness import Chance, accept, categorical
from specdec.speculative import speculative_verify

Rule = Callable[[Tensor, Tensor, Chance], int]


def correct(p: Tensor, q: Tensor, generator: Chance = None) -> int:
    """Draft one token from q, verify it against p; return the first token emitted."""
    drafted = categorical(q, generator)
    emitted, _ = speculative_verify(torch.stack([p, p]), q[None], drafted, generator)
    return emitted[0].item()


def residual_from_p(p: Tensor, q: Tensor, generator: Chance = None) -> int:
    """Wrong: a rejected token is replaced by a draw from p itself."""
    token = categorical(q, generator).item()
    accepted, _ = accept(min(1.0, (p[token] / q[token]).item()), generator)
    return token if accepted else categorical(p, generator).item()


def accept_all(p: Tensor, q: Tensor, generator: Chance = None) -> int:
    """Wrong: the drafted token is taken as it is."""
    return categorical(q, generator).item()


RULES: dict[str, Rule] = {
    "correct": correct,
    "residual_from_p": residual_from_p,
    "accept_all": accept_all,
}


def one_token_law(rule: Rule, p: Tensor, q: Tensor) -> list[float]:
    """The exact law (V,) of the token that ``rule`` emits, by walking every branch of its draws."""
    law = output_law(lambda walker: rule(p, q, walker))
    return [law.get(token, 0.0) for token in range(len(p))]


def accept_lab_case(p: Tensor, q: Tensor) -> dict[str, Any]:
    """All that the accept lab shows about a target and a draft."""
    return {
        "target_probs": p.tolist(),
        "draft_probs": q.tolist(),
        "alpha": acceptance_rate(p, q),
        "total_variation": total_variation(p, q),
        "residual": residual_distribution(p, q).tolist(),
        "laws": {name: one_token_law(rule, p, q) for name, rule in RULES.items()},
    }


def likeliest_with_one_hot(p: Tensor, q: Tensor, generator: Chance = None) -> int:
    """Right: the guess is q's likeliest token, always, so its law is all on that token."""
    guess = q.argmax()
    return _verify_guess(p, _all_on(guess, q), guess, generator)


def likeliest_with_softmax(p: Tensor, q: Tensor, generator: Chance = None) -> int:
    """Wrong: the guess is q's likeliest token, always, and the rule divides by q."""
    return _verify_guess(p, q, q.argmax(), generator)


def cut_with_cut(p: Tensor, q: Tensor, generator: Chance = None) -> int:
    """Right: the guess is one of q's two likeliest; the rule divides by q after the cut."""
    cut = next_token_distribution(q.log(), top_k=2)
    return _verify_guess(p, cut, categorical(cut, generator), generator)


def cut_with_raw(p: Tensor, q: Tensor, generator: Chance = None) -> int:
    """Wrong: the guess is one of q's two likeliest; the rule divides by q before the cut."""
    cut = next_token_distribution(q.log(), top_k=2)
    return _verify_guess(p, q, categorical(cut, generator), generator)


def verify_siblings(
    p: Tensor, guesses: Sequence[tuple[int, Tensor]], generator: Chance = None
) -> int:
    """Try guesses for one place in turn, each against what the last has left of p.

    Source: Miao et al. 2024 (SpecInfer), multi-step speculative sampling.

    Args:
        p: (V,) the target's law.
        guesses: each a token and the law (V,) that the rule holds it against.
        generator: one accept draw per examined guess, then one categorical draw if all are rejected.
    """
    for token, q in guesses:
        accepted, _ = accept(min(1.0, (p[token] / q[token]).item()), generator)
        if accepted:
            return token
        p = residual_distribution(p, q)
    return categorical(p, generator).item()


def siblings_renormalised(p: Tensor, q: Tensor, generator: Chance = None) -> int:
    """Right: the second guess is held against q without the first, as it was drawn."""
    first = categorical(q, generator).item()
    rest = _without(first, q)
    second = categorical(rest, generator).item()
    return verify_siblings(p, [(first, q), (second, rest)], generator)


def siblings_against_q(p: Tensor, q: Tensor, generator: Chance = None) -> int:
    """Wrong: the second guess is held against q, which still has the first in it."""
    first = categorical(q, generator).item()
    rest = _without(first, q)
    second = categorical(rest, generator).item()
    return verify_siblings(p, [(first, q), (second, q)], generator)


def twice_in_turn(p: Tensor, q: Tensor, generator: Chance = None) -> int:
    """Right: q's likeliest token is guessed twice; to the second, nothing of it is left."""
    guess, certain = q.argmax().item(), _all_on(q.argmax(), q)
    return verify_siblings(p, [(guess, certain), (guess, certain)], generator)


def twice_on_its_own(p: Tensor, q: Tensor, generator: Chance = None) -> int:
    """Wrong: q's likeliest token is guessed twice, each time against all of p."""
    guess = q.argmax()
    for _ in range(2):
        accepted, _ = accept(p[guess].item(), generator)
        if accepted:
            return guess.item()
    return categorical(residual_distribution(p, _all_on(guess, q)), generator).item()


def accept_ties(prob: float, generator: Chance = None) -> bool:
    """Wrong: accept if u ≤ prob. It matters only if u hits prob exactly."""
    _, u = accept(prob, generator)
    return u <= prob


class WrongLaw(NamedTuple):
    """A rule that looks right, the right one, and a case on which the law tells them apart."""

    right: Rule
    wrong: Rule
    p: Tensor  # (V,) the target's law
    q: Tensor  # (V,) the draft's

    def laws(self) -> tuple[list[float], list[float]]:
        """The exact laws (V,) of the right and of the wrong rule."""
        right, wrong = (
            one_token_law(rule, self.p, self.q) for rule in (self.right, self.wrong)
        )
        return right, wrong

    def distance(self) -> float:
        """Total variation distance of the wrong rule's law from the target's."""
        _, wrong = self.laws()
        return total_variation(self.p, torch.tensor(wrong, dtype=torch.float64))


def _probs(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


WRONG_LAWS: dict[str, WrongLaw] = {
    "residual": WrongLaw(
        correct, residual_from_p, p=_probs(0.5, 0.3, 0.2), q=_probs(0.2, 0.3, 0.5)
    ),
    "likeliest": WrongLaw(
        likeliest_with_one_hot,
        likeliest_with_softmax,
        p=_probs(0.3, 0.5, 0.2),
        q=_probs(0.4, 0.35, 0.25),
    ),
    "cut": WrongLaw(
        cut_with_cut, cut_with_raw, p=_probs(0.4, 0.6, 0.0), q=_probs(0.5, 0.3, 0.2)
    ),
    "siblings": WrongLaw(
        siblings_renormalised,
        siblings_against_q,
        p=_probs(0.1, 0.45, 0.45),
        q=_probs(0.6, 0.3, 0.1),
    ),
    "twice": WrongLaw(
        twice_in_turn, twice_on_its_own, p=_probs(0.5, 0.2, 0.3), q=_probs(0.3, 0.4, 0.3)
    ),
}


def _verify_guess(p: Tensor, q: Tensor, guess: Tensor, generator: Chance) -> int:
    """The first token emitted when one guess is verified against p with q in the rule."""
    emitted, _ = speculative_verify(
        torch.stack([p, p]), q[None], guess.reshape(1), generator
    )
    return emitted[0].item()


def _all_on(token: Tensor, q: Tensor) -> Tensor:
    """The law of a draft that always says ``token``."""
    return torch.nn.functional.one_hot(token, len(q)).to(q.dtype)


def _without(token: int, q: Tensor) -> Tensor:
    """What is left to draw from once ``token`` is taken, normalised."""
    rest = q.clone()
    rest[token] = 0
    return rest / rest.sum()
