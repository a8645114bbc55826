"""Autoregressive decoding, one token a pass: the reference that every faster decoder is held against."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from specdec.checks import check_at_least, check_distribution, check_prompt
from specdec.distributions import StepFunction, next_token_distribution
from specdec.randomness import Chance, categorical


def autoregressive_decode(
    prompt: Tensor | list[int],
    step: StepFunction,
    max_new_tokens: int,
    generator: Chance = None,
) -> list[int]:
    """Sample ``max_new_tokens`` tokens from ``step``, one call for each.

    Args:
        prompt: at least one token.
        step: the model, as a step function.
        max_new_tokens: at least 1.
        generator: where the draws come from.

    Returns:
        The new tokens, without the prompt.

    Raises:
        ValueError: an empty prompt, ``max_new_tokens`` below 1, or a step that returns no distribution.
    """
    check_at_least(max_new_tokens, 1, "max_new_tokens")
    tokens = check_prompt(prompt)
    n_prompt = len(tokens)
    for _ in range(max_new_tokens):
        probs = check_distribution(step(tokens), "step's distribution")  # (V,)
        tokens = torch.cat([tokens, categorical(probs, generator)])
    return tokens[n_prompt:].tolist()


def model_step(
    model: nn.Module,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> StepFunction:
    """Adapt a model that maps ids (B, T) to logits (B, T, V) to a step function.

    The model computes in eval mode and without gradients, and is left as it was.

    Args:
        model: the model, for example a :class:`specdec.transformer.GPTModel`.
        temperature, top_k, top_p: how its logits become a distribution; see
            :func:`specdec.distributions.next_token_distribution`. Temperature 0 is greedy decoding.
    """

    def step(tokens: Tensor) -> Tensor:
        with evaluating(model), torch.no_grad():
            logits = model(tokens[None, :])[0, -1]  # (V,)
        return next_token_distribution(logits, temperature, top_k, top_p)

    return step


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put ``model`` into eval mode, and every part of it back into its own mode afterwards."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode
