"""Autoregressive decoding, one token a pass: the reference that every faster decoder is held against."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from specdec.checks import check_at_least, check_distribution, check_prompt
from specdec.distributions import StepFunction, next_token_distribution
from specdec.randomness import Chance, categorical
from specdec.transformer import GPTModel, KVCache


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


class Generation(NamedTuple):
    """What a run wrote, and why it ended."""

    tokens: list[int]  # without the prompt; a stop token is the last one
    finish_reason: Literal["stop", "length"]


def generate(
    model: GPTModel,
    prompt: Tensor | list[int],
    max_new_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    stop_tokens: Collection[int] = (),
    use_cache: bool = True,
    generator: Chance = None,
) -> Generation:
    """Continue ``prompt`` by plain decoding: one pass of the model a token.

    Args:
        model: computes in eval mode and without gradients, and is left as it was.
        prompt: at least one token.
        max_new_tokens: at least 1; fewer come out if a stop token does.
        temperature, top_k, top_p: see :func:`specdec.distributions.next_token_distribution`;
            temperature 0 is greedy and draws nothing.
        stop_tokens: the text ends with the first of these to come.
        use_cache: with it a pass covers the one new token, without it all tokens so far.
        generator: where the draws come from.

    Raises:
        ValueError: an empty prompt, a prompt that with its continuation doesn't fit the model's
            positions, ``max_new_tokens`` below 1, or logits that are no scores.
    """
    check_at_least(max_new_tokens, 1, "max_new_tokens")
    tokens = check_prompt(prompt)
    n_prompt = len(tokens)
    check_room(n_prompt, max_new_tokens, model.max_seq_len)
    cache = KVCache() if use_cache else None
    finish_reason: Literal["stop", "length"] | None = None
    with evaluating(model), torch.no_grad():
        while finish_reason is None:
            unseen = tokens if cache is None else tokens[cache.length :]
            logits = model(unseen[None, :], cache)[0, -1]  # (V,)
            token = next_token(logits, temperature, top_k, top_p, generator)
            kept, finish_reason = commit(
                [token], stop_tokens, n_prompt + max_new_tokens - len(tokens)
            )
            tokens = torch.cat([tokens, torch.tensor(kept)])
    return Generation(tokens[n_prompt:].tolist(), finish_reason)


def next_token(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: Chance = None,
) -> int:
    """Choose a token by its logits (V,); at temperature 0 the likeliest one, no draw."""
    probs = next_token_distribution(logits, temperature, top_k, top_p)
    if temperature == 0:
        return int(probs.argmax())
    return int(categorical(probs, generator))


def commit(
    block: list[int], stop_tokens: Collection[int], room: int
) -> tuple[list[int], Literal["stop", "length"] | None]:
    """Cut a block where the text ends: after its first stop token, or when it is full.

    Args:
        block: the tokens that a round emitted, at least one.
        stop_tokens: the text ends with the first position that holds any of these.
        room: how many tokens may still be added, at least 1.

    Returns:
        (kept, finish_reason): finish_reason is None if the text goes on. Where the stop token is the last
        one that there is room for, the reason is "stop".
    """
    for place, token in enumerate(block[:room]):
        if token in stop_tokens:
            return block[: place + 1], "stop"
    return block[:room], "length" if len(block) >= room else None


def check_room(n_prompt: int, max_new_tokens: int, max_seq_len: int) -> None:
    """Raise a ``ValueError`` unless the model has a position for every token that it must be fed.

    The last new token is not fed, so it needs none.
    """
    if n_prompt + max_new_tokens - 1 > max_seq_len:
        raise ValueError(
            f"a prompt of {n_prompt} tokens leaves room for {max(0, max_seq_len - n_prompt + 1)} new ones"
            f" in a window of {max_seq_len}, got max_new_tokens = {max_new_tokens}"
        )


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
