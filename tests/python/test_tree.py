"""Candidate trees: their shape, greedy verification against plain greedy decoding, the loop on a real model."""

import itertools
import random

import pytest
import torch
from conftest import seeded
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec import medusa, tree
from specdec.generation import generate
from specdec.transformer import GPTModel, KVCache
from specdec.tree import (
    acceptance_of_chains,
    accepted_path,
    build_candidate_tree,
    greedy_autoregressive,
    greedy_continuations,
    greedy_next_ids_from_map,
    likeliest_places,
    sparse_candidate_tree,
    tree_attention_mask,
    tree_decode,
    tree_depths,
    tree_path,
    verify_below_root,
    verify_tree_greedy,
)

CHAIN = {0: 1, 1: 2, 2: 3, 3: 4, 4: 0, 5: 5, 6: 6, 7: 7}

levels = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=3), max_size=4)


@st.composite
def random_trees(draw, vocab_size=4, most_nodes=12):
    """Any tree at all: siblings may be equal, children of one node need not stand side by side."""
    n = draw(st.integers(0, most_nodes))
    tokens = [draw(st.integers(0, vocab_size - 1)) for _ in range(n)]
    return {
        "tokens": tokens,
        "parents": [draw(st.integers(-1, node - 1)) for node in range(n)],
    }


class TestContract:
    def test_names_come_from_medusa_too(self):
        for name in ("build_candidate_tree", "tree_attention_mask", "verify_tree_greedy"):
            assert getattr(medusa, name) is getattr(tree, name)
        for name in ("greedy_next_ids_from_map", "greedy_autoregressive"):
            assert getattr(medusa, name) is getattr(tree, name)

    def test_candidate_tree(self):
        assert build_candidate_tree([[7, 8], [3, 4]]) == {
            "tokens": [7, 8, 3, 4, 3, 4],
            "parents": [-1, -1, 0, 0, 1, 1],
            "paths": [[7, 3], [7, 4], [8, 3], [8, 4]],
        }

    def test_mask_shows_self_and_ancestors(self):
        mask = tree_attention_mask([-1, -1, 0, 0, 1, 1])
        assert mask.dtype == torch.bool
        seen = [row.nonzero()[:, 0].tolist() for row in mask]
        assert seen == [[0], [1], [0, 2], [0, 3], [1, 4], [1, 5]]

    def test_verification_on_the_toy_chain(self):
        drafted = build_candidate_tree([[1, 5], [2], [3], [7]])
        following = greedy_next_ids_from_map(CHAIN, drafted["tokens"])
        assert verify_tree_greedy(drafted, CHAIN[0], following) == {
            "accepted_tokens": [1, 2, 3],
            "accepted_len": 3,
            "emitted": [1, 2, 3, 4],
        }
        assert greedy_autoregressive(CHAIN, 0, 4) == [1, 2, 3, 4]
        assert greedy_autoregressive(CHAIN, 0, 0) == []


class TestBuilding:
    @given(levels)
    def test_the_full_tree_spells_every_combination_once(self, candidates):
        built = build_candidate_tree(candidates)
        expected = (
            [list(path) for path in itertools.product(*candidates)] if candidates else []
        )
        assert built["paths"] == expected
        depths = tree_depths(built["parents"])
        assert depths == sorted(depths)
        assert built["parents"] == sorted(built["parents"])  # children side by side

    @given(levels.filter(bool), st.data())
    def test_a_sparse_tree_is_the_full_one_without_some_nodes(self, candidates, data):
        full = build_candidate_tree(candidates)
        all_places = [
            place
            for depth in range(1, len(candidates) + 1)
            for place in itertools.product(
                *(range(len(level)) for level in candidates[:depth])
            )
        ]
        picked = set(data.draw(st.lists(st.sampled_from(all_places), max_size=8)))
        closed = {place[:end] for place in picked for end in range(1, len(place) + 1)}
        sparse = sparse_candidate_tree(candidates, closed)
        kept = [node for node, place in enumerate(all_places) if place in closed]
        assert sparse["tokens"] == [full["tokens"][node] for node in kept]
        renumbered = {-1: -1} | {node: place for place, node in enumerate(kept)}
        assert sparse["parents"] == [renumbered[full["parents"][node]] for node in kept]

    @pytest.mark.parametrize(
        ("places", "message"),
        [
            ([(0, 0)], "parent"),
            ([()], "parent"),
            ([(2,)], "no candidate"),
            ([(0,), (0, 0)], "no"),
        ],
    )
    def test_a_place_that_can_not_be_is_an_error(self, places, message):
        with pytest.raises(ValueError, match=message):
            sparse_candidate_tree([[1, 2]], places)

    def test_a_level_without_candidates_is_an_error(self):
        with pytest.raises(ValueError, match="level 2"):
            build_candidate_tree([[1], []])


