"""The one training loop that the book's demos share, and what they feed it.

    def loss():
        return next_token_loss(model, draw_windows(text, 12, 41, generator))

    losses = train(loss, model.parameters(), steps=900, learning_rate=1.5e-2)

The loop knows nothing of models: it asks for a loss, a fresh one each step, and lowers it.
"""

import math
import sys
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from specdec.checks import check_at_least, check_between


def train(
    loss: Callable[[], Tensor],
    parameters: Iterable[nn.Parameter],
    steps: int,
    learning_rate: float = 3e-3,
    warm_up: int = 50,
    progress: str | None = None,
) -> list[float]:
    """Lower a loss with AdamW: betas (.9, .95), weight decay .01, gradients clipped to norm 1.

    Args:
        loss: called once a step; draws its own batch and returns a scalar with a gradient.
        parameters: what to train. Everything else stays as it is, whatever the loss passes through.
        steps: at least 1.
        learning_rate: the highest; see :func:`learning_rate_factor`.
        warm_up: steps until it is reached.
        progress: the words before a progress bar on standard output (needs tqdm), which is wiped when
            done; None shows none.

    Returns:
        (steps,) the loss of every step, before its update.

    Raises:
        ValueError: ``steps`` below 1, a ``learning_rate`` or ``warm_up`` that is negative, or a loss that
            is NaN or infinite.
    """
    check_at_least(steps, 1, "steps")
    check_at_least(warm_up, 0, "warm_up")
    check_between(learning_rate, 0.0, float("inf"), "learning_rate")
    parameters = list(parameters)
    optimiser = torch.optim.AdamW(
        parameters, lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.01, fused=True
    )
    losses = []
    for step in _counted(steps, progress):
        factor = learning_rate_factor(step, steps, warm_up)
        for group in optimiser.param_groups:
            group["lr"] = learning_rate * factor
        current = loss()
        losses.append(current.item())
        if not math.isfinite(losses[-1]):
            raise ValueError(f"loss must stay finite, got {losses[-1]} at step {step}")
        gradients = torch.autograd.grad(current, parameters)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        nn.utils.clip_grad_norm_(parameters, max_norm=1.0)
        optimiser.step()
    optimiser.zero_grad()
    return losses


def learning_rate_factor(
    step: int, steps: int, warm_up: int = 50, floor: float = 0.05
) -> float:
    """The learning rate of a step as a share of the highest: up in a line, then down half a cosine.

    Args:
        step: 0 to ``steps`` − 1.
        steps: how many there are.
        warm_up: steps of the rise; at step ``warm_up`` − 1 the factor is 1. The rise takes at most half of
            all steps.
        floor: where the cosine ends.
    """
    warm_up = min(warm_up, steps // 2)
    if step < warm_up:
        return (step + 1) / warm_up
    done = (step - warm_up) / max(1, steps - 1 - warm_up)
    return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * done))


def language_model_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy in nats of logits (…, V) against token ids (…).

    Raises:
        ValueError: shapes that don't belong together.
    """
    if logits.shape[:-1] != targets.shape:
        raise ValueError(
            f"logits must have the shape of the targets and one axis more, got {tuple(logits.shape)}"
            f" and {tuple(targets.shape)}"
        )
    return nn.functional.cross_entropy(logits.flatten(0, -2), targets.flatten())


def next_token_loss(model: nn.Module, windows: Tensor) -> Tensor:
    """How well a model that maps ids (B, T) to logits (B, T, V) foretells each next token of ``windows``.

    Args:
        windows: (B, T + 1); every token but the first is foretold from those before it.
    """
    return language_model_loss(model(windows[:, :-1]), windows[:, 1:])


def draw_windows(
    text: Tensor, count: int, length: int, generator: torch.Generator | None = None
) -> Tensor:
    """Cut ``count`` windows of ``length`` tokens out of a text (N,), each at a random place: (count, length).

    Raises:
        ValueError: the text is shorter than a window, or ``count`` or ``length`` is below 1.
    """
    check_at_least(count, 1, "count")
    check_at_least(length, 1, "length")
    if text.dim() != 1 or len(text) < length:
        raise ValueError(
            f"text must have one axis and at least {length} tokens, got shape {tuple(text.shape)}"
        )
    starts = torch.randint(len(text) - length + 1, (count, 1), generator=generator)
    return text[starts + torch.arange(length)]


def _counted(steps: int, progress: str | None) -> Iterable[int]:
    if progress is None:
        return range(steps)
    from tqdm import tqdm  # only where a bar is asked for: the core needs nothing but torch

    return tqdm(range(steps), desc=progress, file=sys.stdout, leave=False)
