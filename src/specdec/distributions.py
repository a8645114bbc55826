"""Next-token distributions: how a model's logits become one, and how two of them compare.

Throughout, ``p`` is the target's distribution and ``q`` the draft's.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from specdec.checks import (
    check_at_least,
    check_between,
    check_distribution,
    check_same_vocabulary,
)

StepFunction = Callable[[Tensor], Tensor]
"""Maps all tokens so far, a 1-D LongTensor, to the next token's distribution (V,)."""


def total_variation(p: Tensor, q: Tensor) -> float:
    """Total variation distance: half the summed absolute difference, in [0, 1].

    Args:
        p, q: (V,) distributions.

    Raises:
        ValueError: not distributions over one vocabulary.
    """
    _check_pair(p, q)
    return 0.5 * (p - q).abs().sum().item()


def acceptance_rate(p: Tensor, q: Tensor) -> float:
    """α = Σ min(p, q) = 1 − TV(p, q): how likely a token drawn from ``q`` is accepted against ``p``.

    Source: Leviathan et al. 2023, Theorem 3.5 and Corollary 3.6.

    Args:
        p, q: (V,) distributions of the target and the draft.

    Raises:
        ValueError: not distributions over one vocabulary.
    """
    _check_pair(p, q)
    return torch.minimum(p, q).sum().item()


def residual_distribution(p: Tensor, q: Tensor) -> Tensor:
    """The law of a correction: (p − q)₊, what ``q`` leaves of ``p``, normalised.

    Where the two are equal nothing is left uncovered, a correction has probability 0, and ``p`` is returned.

    Source: Leviathan et al. 2023, Algorithm 1; Chen et al. 2023, Algorithm 2.

    Args:
        p, q: (V,) distributions of the target and the draft.

    Returns:
        (V,) in the dtype of ``p``.

    Raises:
        ValueError: not distributions over one vocabulary.
    """
    _check_pair(p, q)
    uncovered = (p - q).clamp_min(0.0)  # (V,)
    mass = uncovered.sum()
    return uncovered / mass if mass > 0 else p.clone()


def next_token_distribution(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """Warp logits into the law to sample from: temperature, then top-k, then top-p.

    Args:
        logits: (V,) finite scores. −inf is allowed for a token that must not be drawn.
        temperature: at least 0. At 0 the distribution is one-hot on the largest logit (the lowest id among ties).
        top_k: keep the k likeliest tokens; None keeps all. Ties at the edge are kept.
        top_p: keep the likeliest tokens until their mass reaches this, in (0, 1]; None keeps all.

    Returns:
        (V,) in the dtype of ``logits``.

    Raises:
        ValueError: a logit is NaN or +inf, or every one is −inf; a parameter outside its range.
    """
    _check_logits(logits)
    check_between(temperature, 0.0, float("inf"), "temperature")
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(), logits.shape[-1]).to(
            logits.dtype
        )
    logits = logits / temperature
    if top_k is not None:
        logits = _keep_top_k(logits, check_at_least(top_k, 1, "top_k"))
    probs = torch.softmax(logits, dim=-1)
    return probs if top_p is None else _keep_top_p(probs, top_p)


def _keep_top_k(logits: Tensor, top_k: int) -> Tensor:
    """Set every logit below the k-th largest to −inf."""
    threshold = logits.topk(min(top_k, logits.shape[-1])).values[-1]
    return logits.masked_fill(logits < threshold, float("-inf"))


def _keep_top_p(probs: Tensor, top_p: float) -> Tensor:
    """Remove the unlikeliest tokens while those removed hold at most 1 − ``top_p``; renormalise.

    Counted from the unlikely end, as the usual libraries do, so that ties and rounding fall alike; the
    likeliest token always stays.
    """
    if not 0.0 < top_p <= 1.0:
        raise ValueError(f"top_p must be above 0 and at most 1, got {top_p}")
    ascending, order = probs.sort(stable=True)
    kept = torch.where(ascending.cumsum(dim=-1) > 1 - top_p, ascending, 0.0)
    kept[-1] = ascending[-1]
    return torch.zeros_like(probs).scatter(0, order, kept / kept.sum())


def _check_pair(p: Tensor, q: Tensor) -> None:
    check_distribution(p, "p")
    check_distribution(q, "q")
    check_same_vocabulary(p, q)
    if p.dim() != 1 or q.dim() != 1:
        raise ValueError(
            f"p and q must have one axis each, got shapes {tuple(p.shape)} and {tuple(q.shape)}"
        )


def _check_logits(logits: Tensor) -> None:
    if logits.dim() != 1 or logits.numel() == 0:
        raise ValueError(
            f"logits must have one axis and at least one entry, got shape {tuple(logits.shape)}"
        )
    largest = logits.max().item()
    if not -float("inf") < largest < float("inf"):  # NaN propagates through max
        raise ValueError(
            f"logits must hold a finite largest score and no NaN or +inf, got {largest}"
        )
