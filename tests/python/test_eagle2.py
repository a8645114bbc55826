"""EAGLE-2's trees: grown and pruned as the contract says, closed and optimal, and exact in a real decoding loop."""

import itertools
import math

import pytest
import torch
from conftest import seeded
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec import tree as tree_module
from specdec.eagle import DraftState, EagleDrafter, draft_state_after
from specdec.eagle2 import (
    best_closed_mass,
    demonstrate_eagle2,
    dynamic_tree,
    eagle2_decode,
    expand_draft_tree,
    fixed_tree,
    is_ancestor_closed,
    keep_nodes,
    rank_paths,
    rerank_draft_tree,
    tuned_shape,
    uniform_oracle,
    values_are_monotone,
)
from specdec.generation import generate
from specdec.transformer import GPTModel, KVCache


def toy_oracle(path):
    base = 0.7 - 0.1 * len(path)
    return [(10 * len(path) + 1, base), (10 * len(path) + 2, base - 0.3)]


def random_oracle(seed, vocab_size=4, levels=None):
    """Confidences that depend on the whole path; with ``levels`` rounded so coarsely that many values tie."""

    def oracle(path):
        generator = seeded(hash((seed, *path)) % 2**31)
        confidences = torch.rand(vocab_size, generator=generator, dtype=torch.float64)
        if levels is not None:
            confidences = (confidences * levels).ceil() / levels
        return list(enumerate(confidences.tolist()))

    return oracle


class TestContract:
    def test_toy_oracle(self):
        tree = expand_draft_tree(toy_oracle, 4, 2, 2)
        assert values_are_monotone(tree)
        assert all(type(value) is float for value in tree["values"])
        pruned = rerank_draft_tree(tree, 5)
        assert pruned["tokens"] == [1, 2, 11, 12, 11]
        assert pruned["kept"] == sorted(pruned["kept"])
        assert is_ancestor_closed(tree["parents"], pruned["kept"])

    def test_fan_out_one_is_a_chain(self):
        chain = expand_draft_tree(toy_oracle, 5, 1, 2)
        assert (chain["depths"], chain["parents"]) == ([1, 2, 3, 4, 5], [-1, 0, 1, 2, 3])

    def test_equal_confidences_give_the_dense_tree(self):
        tree = expand_draft_tree(uniform_oracle([[7, 8], [3, 4], [9, 1]]), 3, 2, 99)
        assert tree["tokens"] == [7, 8, 3, 4, 3, 4, 9, 1, 9, 1, 9, 1, 9, 1]
        assert tree["parents"] == [-1, -1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
        assert tree["depths"] == [1] * 2 + [2] * 4 + [3] * 8

    def test_demo(self):
        demo = demonstrate_eagle2()
        assert (demo["expanded_node_count"], demo["full_cartesian_count"]) == (39, 243)
        assert (demo["full_node_count"], demo["kept_node_count"]) == (363, 8)
        assert demo["context"] == [7, 2, 13] and demo["root"] == 5
        assert demo["matches_greedy"] and demo["emitted"] == demo["greedy_reference"]
        assert demo["emitted"] == [9, 0, 14, 3, 11, 6]
        assert demo["dynamic_is_optimal"]
        assert len(demo["fixed_node_values"]) == 39
        assert demo["dynamic_value_mass"] == round(
            sum(demo["exp_values"][node] for node in demo["kept"]), 4
        )
        assert demo["fixed_value_mass"] == round(sum(demo["fixed_node_values"][:8]), 4)
        assert demo["dynamic_value_mass"] > 2 * demo["fixed_value_mass"]

    def test_demo_with_all_nodes_kept(self):
        """The two curves of the budget dial meet."""
        demo = demonstrate_eagle2(keep_m=39)
        assert demo["dynamic_value_mass"] == demo["fixed_value_mass"]

    @pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (3, 2, 2, 4), (4, 5, 2, 7)])
    def test_demo_of_other_sizes(self, sizes):
        demo = demonstrate_eagle2(*sizes)
        assert demo["matches_greedy"] and demo["dynamic_is_optimal"]
        assert demo["full_cartesian_count"] == sizes[1] ** sizes[0]


trees = st.builds(
    lambda seed, levels, depth, branch, expand_k: expand_draft_tree(
        random_oracle(seed, levels=levels), depth, branch, expand_k
    ),
    st.integers(0, 10_000),
    st.sampled_from([None, 1, 2, 3]),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(1, 4),
)


