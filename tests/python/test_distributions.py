"""Distances between distributions, the residual, and the warping of logits."""

import pytest
import torch
from conftest import probs, seeded
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec.distributions import (
    acceptance_rate,
    next_token_distribution,
    residual_distribution,
    total_variation,
)


@st.composite
def pairs(draw):
    """Two random distributions over one vocabulary, zeros included, in float32 or float64."""
    size = draw(st.integers(1, 12))
    dtype = draw(st.sampled_from([torch.float32, torch.float64]))
    weights = st.lists(
        st.sampled_from([0.0, 1e-9, 0.01, 0.3, 1.0, 7.0]), min_size=size, max_size=size
    )
    raw = [torch.tensor(draw(weights.filter(any)), dtype=dtype) for _ in range(2)]
    return raw[0] / raw[0].sum(), raw[1] / raw[1].sum()


@settings(deadline=None)
@given(pairs())
def test_accepted_and_corrected_mass_make_p(pair):
    p, q = pair
    alpha = acceptance_rate(p, q)
    assert alpha == pytest.approx(1 - total_variation(p, q), abs=1e-6)
    law = torch.minimum(p, q) + (1 - alpha) * residual_distribution(p, q)
    assert law.tolist() == pytest.approx(p.tolist(), abs=1e-6)


@settings(deadline=None)
@given(pairs())
def test_residual_is_a_distribution_that_avoids_what_the_draft_overstates(pair):
    p, q = pair
    residual = residual_distribution(p, q)
    assert residual.dtype == p.dtype
    assert residual.sum().item() == pytest.approx(1, abs=1e-5)
    assert torch.equal(p, q) or not residual[p <= q].any()


def test_residual_of_equals_is_p_itself():
    p = probs(0.5, 0.3, 0.2)
    residual = residual_distribution(p, p.clone())
    assert torch.equal(residual, p)
    residual[0] = 0
    assert p[0] == 0.5, "the caller's tensor is not handed out"


@pytest.mark.parametrize(
    "function", [total_variation, acceptance_rate, residual_distribution]
)
def test_pairs_are_checked(function):
    with pytest.raises(ValueError, match="p must sum to 1"):
        function(probs(0.5, 0.4), probs(0.5, 0.5))
    with pytest.raises(ValueError, match="q must sum to 1"):
        function(probs(0.5, 0.5), probs(0.5, 0.6))
    with pytest.raises(
        ValueError, match="one vocabulary, got 2 tokens for the target and 3"
    ):
        function(probs(0.5, 0.5), probs(0.5, 0.25, 0.25))
    with pytest.raises(ValueError, match="one axis"):
        function(probs(0.5, 0.5)[None], probs(0.5, 0.5)[None])


LOGITS = torch.log(probs(0.5, 0.3, 0.15, 0.05))


def test_temperature():
    assert next_token_distribution(LOGITS).tolist() == pytest.approx([0.5, 0.3, 0.15, 0.05])
    assert next_token_distribution(LOGITS, temperature=0).tolist() == [1, 0, 0, 0]
    squared = probs(0.25, 0.09, 0.0225, 0.0025)
    expected = (squared / squared.sum()).tolist()
    assert next_token_distribution(LOGITS, temperature=0.5).tolist() == pytest.approx(
        expected
    )


def test_temperature_zero_takes_the_lowest_id_among_ties():
    assert next_token_distribution(probs(1.0, 3.0, 3.0), temperature=0).tolist() == [
        0,
        1,
        0,
    ]


def test_top_k_and_top_p():
    assert next_token_distribution(LOGITS, top_k=2).tolist() == pytest.approx(
        [0.625, 0.375, 0, 0]
    )
    assert next_token_distribution(LOGITS, top_k=9).tolist() == pytest.approx(
        [0.5, 0.3, 0.15, 0.05]
    )
    assert next_token_distribution(LOGITS, top_p=0.6).tolist() == pytest.approx(
        [0.625, 0.375, 0, 0]
    )
    assert next_token_distribution(LOGITS, top_p=1e-9).tolist() == [1, 0, 0, 0]
    assert next_token_distribution(LOGITS, top_p=1.0).tolist() == pytest.approx(
        [0.5, 0.3, 0.15, 0.05]
    )
    assert next_token_distribution(LOGITS.flip(0), top_p=0.6).tolist() == pytest.approx(
        [0, 0, 0.375, 0.625]
    )


def test_hidden_tokens_stay_hidden():
    logits = torch.tensor([0.0, float("-inf"), 0.0])
    assert next_token_distribution(
        logits, temperature=2.0, top_k=3, top_p=1.0
    ).tolist() == pytest.approx([0.5, 0, 0.5])


@pytest.mark.parametrize(
    ("logits", "settings_", "message"),
    [
        (torch.tensor([float("nan"), 0.0]), {}, "finite largest score"),
        (torch.tensor([float("inf"), 0.0]), {}, "finite largest score"),
        (torch.tensor([float("-inf")] * 2), {}, "finite largest score"),
        (torch.zeros(2, 3), {}, "one axis"),
        (torch.zeros(0), {}, "at least one entry"),
        (LOGITS, {"temperature": -1.0}, "temperature must be at least 0.0, got -1.0"),
        (LOGITS, {"temperature": float("nan")}, "temperature must be"),
        (LOGITS, {"top_k": 0}, "top_k must be an integer of at least 1, got 0"),
        (LOGITS, {"top_p": 0.0}, "top_p must be above 0 and at most 1, got 0.0"),
        (LOGITS, {"top_p": 1.5}, "top_p must be above 0 and at most 1, got 1.5"),
    ],
)
def test_warping_refuses(logits, settings_, message):
    with pytest.raises(ValueError, match=message):
        next_token_distribution(logits, **settings_)


def test_extreme_logits_stay_finite():
    warped = next_token_distribution(
        1e4 * torch.randn(50, generator=seeded(0)), temperature=1e-3
    )
    assert torch.isfinite(warped).all() and warped.sum().item() == pytest.approx(1)