class TestLikeliestPlaces:
    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=2), min_size=1, max_size=3),
        st.integers(1, 6),
    )
    def test_no_tree_of_that_size_is_walked_further(self, rates, size):
        """Brute force over all ancestor-closed sets of places."""

        def value(places):
            return sum(_reach(rates, place) for place in places)

        chosen = likeliest_places(rates, size)
        everything = [
            place
            for depth in range(1, len(rates) + 1)
            for place in itertools.product(*(range(len(level)) for level in rates[:depth]))
        ]
        assert len(chosen) == min(size, len(everything))
        assert _closed(chosen)
        best = max(
            value(places)
            for places in itertools.combinations(everything, len(chosen))
            if _closed(places)
        )
        assert value(chosen) == pytest.approx(best, abs=1e-12)

    def test_breadth_first_is_not_the_best(self):
        """The brute force can fail: it does for the first nodes of the full tree."""
        rates = [[0.9, 0.1], [0.8, 0.1]]
        chosen = likeliest_places(rates, 2)
        assert chosen == [(0,), (0, 0)]
        assert sum(_reach(rates, place) for place in [(0,), (1,)]) < 0.9 + 0.72

    def test_a_size_below_one_is_an_error(self):
        with pytest.raises(ValueError, match="size"):
            likeliest_places([[0.5]], 0)


def _reach(rates, place):
    probability = 1.0
    for level, rank in zip(rates, place, strict=False):
        probability *= level[rank]
    return probability


def _closed(places):
    return all(place[:-1] in {(), *places} for place in places)


def _toy_target(generator, vocab_size, memory):
    """A random greedy target that looks at the last ``memory`` tokens."""
    table = {}

    def following(tokens):
        key = tuple(tokens[-memory:])
        if key not in table:
            table[key] = generator.randrange(vocab_size)
        return table[key]

    return following


def _plain_greedy(following, context, steps):
    tokens = list(context)
    for _ in range(steps):
        tokens.append(following(tokens))
    return tokens[len(context) :]


def _next_of_nodes(following, context, drafted, path_of=tree_path):
    return [
        following(
            [
                *context,
                *(drafted["tokens"][step] for step in path_of(drafted["parents"], node)),
            ]
        )
        for node in range(len(drafted["tokens"]))
    ]


def _random_case(number):
    generator = random.Random(number)
    vocab_size = generator.randint(2, 5)
    following = _toy_target(generator, vocab_size, memory=generator.randint(1, 4))
    n = generator.randint(0, 14)
    drafted = {
        "tokens": [generator.randrange(vocab_size) for _ in range(n)],
        "parents": [generator.randint(-1, node - 1) for node in range(n)],
    }
    context = [generator.randrange(vocab_size) for _ in range(generator.randint(1, 5))]
    return following, context, drafted


