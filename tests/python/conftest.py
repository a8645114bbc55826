"""What several test files share: probability tensors and random context-dependent step functions."""

import pytest
import torch
from torch import Tensor

from specdec.distributions import StepFunction


def probs(*values: float, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.tensor(values, dtype=dtype)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def context_step(
    vocab_size: int,
    generator: torch.Generator,
    missing_support: bool = False,
    memory: int = 2,
) -> StepFunction:
    """A random step function: one distribution for each possible last ``memory`` tokens.

    With ``missing_support`` about a third of the entries are exactly 0.
    """
    table: dict[tuple[int, ...], Tensor] = {}

    def step(tokens: Tensor) -> Tensor:
        key = (len(tokens) % 2, *tokens[-memory:].tolist())
        if key not in table:
            logits = 2 * torch.randn(vocab_size, generator=generator, dtype=torch.float64)
            if missing_support:
                hidden = torch.rand(vocab_size, generator=generator) < 1 / 3
                hidden[torch.randint(vocab_size, (1,), generator=generator)] = False
                logits[hidden] = float("-inf")
            table[key] = torch.softmax(logits, dim=-1)
        return table[key]

    return step


@pytest.fixture(autouse=True)
def _leave_global_chance_alone():
    """No function of the package may touch torch's global generator when it is given its own."""
    before = torch.random.get_rng_state()
    yield
    assert torch.equal(before, torch.random.get_rng_state()), (
        "the test drew from torch's global generator"
    )
