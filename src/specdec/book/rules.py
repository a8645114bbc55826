"""The right rule for one drafted token beside two wrong ones, and the exact law that each of them has.

The chapter on speculative sampling shows these rules, the accept lab lets the reader switch between them.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from specdec.distributions import acceptance_rate, residual_distribution, total_variation
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
