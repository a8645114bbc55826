"""A cache changes nothing but the cost, and a tree pass equals decoding each branch on its own."""

import pytest
import torch
from conftest import seeded
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec.transformer import GPTModel, KVCache, causal_mask
from specdec.tree import tree_attention_mask, tree_depths, tree_pass_inputs, tree_path

TOLERANCE = 1e-10


def _model(seed: int, num_layers: int = 2) -> GPTModel:
    return (
        GPTModel(9, 12, 3, num_layers, 16, generator=seeded(seed))
        .double()
        .requires_grad_(False)
    )


texts = st.lists(st.integers(0, 8), min_size=1, max_size=16)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 99), layers=st.integers(1, 3), text=texts, data=st.data())
def test_cached_logits_equal_uncached_over_any_chunking_and_rollback(
    seed, layers, text, data
):
    model, cache = _model(seed, layers), KVCache()
    reference = model(torch.tensor([text]))
    done = 0
    while done < len(text):
        chunk = text[done : done + data.draw(st.integers(1, len(text) - done))]
        logits = model(torch.tensor([chunk]), cache)
        assert torch.allclose(
            logits, reference[:, done : done + len(chunk)], atol=TOLERANCE, rtol=0
        )
        done += len(chunk)
        assert cache.length == done
        if data.draw(st.booleans()):
            wrong_turn = data.draw(st.lists(st.integers(0, 8), max_size=16 - done))
            if wrong_turn:
                model(torch.tensor([wrong_turn]), cache)
            cache.truncate(done)
            done -= data.draw(st.integers(0, done))
            cache.truncate(done)


@st.composite
def trees(draw):
    """Parents of a random tree, parents before children, of depth at most 5."""
    parents: list[int] = []
    depths: list[int] = []
    for node in range(draw(st.integers(1, 9))):
        allowed = [-1] + [earlier for earlier in range(node) if depths[earlier] < 5]
        parents.append(draw(st.sampled_from(allowed)))
        depths.append(1 if parents[-1] == -1 else depths[parents[-1]] + 1)
    return parents


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 99),
    parents=trees(),
    past=st.lists(st.integers(0, 8), max_size=10),
    data=st.data(),
)
def test_a_tree_pass_equals_decoding_each_branch_on_its_own(seed, parents, past, data):
    model, cache = _model(seed), KVCache()
    tokens = data.draw(
        st.lists(st.integers(0, 8), min_size=len(parents), max_size=len(parents))
    )
    if past:
        model(torch.tensor([past]), cache)
    mask, positions = tree_pass_inputs(parents, len(past))
    logits = model(torch.tensor([tokens]), cache, mask, positions)
    for node in range(len(parents)):
        path = tree_path(parents, node)
        branch = torch.tensor([past + [tokens[step] for step in path]])
        assert torch.allclose(logits[0, node], model(branch)[0, -1], atol=TOLERANCE, rtol=0)

    # After keeping one path the cache is the one that decoding that branch leaves behind.
    path = tree_path(parents, data.draw(st.integers(0, len(parents) - 1)))
    cache.gather([*range(len(past)), *(len(past) + step for step in path)])
    text = past + [tokens[step] for step in path]
    following = torch.tensor([[3]])
    assert cache.length == len(text)
    after = model(following, cache)[0, -1]
    assert torch.allclose(
        after, model(torch.tensor([[*text, 3]]))[0, -1], atol=TOLERANCE, rtol=0
    )


def test_the_tree_checks_can_fail():
    """A mask that shows a sibling, and positions by index, both change the logits."""
    model, parents, tokens = _model(0), [-1, 0, 0, 1], torch.tensor([[1, 2, 3, 4]])
    mask, positions = tree_pass_inputs(parents, 0)
    right = model(tokens, None, mask, positions)
    with_sibling = mask.clone()
    with_sibling[2, 1] = True
    assert (model(tokens, None, with_sibling, positions) - right).abs().max() > 1e-3
    assert (model(tokens, None, mask, torch.arange(4)) - right).abs().max() > 1e-3


def test_positions_go_by_depth():
    """Root r, its children a and b, a's child a1, after 5 tokens."""
    mask, positions = tree_pass_inputs([-1, 0, 0, 1], 5)
    assert positions.tolist() == [5, 6, 6, 7]
    assert mask[:, :5].all()
    assert mask[:, 5:].tolist() == [
        [True, False, False, False],
        [True, True, False, False],
        [True, False, True, False],
        [True, True, False, True],
    ]


def test_batches_share_a_cache():
    model, cache = _model(1), KVCache()
    ids = torch.tensor([[1, 2, 3, 4], [8, 7, 6, 5]])
    parts = [model(ids[:, :3], cache), model(ids[:, 3:], cache)]
    assert torch.allclose(torch.cat(parts, dim=1), model(ids), atol=TOLERANCE, rtol=0)


def test_causal_mask():
    assert causal_mask(2, 1).tolist() == [[True, True, False], [True, True, True]]


def test_rolling_back_nothing_leaves_the_cache_unchanged():
    model, cache = _model(2), KVCache()
    cache.truncate(0)
    cache.gather([])
    model(torch.tensor([[1, 2, 3]]), cache)
    before = model(torch.tensor([[4]]), cache)
    cache.truncate(3)
    cache.truncate(3)
    assert torch.equal(model(torch.tensor([[4]]), cache), before)


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (
            lambda model, cache: cache.truncate(4),
            "length must be at most 3, what the cache holds; got 4",
        ),
        (
            lambda model, cache: cache.truncate(-1),
            "length must be an integer of at least 0",
        ),
        (
            lambda model, cache: cache.gather([0, 3]),
            r"indices must be different ones in 0\.\.2",
        ),
        (
            lambda model, cache: cache.gather([1, 1]),
            r"indices must be different ones in 0\.\.2",
        ),
        (
            lambda model, cache: model(torch.tensor([[1] * 14]), cache),
            r"positions 0\.\.15, .* from 3 to 16",
        ),
        (
            lambda model, cache: model(torch.tensor([[1]]), cache, torch.ones(1, 1).bool()),
            r"mask must be bool of shape \(1, 4\)",
        ),
        (
            lambda model, cache: model(torch.tensor([[1]]), cache, torch.ones(1, 4)),
            "mask must be bool",
        ),
        (
            lambda model, cache: model(
                torch.tensor([[1]]), cache, torch.zeros(1, 4).bool()
            ),
            "see at least one token",
        ),
        (
            lambda model, cache: model(
                torch.tensor([[1, 2]]), cache, None, torch.tensor([3])
            ),
            r"positions must have shape \(2,\)",
        ),
        (
            lambda model, cache: tree_depths([-1, 1]),
            r"parents\[1\] must be −1 or an earlier node, got 1",
        ),
        (
            lambda model, cache: tree_attention_mask([0]),
            r"parents\[0\] must be −1 or an earlier node, got 0",
        ),
    ],
)
def test_misuse_is_refused(misuse, message):
    model, cache = _model(3), KVCache()
    model(torch.tensor([[1, 2, 3]]), cache)
    with pytest.raises(ValueError, match=message):
        misuse(model, cache)
    assert cache.length == 3, "a refused call leaves the cache as it was"
