"""The count of bytes and operations, against numbers worked out by hand and against each other."""

import pytest
import torch
from conftest import seeded
from hypothesis import given
from hypothesis import strategies as st

from specdec.roofline import (
    ACCELERATORS,
    SHAPES,
    Accelerator,
    DecoderShape,
    arithmetic_intensity,
    free_positions,
    pass_bytes,
    pass_flops,
    pass_seconds,
)
from specdec.transformer import GPTModel

TINY = DecoderShape("tiny", 4, 2, 2, 1, 8, 10, 2, "none")


def test_counts_by_hand():
    # attention 2·4² + 2·4·1·2 = 48, perceptron 3·4·8 = 96; two layers and a head of 40
    assert TINY.weights_read == 2 * (48 + 96) + 40
    assert TINY.cache_bytes_per_token == 2 * 2 * 1 * 2 * 2
    assert pass_bytes(TINY, batch=3, context=5) == 2 * 328 + 3 * 5 * 16
    assert pass_flops(TINY, batch=3, positions=2, context=5) == 6 * (
        2 * 328 + 4 * 2 * 4 * 5
    )


def test_published_sizes():
    embedding = {shape.name: shape.vocab_size * shape.embed_dim for shape in SHAPES}
    totals = {
        shape.name: (shape.weights_read + embedding[shape.name]) / 1e9 for shape in SHAPES
    }
    assert totals == pytest.approx({"Llama 3.1 8B": 8.03, "Llama 3.1 70B": 70.55}, abs=0.01)


def test_operations_agree_with_torchs_own_count():
    """Our count, on the book's GPT, against the operations that torch counts while the model runs."""
    from torch.utils.flop_counter import FlopCounterMode

    dim, layers, time = 32, 2, 6
    model = GPTModel(16, dim, 4, layers, 16, generator=seeded(0))
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(1, time, dtype=torch.long))
    # ungated perceptron of 4·D: two matrices instead of the three of a gated one
    same = DecoderShape("same", dim, layers, 4, 4, 4 * dim * 2 // 3, 16, 4, "none")
    weights = layers * 12 * dim**2 + dim * 16
    assert same.weights_read == pytest.approx(weights, rel=0.01)
    attention = 4 * layers * dim * time
    assert counter.get_total_flops() == time * (2 * weights + attention)


@given(
    accelerator=st.sampled_from(ACCELERATORS),
    shape=st.sampled_from(SHAPES),
    batch=st.integers(1, 512),
    context=st.integers(0, 20_000),
)
def test_free_positions_are_those_that_do_not_lengthen_the_pass(
    accelerator, shape, batch, context
):
    free = free_positions(accelerator, shape, batch, context)
    reading = pass_bytes(shape, batch, context) / accelerator.bytes_per_second
    if free:
        assert pass_seconds(accelerator, shape, batch, free, context) == pytest.approx(
            reading
        )
        assert arithmetic_intensity(shape, batch, free, context) <= accelerator.ridge * (
            1 + 1e-9
        )
    assert pass_seconds(accelerator, shape, batch, free + 1, context) > reading


def test_ridge():
    assert Accelerator("x", 300.0, 2.0, "none").ridge == 150


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pass_flops(TINY, 0, 1, 0), "batch must be"),
        (lambda: pass_flops(TINY, 1, 0, 0), "positions must be"),
        (lambda: pass_bytes(TINY, 1, -1), "context must be"),
    ],
)
def test_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()