@settings(max_examples=300, deadline=None)
@given(tree=trees)
def test_every_kept_set_is_a_tree_of_the_largest_value(tree):
    assert values_are_monotone(tree)
    for size in range(1, len(tree["tokens"]) + 1):
        kept = rerank_draft_tree(tree, size)["kept"]
        assert len(kept) == size and is_ancestor_closed(tree["parents"], kept)
        mass = sum(tree["values"][node] for node in kept)
        assert math.isclose(
            mass, best_closed_mass(tree["parents"], tree["values"], size), rel_tol=1e-12
        )


small_trees = st.builds(
    lambda seed, levels, depth, branch, expand_k: expand_draft_tree(
        random_oracle(seed, levels=levels), depth, branch, expand_k
    ),
    st.integers(0, 10_000),
    st.sampled_from([None, 2]),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 1),
)


@settings(max_examples=100, deadline=None)
@given(tree=small_trees, signs=st.lists(st.sampled_from([-1, 1]), min_size=12, max_size=12))
def test_dynamic_programming_equals_brute_force(tree, signs):
    """Over all sets of nodes, for values of both signs, so that no order of values helps."""
    parents = tree["parents"]
    values = [value * sign for value, sign in zip(tree["values"], signs, strict=False)]
    for size in range(len(parents) + 1):
        masses = [
            sum(values[node] for node in nodes)
            for nodes in itertools.combinations(range(len(parents)), size)
            if is_ancestor_closed(parents, nodes)
        ]
        assert best_closed_mass(parents, values, size) == pytest.approx(
            max(masses), abs=1e-12
        )


def test_a_tie_break_that_ignores_depth_fails():
    """A child as sure as can be is worth its parent; an order by value and latest index takes it first."""
    tree = expand_draft_tree(lambda path: [(1, 0.5 if not path else 1.0)], 3, 1, 1)
    assert tree["values"] == [0.5, 0.5, 0.5]
    latest_first = sorted(range(3), key=lambda node: (-tree["values"][node], -node))
    assert not is_ancestor_closed(tree["parents"], latest_first[:2])
    assert rerank_draft_tree(tree, 2)["kept"] == [0, 1]


def test_raw_confidences_are_no_ranking():
    """The confident child of an unlikely parent: first by confidence, last by value."""
    confidence = {(): [(1, 0.6), (2, 0.1)], (1,): [(3, 0.5)], (2,): [(4, 0.9)]}
    tree = expand_draft_tree(lambda path: confidence[tuple(path)], 2, 2, 2)
    assert tree["tokens"] == [1, 2, 3, 4]
    by_confidence = [3, 0]  # .9 and .6
    assert not is_ancestor_closed(tree["parents"], by_confidence)
    assert rerank_draft_tree(tree, 2)["tokens"] == [1, 3]


def test_the_optimum_is_one_among_expanded_nodes_only():
    """Expanding one node a layer misses the better tree that expanding two finds."""
    confidence = {(): [(1, 0.5), (2, 0.45)], (1,): [(3, 0.1)], (2,): [(4, 1.0)]}

    def mass(expand_k):
        tree = expand_draft_tree(lambda path: confidence[tuple(path)], 2, 2, expand_k)
        return sum(rerank_draft_tree(tree, 3)["values"])

    assert (round(mass(1), 9), round(mass(2), 9)) == (1.0, 1.4)


def test_keeping_more_never_costs_value():
    tree = expand_draft_tree(random_oracle(5), 4, 3, 3)
    masses = [sum(rerank_draft_tree(tree, size)["values"]) for size in range(1, 31)]
    assert masses == sorted(masses)


def test_a_larger_size_keeps_all():
    tree = expand_draft_tree(toy_oracle, 3, 2, 1)
    pruned = rerank_draft_tree(tree, 99)
    assert pruned["kept"] == list(range(6))
    assert {key: pruned[key] for key in tree} == tree


def test_the_oracle_is_asked_once_a_node_and_its_order_does_not_matter():
    asked = []

    def oracle(path):
        asked.append(tuple(path))
        return random_oracle(3)(path)

    tree = expand_draft_tree(oracle, 4, 3, 2)
    assert len(asked) == len(set(asked)) == 7
    backwards = expand_draft_tree(lambda path: random_oracle(3)(path)[::-1], 4, 3, 2)
    assert backwards == tree


