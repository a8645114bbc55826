"""What draft-and-verify must do at its edges, what its trace holds, and which inputs it refuses."""

import pytest
import torch
from conftest import context_step, probs, seeded
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec.speculative import (
    expected_accepted_tokens,
    speculative_decode,
    speculative_speedup,
    speculative_verify,
)
from specdec.trace import summarise

P, Q = probs(0.5, 0.3, 0.2), probs(0.2, 0.3, 0.5)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    gamma=st.integers(0, 5),
    vocab_size=st.integers(2, 6),
    wanted=st.integers(1, 9),
)
def test_trace_agrees_with_the_tokens(seed, gamma, vocab_size, wanted):
    generator = seeded(seed)
    target, draft = (
        context_step(vocab_size, generator),
        context_step(vocab_size, generator, missing_support=True),
    )
    tokens, trace = speculative_decode([0], target, draft, gamma, wanted, generator)
    emitted = [token for record in trace for token in record["emitted"]]
    assert tokens == emitted[:wanted]
    assert len(emitted) - len(trace[-1]["emitted"]) < wanted, (
        "a round after the last needed one"
    )
    for record in trace:
        assert record["emitted"][:-1] == record["proposed"][: record["n_accepted"]]
        assert (
            len(record["proposed"])
            == len(record["draft_probs"])
            == gamma
            == len(record["target_probs"]) - 1
        )
        for place, test in enumerate(record["tests"]):
            assert test["p"] == record["target_probs"][place][test["token"]]
            assert test["q"] == record["draft_probs"][place][test["token"]]
            assert test["ratio"] == min(1, test["p"] / test["q"])
            assert (
                test["accepted"]
                == (test["u"] < test["ratio"])
                == (place < record["n_accepted"])
            )
        assert (record["last_kind"] == "correction") == (record["residual"] is not None)
        assert (record["last_kind"] == "bonus") == (record["n_accepted"] == gamma)


@pytest.mark.parametrize("gamma", [1, 4])
def test_self_draft_accepts_everything(gamma):
    target = context_step(5, seeded(3))
    _, trace = speculative_decode([0], target, target, gamma, 20, seeded(4))
    assert all(record["n_accepted"] == gamma for record in trace)


def test_the_same_seed_gives_the_same_tokens():
    target, draft = context_step(5, seeded(3)), context_step(5, seeded(4))
    runs = [
        speculative_decode([0], target, draft, 3, 30, seeded(seed))[0]
        for seed in (9, 9, 10)
    ]
    assert runs[0] == runs[1] != runs[2]


def test_float32_law_is_kept_in_float32():
    seen = []

    def step(tokens):
        seen.append(tokens.dtype)
        return P.float()

    tokens, _ = speculative_decode([0], step, step, 2, 3, seeded(0))
    assert set(seen) == {torch.int64} and all(isinstance(token, int) for token in tokens)


def test_rates_of_a_trace():
    """Of four drafted each, 4, 0 and 2 accepted; the tokens added by the target count in neither rate."""
    certain = {0: probs(1.0, 0.0), 1: probs(0.0, 1.0)}
    drafted = iter([0, 0, 0, 0] + [1, 0, 0, 0] + [0, 0, 1, 0])
    _, trace = speculative_decode(
        [0], lambda _: certain[0], lambda _: certain[next(drafted)], 4, 9, seeded(0)
    )
    assert [record["n_accepted"] for record in trace] == [4, 0, 2]
    summary = summarise(trace)
    assert (summary["accepted_of_drafted"], summary["accepted_of_examined"]) == (0.5, 0.75)
    assert (summary["rounds"], summary["tokens"], summary["tokens_per_pass"]) == (3, 9, 3.0)


def test_rates_are_none_when_nothing_was_drafted():
    _, trace = speculative_decode([0], lambda _: P, lambda _: Q, 0, 1, seeded(0))
    summary = summarise(trace)
    assert summary["accepted_of_drafted"] is summary["accepted_of_examined"] is None
    with pytest.raises(ValueError, match="at least one round"):
        summarise([])


ROWS, DRAFTS = torch.stack([P, P, P]), torch.stack([Q, Q])