class TestGreedyVerification:
    def test_equals_plain_greedy_on_2000_random_targets_and_trees(self):
        accepted = []
        for number in range(2000):
            following, context, drafted = _random_case(number)
            verified = verify_tree_greedy(
                drafted, following(context), _next_of_nodes(following, context, drafted)
            )
            assert verified["emitted"] == _plain_greedy(
                following, context, len(verified["emitted"])
            )
            assert verified["accepted_tokens"] == verified["emitted"][:-1]
            accepted.append(verified["accepted_len"])
        assert max(accepted) >= 4 and accepted.count(0) > 100  # the cases are of every kind

    def test_a_node_that_sees_its_sibling_is_caught(self):
        """Negative control: scored with the nodes before it as its past, a tree gives another text."""

        def earlier_nodes(parents, node):
            return range(node + 1)

        wrong = 0
        for number in range(300):
            following, context, drafted = _random_case(number)
            node_next = _next_of_nodes(following, context, drafted, path_of=earlier_nodes)
            emitted = verify_tree_greedy(drafted, following(context), node_next)["emitted"]
            wrong += emitted != _plain_greedy(following, context, len(emitted))
        assert wrong > 10

    @given(random_trees(), st.integers(0, 3), st.data())
    def test_accepts_the_longest_path_that_agrees(self, drafted, root_next, data):
        """Held against a search over all nodes; with equal siblings the first of them may end sooner."""
        n = len(drafted["tokens"])
        node_next = [data.draw(st.integers(0, 3)) for _ in range(n)]
        path = accepted_path(drafted, root_next, node_next)
        assert path == (tree_path(drafted["parents"], path[-1]) if path else [])

        def agrees(node):
            parent = drafted["parents"][node]
            wanted = root_next if parent == -1 else node_next[parent]
            return drafted["tokens"][node] == wanted and (parent == -1 or agrees(parent))

        siblings = list(zip(drafted["parents"], drafted["tokens"], strict=True))
        longest = max(
            (tree_depths(drafted["parents"])[node] for node in range(n) if agrees(node)),
            default=0,
        )
        assert len(path) <= longest
        if len(set(siblings)) == n:
            assert len(path) == longest

    def test_an_empty_tree_gives_the_targets_own_token(self):
        assert verify_tree_greedy(build_candidate_tree([]), 3, [])["emitted"] == [3]

    @pytest.mark.parametrize(
        ("drafted", "node_next"),
        [
            ({"tokens": [1, 2], "parents": [-1, 0]}, [1]),
            ({"tokens": [1, 2], "parents": [-1]}, [1, 2]),
            ({"tokens": [1, 2], "parents": [-1, 1]}, [1, 2]),
        ],
    )
    def test_what_does_not_fit_is_an_error(self, drafted, node_next):
        with pytest.raises(ValueError):
            verify_tree_greedy(drafted, 0, node_next)

    def test_a_token_outside_the_map_is_an_error(self):
        with pytest.raises(ValueError, match="9"):
            greedy_next_ids_from_map(CHAIN, [0, 9])


def _model(seed, dtype=torch.float64):
    return GPTModel(5, 12, 3, 2, 24, generator=seeded(seed)).to(dtype)


def _random_proposals(seed, vocab_size=5):
    generator = random.Random(seed)

    def propose(features, followers, most_layers):
        assert len(features) == len(followers)
        n = generator.randint(0, 8)
        parents, depths = [], []
        for node in range(n):
            allowed = [
                -1,
                *(earlier for earlier in range(node) if depths[earlier] < most_layers),
            ]
            parents.append(generator.choice(allowed))
            depths.append(1 if parents[-1] == -1 else depths[parents[-1]] + 1)
        return {
            "tokens": [generator.randrange(vocab_size) for _ in range(n)],
            "parents": parents,
        }

    return propose


