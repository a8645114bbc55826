"""Checks of what callers hand in. Each raises a ``ValueError`` with what was got and what is allowed."""

import torch
from torch import Tensor

# How far a sum of probabilities may miss 1: the rounding of a softmax, not more.
_SUM_TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-6}


def check_distribution(probs: Tensor, name: str = "probs") -> Tensor:
    """Return ``probs`` if its last axis holds probability distributions.

    Args:
        probs: (..., V) float32 or float64.
        name: what to call it in the error.

    Raises:
        ValueError: not a float tensor with at least one axis and one entry, or an entry is negative, NaN or
            infinite, or a sum misses 1 by more than rounding.
    """
    if not isinstance(probs, Tensor) or probs.dtype not in _SUM_TOLERANCE:
        got = probs.dtype if isinstance(probs, Tensor) else type(probs).__name__
        raise ValueError(f"{name} must be a float32 or float64 tensor, got {got}")
    if probs.dim() == 0 or probs.numel() == 0:
        raise ValueError(
            f"{name} must hold at least one probability, got shape {tuple(probs.shape)}"
        )
    if not float(probs.min()) >= 0.0:  # NaN fails this comparison too
        raise ValueError(f"{name} must not be negative or NaN, got {probs.min().item()}")
    least, most = torch.aminmax(probs.sum(dim=-1))
    worst = max(float(least), float(most), key=lambda total: abs(total - 1.0))
    if not abs(worst - 1.0) <= _SUM_TOLERANCE[probs.dtype]:
        raise ValueError(f"{name} must sum to 1 along its last axis, got a sum of {worst}")
    return probs


def check_same_vocabulary(p: Tensor, q: Tensor) -> None:
    """Raise a ``ValueError`` unless target ``p`` and draft ``q`` range over equally many tokens."""
    if p.shape[-1] != q.shape[-1]:
        raise ValueError(
            f"target and draft must share one vocabulary, got {p.shape[-1]} tokens for the target"
            f" and {q.shape[-1]} for the draft"
        )


def check_tokens(tokens: Tensor, vocab_size: int, name: str = "tokens") -> Tensor:
    """Return ``tokens`` if it is a tensor of integer ids in ``0..vocab_size - 1``.

    Raises:
        ValueError: not an integer tensor, or a token outside the vocabulary.
    """
    if not isinstance(tokens, Tensor) or tokens.dtype not in (torch.int64, torch.int32):
        got = tokens.dtype if isinstance(tokens, Tensor) else type(tokens).__name__
        raise ValueError(f"{name} must be an integer tensor, got {got}")
    outside = [token for token in tokens.flatten().tolist() if not 0 <= token < vocab_size]
    if outside:
        raise ValueError(f"{name} must lie in 0..{vocab_size - 1}, got {outside[0]}")
    return tokens


def check_prompt(prompt: Tensor | list[int]) -> Tensor:
    """Return ``prompt`` as a 1-D LongTensor of at least one token.

    Raises:
        ValueError: the prompt is empty, has more than one axis, or holds something other than integers ≥ 0.
    """
    ids = torch.as_tensor(prompt)
    if ids.dim() != 1 or ids.numel() == 0:
        raise ValueError(
            f"prompt must be a 1-D sequence of at least one token, got shape {tuple(ids.shape)}"
        )
    if ids.is_floating_point() or ids.dtype == torch.bool or int(ids.min()) < 0:
        raise ValueError(
            f"prompt must hold integer token ids of at least 0, got {ids.tolist()}"
        )
    return ids.long()


def check_at_least(value: int, least: int, name: str) -> int:
    """Return ``value`` if it is an int of at least ``least``; raise a ``ValueError`` that names it otherwise."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    return value


def check_between(value: float, least: float, most: float, name: str) -> float:
    """Return ``value`` as a float if ``least <= value <= most``; raise a ``ValueError`` otherwise (NaN too)."""
    if not least <= value <= most:
        allowed = (
            f"at least {least}" if most == float("inf") else f"between {least} and {most}"
        )
        raise ValueError(f"{name} must be {allowed}, got {value}")
    return float(value)