@pytest.mark.parametrize(
    ("target_probs", "draft_probs", "draft_tokens", "message"),
    [
        (ROWS * 0.9, DRAFTS, [0, 1], r"target_probs must sum to 1 .* 0\.9"),
        (ROWS, DRAFTS * 1.1, [0, 1], r"draft_probs must sum to 1 .* 1\.1"),
        (ROWS, DRAFTS, [0, 3], r"draft_tokens must lie in 0\.\.2, got 3"),
        (ROWS, DRAFTS, [-1, 0], r"draft_tokens must lie in 0\.\.2, got -1"),
        (
            ROWS,
            DRAFTS,
            [0.0, 1.0],
            "draft_tokens must be an integer tensor, got torch.float32",
        ),
        (
            ROWS[:2],
            DRAFTS,
            [0, 1],
            "need 2 rows of draft_probs and 3 of target_probs, got 2 and 2",
        ),
        (ROWS, DRAFTS, [0], "1 draft_tokens need 1 rows"),
        (
            ROWS,
            DRAFTS[:, :2] / DRAFTS[:, :2].sum(-1, keepdim=True),
            [0, 1],
            "one vocabulary, got 3 .* and 2",
        ),
        (
            torch.tensor([[1.5, -0.5, 0.0]] * 3),
            DRAFTS,
            [0, 1],
            "target_probs must not be negative or NaN, got -0.5",
        ),
        (
            torch.tensor([[float("nan"), 0.5, 0.5]] * 3),
            DRAFTS,
            [0, 1],
            "target_probs must not be negative or NaN",
        ),
        (
            ROWS.half(),
            DRAFTS,
            [0, 1],
            "target_probs must be a float32 or float64 tensor, got torch.float16",
        ),
        (
            ROWS,
            torch.tensor([[0.0, 0.5, 0.5]] * 2),
            [0, 1],
            r"draft_tokens\[0\] = 0 has probability 0",
        ),
        (P, Q, [0], "expected shapes"),
    ],
)
def test_verify_refuses(target_probs, draft_probs, draft_tokens, message):
    with pytest.raises(ValueError, match=message):
        speculative_verify(target_probs, draft_probs, torch.tensor(draft_tokens), seeded(0))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"prompt": []}, "prompt must be a 1-D sequence of at least one token"),
        ({"prompt": [[0]]}, "prompt must be a 1-D sequence"),
        ({"prompt": [0.5]}, "prompt must hold integer token ids"),
        ({"prompt": [-1]}, "prompt must hold integer token ids of at least 0"),
        ({"gamma": -1}, "gamma must be an integer of at least 0, got -1"),
        ({"gamma": 1.5}, "gamma must be an integer"),
        ({"max_new_tokens": 0}, "max_new_tokens must be an integer of at least 1, got 0"),
        ({"target_step": lambda _: P * 0.5}, "target_step's distribution must sum to 1"),
        ({"draft_step": lambda _: Q * 2}, "draft_step's distribution must sum to 1"),
        (
            {"draft_step": lambda _: probs(0.5, 0.5)},
            "one vocabulary, got 3 tokens for the target and 2 for the draft",
        ),
        (
            {"draft_step": lambda _: probs(0, 0, 0, 1)},
            r"drafted tokens must lie in 0\.\.2, got 3",
        ),
    ],
)
def test_decode_refuses(changed, message):
    arguments = {
        "prompt": [0],
        "target_step": lambda _: P,
        "draft_step": lambda _: Q,
        "gamma": 2,
        "max_new_tokens": 3,
    }
    with pytest.raises(ValueError, match=message):
        speculative_decode(**(arguments | changed), generator=seeded(0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: expected_accepted_tokens(1.2, 3),
            "alpha must be between 0.0 and 1.0, got 1.2",
        ),
        (lambda: expected_accepted_tokens(float("nan"), 3), "alpha must be between"),
        (
            lambda: expected_accepted_tokens(0.5, -1),
            "gamma must be an integer of at least 0",
        ),
        (lambda: speculative_speedup(0.5, 3, -0.1), "c must be at least 0.0, got -0.1"),
    ],
)
def test_formulas_refuse(call, message):
    with pytest.raises(ValueError, match=message):
        call()