def test_ranks_and_tuned_shapes():
    tree = expand_draft_tree(toy_oracle, 2, 2, 2)
    assert rank_paths(tree) == [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    assert tuned_shape([tree], 3) == [(0,), (0, 0), (1,)]
    trees = [expand_draft_tree(random_oracle(seed), 4, 3, 3) for seed in range(20)]
    for size in range(1, 15):
        shape = tuned_shape(trees, size)
        assert all(path[:-1] in {(), *shape} for path in shape)
    shape = tuned_shape(trees, 6)
    totals = [
        sum(
            sum(
                value
                for path, value in zip(rank_paths(tree), tree["values"], strict=False)
                if path in other
            )
            for tree in trees
        )
        for other in (shape, rank_paths(trees[0])[:6])
    ]
    assert totals[0] >= totals[1]


def test_fixed_tree_takes_the_same_places_of_every_tree():
    shape = [(0,), (1,), (0, 0), (0, 2)]
    for seed in range(10):
        oracle = random_oracle(seed)
        fixed = fixed_tree(shape)(oracle, 5)
        dense = expand_draft_tree(oracle, 2, 3, 99)
        places = [rank_paths(dense).index(path) for path in shape]
        assert fixed["tokens"] == [dense["tokens"][node] for node in places]
        assert fixed["values"] == [dense["values"][node] for node in places]
        assert fixed["parents"] == [-1, -1, 0, 0]
        assert fixed_tree(shape)(oracle, 1)["tokens"] == fixed["tokens"][:2]


def drafter(seed, vocab_size=7, window=24):
    generator = seeded(seed)
    gpt = GPTModel(vocab_size, 12, 3, 2, window, generator=generator).double()
    return EagleDrafter(gpt, 2, generator).eval()


def random_tree(seed, n_nodes, most_layers, vocab_size=7):
    """A tree that has nothing to do with what the draft head thinks; siblings differ."""
    generator = seeded(seed)
    tree = {"tokens": [], "parents": [], "depths": [], "values": []}
    for _ in range(n_nodes):
        parent = int(torch.randint(-1, len(tree["tokens"]) or 1, (1,), generator=generator))
        parent = min(parent, len(tree["tokens"]) - 1)
        depth = 1 if parent == -1 else tree["depths"][parent] + 1
        token = int(torch.randint(vocab_size, (1,), generator=generator))
        siblings = zip(tree["parents"], tree["tokens"], strict=False)
        if depth <= most_layers and (parent, token) not in siblings:
            for key, entry in [
                ("tokens", token),
                ("parents", parent),
                ("depths", depth),
                ("values", 0.5**depth),
            ]:
                tree[key].append(entry)
    return tree


growers = st.one_of(
    st.builds(dynamic_tree, *[st.integers(1, 4)] * 3, st.integers(1, 12)),
    st.sampled_from([dynamic_tree(5, 1, 1, 5), fixed_tree([(0,), (1,), (0, 0), (1, 0)])]),
    st.builds(
        lambda seed, size: lambda oracle, most: random_tree(seed, size, most),
        st.integers(0, 10_000),
        st.integers(0, 20),
    ),
)


class TestDecoding:
    @settings(max_examples=150, deadline=None)
    @given(
        seed=st.integers(0, 20),
        prompt=st.lists(st.integers(0, 6), min_size=1, max_size=8),
        wanted=st.integers(1, 17),
        grow=growers,
        stop_tokens=st.sampled_from([(), (3,), (0, 5)]),
    )
    def test_the_text_is_that_of_greedy_decoding(
        self, seed, prompt, wanted, grow, stop_tokens
    ):
        model = drafter(seed)
        run = eagle2_decode(model, prompt, wanted, grow, stop_tokens)
        plain = generate(model.gpt, prompt, wanted, temperature=0, stop_tokens=stop_tokens)
        assert (run.tokens, run.finish_reason) == plain
        for record in run.trace:
            emitted = record["emitted"]
            tree_tokens = [
                record["tree"]["tokens"][node] for node in record["accepted_nodes"]
            ]
            assert emitted[:-1] == tree_tokens
            depths = tree_module.tree_depths(record["tree"]["parents"])
            assert max(depths, default=0) < wanted  # no more than can still be emitted

    def test_one_pass_a_round(self, monkeypatch):
        model, passes = drafter(1), []
        features = model.gpt.features

        def counted(ids, *rest):
            passes.append(ids.shape[1])
            return features(ids, *rest)

        monkeypatch.setattr(model.gpt, "features", counted)
        run = eagle2_decode(model, [1, 2, 3], 12, dynamic_tree(3, 2, 2, 5))
        assert len(passes) == 1 + len(run.trace)
        assert passes[1:] == [1 + len(record["tree"]["tokens"]) for record in run.trace]

    def test_a_perfect_draft_is_accepted_whole(self):
        """Guesses taken from the target itself: every round emits the tree's depth and one more."""
        model = drafter(2)
        plain = generate(model.gpt, [4, 4], 16, temperature=0).tokens

        def propose(oracle, most_layers):
            done = propose.emitted
            guesses = plain[done : done + min(3, most_layers)]
            propose.emitted += len(guesses) + 1
            return expand_draft_tree(
                lambda path: [(guesses[len(path)], 1.0)], len(guesses), 1, 1
            )

        propose.emitted = 1
        run = eagle2_decode(model, [4, 4], 16, propose)
        assert run.tokens == plain
        assert [len(record["emitted"]) for record in run.trace] == [4, 4, 4, 3]
        assert run.tokens_per_pass == 15 / 4

    def test_the_test_can_fail(self, monkeypatch):
        """Without dropping the rejected nodes from the cache the text goes wrong."""
        monkeypatch.setattr(KVCache, "gather", lambda self, kept: self.truncate(len(kept)))
        wrong = [
            seed
            for seed in range(10)
            if eagle2_decode(drafter(seed), [1], 20, dynamic_tree(3, 3, 3, 9)).tokens
            != generate(drafter(seed).gpt, [1], 20, temperature=0).tokens
        ]
        assert wrong

    def test_the_mask_matters(self, monkeypatch):
        def all_see_all(parents, past):
            mask, positions = true_inputs(parents, past)
            return torch.ones_like(mask), positions

        true_inputs = tree_module.tree_pass_inputs
        monkeypatch.setattr(tree_module, "tree_pass_inputs", all_see_all)
        assert any(
            eagle2_decode(drafter(seed), [1], 20, dynamic_tree(3, 3, 3, 9)).tokens
            != generate(drafter(seed).gpt, [1], 20, temperature=0).tokens
            for seed in range(10)
        )

    def test_one_token_needs_no_round(self):
        run = eagle2_decode(drafter(0), [1, 2], 1, dynamic_tree(3, 2, 2, 4))
        assert (len(run.tokens), run.trace, run.tokens_per_pass) == (1, [], None)

    def test_the_models_mode_comes_back(self):
        model = drafter(0).train()
        eagle2_decode(model, [1], 4, dynamic_tree(2, 2, 2, 3))
        assert model.training and model.gpt.training

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([], 3), "prompt must"),
            (([1], 0), "max_new_tokens"),
            (([1] * 20, 6), "a prompt of 20 tokens leaves room for 5 new ones"),
        ],
    )
    def test_misuse(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            eagle2_decode(drafter(0), *arguments, dynamic_tree(2, 2, 2, 3))


def test_fan_out_one_on_a_draft_head_is_its_chain():
    for seed in range(10):
        model = drafter(seed)
        state, root = draft_state_after(model, [1, 2, 3])
        chain = expand_draft_tree(state, 6, 1, 3)
        drafted = model.draft_chain([1, 2, 3], 7)
        assert [root, *chain["tokens"]] == drafted["draft_tokens"]
        assert chain["values"] == pytest.approx(
            list(itertools.accumulate(drafted["confidences"][1:], lambda a, b: a * b)),
            rel=1e-12,
        )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: expand_draft_tree(toy_oracle, 0, 2, 2), "depth must be"),
        (lambda: expand_draft_tree(toy_oracle, 2, 0, 2), "branch must be"),
        (lambda: expand_draft_tree(toy_oracle, 2, 2, 0), "expand_k must be"),
        (
            lambda: expand_draft_tree(lambda path: [(4, 1.1)], 1, 1, 1),
            r"gave 1\.1 to token 4 at depth 1",
        ),
        (
            lambda: expand_draft_tree(lambda path: [(4, float("nan"))], 1, 1, 1),
            "gave nan to token 4",
        ),
        (
            lambda: expand_draft_tree(lambda path: [(4, 0.2), (4, 0.1)], 1, 2, 1),
            r"guessed a token twice after path \[\]",
        ),
        (
            lambda: rerank_draft_tree(expand_draft_tree(toy_oracle, 2, 2, 2), 0),
            "keep_m must",
        ),
        (
            lambda: rerank_draft_tree(
                {
                    "tokens": [1, 2],
                    "parents": [-1, 0],
                    "depths": [1, 2],
                    "values": [0.1, 0.2],
                },
                1,
            ),
            "values must not grow",
        ),
        (
            lambda: keep_nodes(expand_draft_tree(toy_oracle, 2, 2, 2), [2]),
            r"the parent of each of its nodes, got \[2\]",
        ),
        (lambda: best_closed_mass([-1], [0.5], 2), "size must be at most 1"),
        (lambda: best_closed_mass([0], [0.5], 1), r"parents\[0\]"),
        (lambda: fixed_tree([(0,), (1, 0)]), r"not so for \(1, 0\)"),
        (lambda: tuned_shape([], 0), "size must"),
        (lambda: DraftState(drafter(0))([]), "observe a text"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
