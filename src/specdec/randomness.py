"""The only two places where chance enters a decoder.

Every decoder of this package draws through :func:`accept` and :func:`categorical`. Both dispatch on the
``generator`` they are given: a ``torch.Generator`` (or None, torch's global one) draws at random; a
:class:`ChanceSource` decides for itself. The second is how :mod:`specdec.enumeration` walks every branch of the
real code, with nothing patched.
"""

from typing import Protocol

import torch
from torch import Tensor

from specdec.checks import check_at_least, check_between, check_distribution


class ChanceSource(Protocol):
    """Something that answers in place of a random generator."""

    def accept(self, prob: float) -> tuple[bool, float]:
        """Decide an event of probability ``prob``; return the verdict and a u that agrees with it."""

    def categorical(self, probs: Tensor, count: int) -> Tensor:
        """Choose ``count`` independent tokens of law ``probs``, as a LongTensor (count,); check them first."""


Chance = torch.Generator | ChanceSource | None


def accept(prob: float, generator: Chance = None) -> tuple[bool, float]:
    """Accept with probability ``prob``.

    A uniform u in [0, 1) is drawn even when the verdict is certain, so that the stream of draws does not depend on
    the probabilities. The comparison is strict: at ``prob`` 0 even u = 0 rejects.

    Args:
        prob: in [0, 1].
        generator: where u comes from. It is a float32 draw, so the realised probability is within 2⁻²⁴ of ``prob``.

    Returns:
        (accepted, u)

    Raises:
        ValueError: ``prob`` is outside [0, 1] or NaN.
    """
    prob = check_between(prob, 0.0, 1.0, "prob")
    if _is_torch(generator):
        u = torch.rand(1, generator=generator).item()
        return u < prob, u
    return generator.accept(prob)


def categorical(probs: Tensor, generator: Chance = None, count: int = 1) -> Tensor:
    """Draw ``count`` independent tokens of law ``probs``.

    Args:
        probs: (V,) float32 or float64.
        generator: where the draws come from.
        count: at least 1.

    Returns:
        LongTensor (count,).

    Raises:
        ValueError: ``probs`` is not one distribution, or ``count`` is less than 1.
    """
    if not _is_torch(generator):
        return generator.categorical(probs, count)
    check_draw(probs, count)
    return torch.multinomial(probs, count, replacement=True, generator=generator)


def check_draw(probs: Tensor, count: int) -> None:
    """Raise a ``ValueError`` unless ``count`` tokens can be drawn from ``probs``."""
    check_at_least(count, 1, "count")
    if check_distribution(probs).dim() != 1:
        raise ValueError(f"probs must have one axis, got shape {tuple(probs.shape)}")


def _is_torch(generator: Chance) -> bool:
    return generator is None or isinstance(generator, torch.Generator)
