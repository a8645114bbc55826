"""How much more a forward pass over several positions costs than a pass over one, measured on this machine."""

import platform
import statistics
import time
from collections.abc import Sequence
from typing import TypedDict

import torch

from specdec.checks import check_at_least
from specdec.generation import evaluating
from specdec.transformer import GPTModel, KVCache


class PassCost(TypedDict):
    """Seconds of one pass over each number of new positions, for one model."""

    embed_dim: int
    num_layers: int
    parameters: int  # all that a pass reads: the blocks and the head
    seconds: list[float]  # one for each number of positions


def measure_pass_cost(
    sizes: Sequence[tuple[int, int]],
    positions: Sequence[int] = (1, 2, 4, 8, 16),
    repeats: int = 15,
    context: int = 64,
    generator: torch.Generator | None = None,
) -> list[PassCost]:
    """Time passes over ``positions`` new tokens after a cached context, in float32.

    The cases take turns, so that a busy moment of the machine hits them all; of each the median is kept.

    Args:
        sizes: (embed_dim, num_layers) of each model; a head has 64 dimensions.
        positions: how many new tokens a pass covers.
        repeats: passes of each case, at least 1.
        context: cached tokens before the new ones, at least 1.
        generator: draws the weights, which don't matter.
    """
    check_at_least(repeats, 1, "repeats")
    check_at_least(context, 1, "context")
    return [_cost_of(size, positions, repeats, context, generator) for size in sizes]


def describe_machine() -> dict[str, str | int]:
    """What a record of timings must say beside its date."""
    return {
        "processor": _processor_name(),
        "architecture": platform.machine(),
        "torch": torch.__version__.split("+")[0],
        "threads": torch.get_num_threads(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
    }


def _cost_of(
    size: tuple[int, int],
    positions: Sequence[int],
    repeats: int,
    context: int,
    generator: torch.Generator | None,
) -> PassCost:
    embed_dim, num_layers = size
    heads = max(1, embed_dim // 64)
    window = context + max(positions)
    model = GPTModel(256, embed_dim, heads, num_layers, window, generator=generator)
    cache, ids = KVCache(), torch.zeros(1, window, dtype=torch.long)
    timings: dict[int, list[float]] = {count: [] for count in positions}
    with evaluating(model), torch.inference_mode():
        model(ids[:, :context], cache)
        for _ in range(repeats + 1):
            for count in positions:
                started = time.perf_counter()
                model(ids[:, :count], cache)
                timings[count].append(time.perf_counter() - started)
                cache.truncate(context)
    read = sum(parameter.numel() for parameter in model.parameters())
    read -= model.token_embedding.weight.numel() + model.position_embedding.weight.numel()
    return PassCost(
        embed_dim=embed_dim,
        num_layers=num_layers,
        parameters=read,
        # the first turn warms up
        seconds=[statistics.median(timings[count][1:]) for count in positions],
    )


def _processor_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [
                line.split(":", 1)[1].strip()
                for line in lines
                if line.startswith("model name")
            ]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or "unknown"