class TestTreeDecode:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @pytest.mark.parametrize("seed", range(60))
    def test_writes_what_greedy_decoding_writes(self, seed, dtype):
        model, prompt = _model(seed, dtype), [seed % 5, 1, 4][: 1 + seed % 3]
        n_new = 1 + seed % 20
        stop = [[], [0], [1, 3]][seed % 3]
        plain = generate(model, prompt, n_new, temperature=0, stop_tokens=stop)
        run = tree_decode(model, prompt, n_new, _random_proposals(seed), stop)
        assert (run.tokens, run.finish_reason) == tuple(plain)

    def test_the_trace_tells_each_round(self):
        model = _model(3)
        run = tree_decode(model, [1, 2], 14, _random_proposals(3))
        context = [1, 2, run.tokens[0]]
        for record in run.trace:
            assert record["context"] == context
            path = [record["tree"]["tokens"][node] for node in record["accepted_nodes"]]
            assert record["emitted"][:-1] == path
            # the context and the accepted path have been seen, the bonus hasn't
            assert record["cache_length"] == len(context) + len(path)
            context = context + record["emitted"]
        assert run.tokens_per_pass == (len(context) - 3) / len(run.trace)

    def test_the_targets_own_continuations_fill_every_layer(self):
        """With the whole continuation as a chain one round is enough, and its tokens are each counted once."""
        model = _model(1)
        plain = generate(model, [2], 9, temperature=0).tokens

        def foresee(features, followers, most_layers):
            return {
                "tokens": plain[1 : 1 + most_layers],
                "parents": list(range(-1, most_layers - 1)),
            }

        run = tree_decode(model, [2], 9, foresee)
        assert run.tokens == plain
        assert [len(record["emitted"]) for record in run.trace] == [8]
        assert run.tokens_per_pass == 8.0

    def test_one_token_needs_no_round(self):
        run = tree_decode(_model(0), [1], 1, _random_proposals(0))
        assert run.trace == [] and run.tokens_per_pass is None and len(run.tokens) == 1

    def test_a_cache_that_keeps_a_rejected_node_is_caught(self, monkeypatch):
        """Negative control: without the gather the text is no longer greedy's."""
        monkeypatch.setattr(KVCache, "gather", lambda cache, indices: None)
        differing = 0
        for seed in range(10):
            model = _model(seed)
            plain = generate(model, [1, 2], 12, temperature=0).tokens
            try:
                differing += (
                    tree_decode(model, [1, 2], 12, _random_proposals(seed)).tokens != plain
                )
            except ValueError:  # the window is full of what should have gone
                differing += 1
        assert differing > 0

    def test_a_tree_deeper_than_asked_for_is_an_error(self):
        def too_deep(features, followers, most_layers):
            return {
                "tokens": [0] * (most_layers + 1),
                "parents": list(range(-1, most_layers)),
            }

        with pytest.raises(ValueError, match="layers"):
            tree_decode(_model(0), [1], 4, too_deep)

    @pytest.mark.parametrize(("prompt", "n_new"), [([], 3), ([1], 0), ([1] * 20, 6)])
    def test_bad_requests_are_errors(self, prompt, n_new):
        with pytest.raises(ValueError):
            tree_decode(_model(0), prompt, n_new, _random_proposals(0))

    def test_the_mode_is_as_before(self):
        model = _model(0).train()
        tree_decode(model, [1], 4, _random_proposals(0))
        assert model.training


def test_one_round_equals_scoring_each_path_by_itself():
    model, context = _model(5).requires_grad_(False), [1, 4, 0, 2]
    drafted = build_candidate_tree([[1, 2], [3, 4], [0]])
    cache = KVCache()
    model(torch.tensor([context[:-1]]), cache)
    record, features = verify_below_root(model, context, drafted, cache)
    for node, following in enumerate(record["node_next"]):
        path = [drafted["tokens"][step] for step in tree_path(drafted["parents"], node)]
        assert following == int(model(torch.tensor([[*context, *path]]))[0, -1].argmax())
    kept = [*context, *record["emitted"][:-1]]
    alone = model.features(torch.tensor([kept]))[0, len(context) - 1 :]
    assert torch.allclose(features, alone, atol=1e-12)


def test_greedy_continuations_are_those_of_generate():
    model, texts = _model(2), torch.tensor([[1, 2, 3], [4, 0, 0]])
    rows = greedy_continuations(model, texts, 6).tolist()
    assert rows == [
        generate(model, text, 6, temperature=0).tokens for text in texts.tolist()
    ]


class TestAcceptance:
    def test_three_ways_to_count(self):
        truth = torch.zeros(4, 3, dtype=torch.long)
        drafts = torch.tensor([[0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]])
        counted = acceptance_of_chains(drafts, truth)
        assert counted["own"] == [0.75, 0.75, 0.75]
        assert counted["cumulative"] == [0.75, 0.5, 0.25]
        assert counted["given_shallower"] == pytest.approx([3 / 4, 2 / 3, 1 / 2])

    def test_a_depth_that_is_never_reached_has_no_rate(self):
        counted = acceptance_of_chains(torch.tensor([[1, 0]]), torch.tensor([[0, 0]]))
        assert counted["given_shallower"] == [0.0, None]

    def test_shapes_must_agree(self):
        with pytest.raises(ValueError, match="shape"):
            acceptance_of_chains(torch.zeros(2, 3), torch.zeros(2, 2))
