"""Lookahead emits greedy's tokens, whatever the oracle, and never takes more passes."""

import itertools
import json
import re
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from conftest import context_step, seeded
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec import lookahead
from specdec.book.exercises_lookahead import CERTAIN, CONSTANT, CONTINUATION, FIRST_WIN
from specdec.enumeration import autoregressive_law, law_distance, output_law
from specdec.lookahead import (
    NgramPool,
    accepted_prefix_length,
    demonstrate_lookahead,
    greedy_decode,
    jacobi_decode,
    jacobi_step,
    look_up_in_text,
    lookahead_decode,
    model_oracle,
    overfit_cycle,
    pass_grid,
    prompt_lookup_decode,
    window_lookahead_decode,
    window_tree,
)
from specdec.randomness import categorical
from specdec.speculative import speculative_verify
from specdec.transformer import GPTModel
from specdec.tree import tree_attention_mask, tree_depths

CYCLE = {3: 1, 1: 2, 2: 3}


def cycle_oracle(tokens):
    return CYCLE[tokens[-1]]


@st.composite
def oracles(draw):
    """A random function of the last ``memory`` tokens and, if it is so inclined, of the position."""
    vocab_size, memory = draw(st.integers(1, 6)), draw(st.integers(0, 3))
    salt, positional = draw(st.integers(0, 10**6)), draw(st.booleans())

    def oracle(tokens):
        seen = (salt, *tokens[len(tokens) - memory :], len(tokens) if positional else 0)
        return hash(seen) % vocab_size

    return oracle


decodings = given(
    oracle=oracles(),
    prompt=st.lists(st.integers(0, 5), min_size=1, max_size=6),
    n=st.integers(1, 25),
    block_size=st.integers(1, 8),
    ngram_n=st.integers(1, 6),
)


def _decoded(oracle, prompt, n, block_size, ngram_n):
    return {
        "jacobi": jacobi_decode(oracle, prompt, n, block_size),
        "lookahead": lookahead_decode(oracle, prompt, n, block_size, ngram_n),
        "prompt lookup": prompt_lookup_decode(
            oracle, prompt, n, block_size, key_size=ngram_n
        ),
    }


@settings(max_examples=2000, deadline=None)
@decodings
def test_equal_to_greedy_in_no_more_passes(oracle, prompt, n, block_size, ngram_n):
    greedy, greedy_passes = greedy_decode(oracle, prompt, n)
    assert greedy_passes == len(greedy) == n
    for tokens, passes, trace in _decoded(oracle, prompt, n, block_size, ngram_n).values():
        assert tokens == greedy
        assert passes == len(trace) <= n
        if block_size == 1:
            assert passes == n


@settings(max_examples=300, deadline=None)
@decodings
def test_trace_tells_what_happened(oracle, prompt, n, block_size, ngram_n):
    for name, (tokens, _, trace) in _decoded(
        oracle, prompt, n, block_size, ngram_n
    ).items():
        text = list(prompt)
        left_over = None
        for record in trace:
            assert record["n_verified"] == len(text)
            assert 1 <= record["n_accepted"] <= len(record["guess"]) <= block_size
            assert record["refined"] == [
                oracle(text + record["guess"][:k]) for k in range(len(record["guess"]))
            ]
            assert record["n_accepted"] == accepted_prefix_length(
                record["guess"], record["refined"]
            )
            assert record["emitted"] + record["carried"] == record["refined"]
            assert len(record["emitted"]) == record["n_accepted"]
            assert record["positions"] == len(record["guess"])
            if record["source"] == "first guess":
                assert left_over is None and set(record["guess"]) == {text[-1]}
            if record["source"] == "carried":
                expected = (left_over or text[-1:])[:1]
                assert record["guess"][:1] == expected
            if name == "lookahead":
                assert (record["source"] == "pool") == (record["hit"] is not None)
                assert record["hit"] == _continuation_by_hand(text, ngram_n)
            text, left_over = text + record["emitted"], record["carried"]
        assert text == list(prompt) + tokens


def _continuation_by_hand(text, n):
    """The n tokens after the latest earlier place of the last token that has n after it."""
    places = [i for i in range(len(text) - n) if text[i] == text[-1]]
    return text[places[-1] + 1 : places[-1] + 1 + n] if places else None


@settings(max_examples=200, deadline=None)
@given(text=st.lists(st.integers(0, 3), max_size=20), n=st.integers(1, 4), data=st.data())
def test_pool_is_the_same_however_the_text_comes_in(text, n, data):
    pool, added, done = NgramPool(n), [], 0
    while done < len(text):
        done += data.draw(st.integers(1, len(text) - done))
        added += pool.extend(text[:done])
    assert [entry["position"] for entry in added] == list(range(max(0, len(text) - n)))
    for entry in added:
        assert text[entry["position"]] == entry["key"]
        assert text[entry["position"] + 1 :][:n] == entry["continuation"]
    for key in range(4):
        known = [entry["continuation"] for entry in added if entry["key"] == key]
        assert pool.look_up(key) == (known[-1] if known else None)


class TestContract:
    def test_constant_stream(self):
        assert greedy_decode(lambda _: 7, [0], 20) == ([7] * 20, 20)
        tokens, passes, trace = jacobi_decode(lambda _: 7, [0], 20, block_size=5)
        assert (tokens, passes) == ([7] * 20, 5)
        assert [record["n_accepted"] for record in trace] == [1, 5, 5, 5, 4]
        assert trace[0]["guess"] == [0] * 5

    def test_three_cycle(self):
        passes = {"jacobi": [], "lookahead": []}
        for block_size in range(1, 6):
            passes["jacobi"].append(jacobi_decode(cycle_oracle, [3], 30, block_size)[1])
            passes["lookahead"].append(
                lookahead_decode(cycle_oracle, [3], 30, block_size, ngram_n=3)[1]
            )
        assert passes == {"jacobi": [30] * 5, "lookahead": [30, 17, 12, 10, 10]}

    def test_grid(self):
        grid = pass_grid(cycle_oracle, [3], 30, range(1, 6), [2, 3])
        assert (grid["n_new"], grid["block_sizes"], grid["ngram_sizes"]) == (
            30,
            [1, 2, 3, 4, 5],
            [2, 3],
        )
        assert (grid["greedy"], grid["jacobi"]) == (30, [30] * 5)
        assert [row[1] for row in grid["lookahead"]] == [30, 17, 12, 10, 10]

    def test_accepted_prefix_length(self):
        assert accepted_prefix_length([1, 2, 3], [9, 9, 9]) == 1
        assert accepted_prefix_length([1, 2, 3], [1, 9, 3]) == 2
        assert accepted_prefix_length([1, 2, 3], [1, 2, 9]) == 3
        assert accepted_prefix_length([1, 2, 3], [1, 2, 3]) == 3

    def test_jacobi_step_conditions_each_place_on_the_guesses_before_it(self):
        seen = []
        assert jacobi_step(lambda t: seen.append(list(t)) or len(t), [4, 5], [6, 7, 8]) == [
            2,
            3,
            4,
        ]
        assert seen == [[4, 5], [4, 5, 6], [4, 5, 6, 7]]

    def test_demonstration(self, periodic, capsys):
        demo = demonstrate_lookahead(
            model_oracle(periodic), [5, 8], n_new=24, block_size=5, ngram_n=4
        )
        assert [demo[name]["passes"] for name in ("greedy", "jacobi", "lookahead")] == [
            24,
            24,
            8,
        ]
        assert demo["n_new"] == 24
        assert demo["greedy"]["tokens"] == demo["jacobi"]["tokens"] == [2, 8, 5, 8] * 6
        assert capsys.readouterr().out.splitlines() == [
            "outputs identical: True",
            "    greedy: 24 passes   1.00 tokens/pass",
            "    jacobi: 24 passes   1.00 tokens/pass",
            " lookahead:  8 passes   3.00 tokens/pass",
        ]
        assert demo["greedy"]["positions_per_token"] == 1
        assert (
            demo["jacobi"]["positions_per_token"]
            > demo["lookahead"]["positions_per_token"]
            > 1
        )


@pytest.fixture(scope="module")
def periodic():
    return overfit_cycle([5, 8, 2, 8], seeded(0))


NON_REPEATING = torch.randperm(40, generator=torch.Generator().manual_seed(1)).tolist()


@pytest.fixture(scope="module")
def non_repeating():
    return overfit_cycle(NON_REPEATING, seeded(0))


@contextmanager
def smallest_margin(model):
    """Collect the smallest gap between the two largest logits over all that the model computes."""
    margins = []

    def collect(module, inputs, logits):
        best, second = logits.topk(2, dim=-1).values.unbind(dim=-1)
        margins.append((best - second).min().item())

    hook = model.lm_head.register_forward_hook(collect)
    yield margins
    hook.remove()


WINDOWS = [(3, 1), (5, 1), (5, 2), (5, 3), (8, 2), (8, 3), (12, 3)]


class Repeat:
    """Answers every draw with one and the same token."""

    def __init__(self, token):
        self.token = token

    def categorical(self, probs, count):
        return torch.full((count,), self.token)


STARTS = [
    *(lambda prompt, seed=seed: seeded(seed) for seed in range(10)),
    lambda prompt: Repeat(prompt[-1]),
]


def test_demos_do_not_hang_on_a_near_tie(periodic, non_repeating):
    """Else a figure could be another one on another machine."""
    for model, prompt in [(periodic, [5, 8]), (non_repeating, NON_REPEATING[:2])]:
        with smallest_margin(model) as margins:
            oracle = model_oracle(model)
            for decode in (jacobi_decode, lookahead_decode):
                decode(oracle, prompt, 24, 5)
            for window, ngram_n in WINDOWS:
                for start in STARTS:
                    window_lookahead_decode(
                        model, prompt, 24, window, ngram_n, 5, start(prompt)
                    )
        assert min(margins) > 1e-6


def test_text_that_does_not_repeat_gives_the_pool_nothing(non_repeating):
    oracle, prompt = model_oracle(non_repeating), NON_REPEATING[:2]
    greedy, _ = greedy_decode(oracle, prompt, 24)
    assert greedy == NON_REPEATING[2:26]
    for tokens, passes, trace in _decoded(oracle, prompt, 24, 5, 4).values():
        assert (tokens, passes) == (greedy, 24)
        assert not {"pool", "text"} & {record["source"] for record in trace}
    tokens, passes, _ = window_lookahead_decode(
        non_repeating, prompt, 24, 5, 2, 5, seeded(0)
    )
    assert tokens == greedy and passes < 20, (
        "the window finds n-grams that the text hasn't had"
    )


def test_a_pool_hit_may_replace_a_better_guess():
    """Lookahead isn't always the faster of the two: what was carried can be right and the pool wrong."""
    found = None
    for salt in range(3000):

        def oracle(tokens, salt=salt):
            return hash((salt, *tokens[-2:])) % 3

        if (
            jacobi_decode(oracle, [0], 20, 4)[1]
            < lookahead_decode(oracle, [0], 20, 4, 3)[1]
        ):
            found = salt
            break
    assert found is not None


def test_what_the_window_finds_is_what_its_start_lets_it_wander_to(non_repeating):
    prompt = NON_REPEATING[:2]

    def passes(window, ngram_n, start):
        return window_lookahead_decode(
            non_repeating, prompt, 24, window, ngram_n, 5, start(prompt)
        )[1]

    means = {
        setting: sum(passes(*setting, start) for start in STARTS[:10]) / 10
        for setting in WINDOWS
    }
    assert means[5, 2] == pytest.approx(16.3) and 24 > means[3, 1] > means[5, 1]
    assert means[12, 3] < means[8, 3] < means[3, 1], "a wider window finds more"
    assert {passes(*setting, STARTS[10]) for setting in WINDOWS} == {24}


def _model(seed, layers=2):
    return (
        GPTModel(9, 12, 3, layers, 48, generator=seeded(seed))
        .double()
        .requires_grad_(False)
    )


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 99),
    verified=st.lists(st.integers(0, 8), min_size=1, max_size=10),
    guess=st.lists(st.integers(0, 8), min_size=1, max_size=8),
)
def test_one_pass_refines_as_asking_position_by_position(seed, verified, guess):
    model = _model(seed)
    oracle = model_oracle(model)
    passes = []
    hook = model.register_forward_hook(lambda *_: passes.append(1))
    in_one_pass = jacobi_step(oracle, verified, guess)
    assert len(passes) == 1
    one_by_one = jacobi_step(lambda tokens: oracle(tokens), verified, guess)
    assert len(passes) == 1 + len(guess)
    hook.remove()
    assert in_one_pass == one_by_one


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 99),
    prompt=st.lists(st.integers(0, 8), min_size=1, max_size=6),
    n=st.integers(1, 25),
    window=st.integers(1, 6),
    ngram_n=st.integers(1, 4),
    max_candidates=st.integers(1, 4),
)
def test_window_is_equal_to_greedy_and_one_pass_a_record(
    seed, prompt, n, window, ngram_n, max_candidates
):
    model = _model(seed, layers=1)
    passes = []
    hook = model.register_forward_hook(
        lambda module, inputs, _: passes.append(inputs[0].shape[1])
    )
    tokens, n_passes, trace = window_lookahead_decode(
        model, prompt, n, window, ngram_n, max_candidates, seeded(seed)
    )
    hook.remove()
    greedy, _ = greedy_decode(model_oracle(model), prompt, n)
    assert tokens == greedy
    assert len(passes) == n_passes == len(trace) <= n
    assert passes[0] == trace[0]["positions"] + len(prompt) - 1
    assert passes[1:] == [record["positions"] for record in trace[1:]]
    for record in trace:
        assert len(record["rows"]) == ngram_n and len(record["newest"]) == window
        assert [len(row) for row in record["rows"]] == [window - 1] + [window] * (
            ngram_n - 1
        )
        assert record["positions"] == (
            ngram_n * window + ngram_n * len(record["candidates"])
        )
        assert len(record["candidates"]) <= max_candidates


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 99), window=st.integers(2, 5), ngram_n=st.integers(1, 4))
def test_windows_new_generation_is_what_its_chain_lets_follow(seed, window, ngram_n):
    """Place i's newest token is greedy after: text, oldest generation up to i, then i's younger ones."""
    model, prompt = _model(seed, layers=1), [seed % 9, 3]
    oracle = model_oracle(model)
    tokens, _, trace = window_lookahead_decode(
        model, prompt, 8, window, ngram_n, 3, seeded(seed)
    )
    text = prompt + tokens
    for record in trace:
        verified = text[: record["n_verified"]]
        oldest, *younger = record["rows"]
        for place in range(window):
            chain = oldest[:place] + [row[place] for row in younger]
            assert record["newest"][place] == oracle(verified + chain)


def test_window_tree_lays_the_two_branches_side_by_side():
    tree = window_tree([7, 8], [[1, 2], [3, 4, 5]], [[6, 6], [0]])
    assert tree.tokens == [7, 8, 1, 2, 3, 4, 5, 6, 6, 0]
    assert tree.parents == [-1, 0, 1, 2, 1, 2, 3, 1, 7, 1]
    assert (tree.root, tree.tips, tree.candidates) == (1, [4, 5, 6], [[7, 8], [9]])
    assert tree_depths(tree.parents) == [1, 2, 3, 4, 3, 4, 5, 3, 4, 3]
    mask = tree_attention_mask(tree.parents)
    window, candidates = range(2, 7), range(7, 10)
    for ours, theirs in itertools.chain(
        itertools.product(window, candidates), itertools.product(candidates, window)
    ):
        assert not mask[ours, theirs], "the branches must not see each other"


def test_the_same_window_whatever_it_starts_from(periodic):
    runs = [
        window_lookahead_decode(periodic, [5, 8], 24, generator=seeded(s)) for s in range(4)
    ]
    assert len({tuple(tokens) for tokens, _, _ in runs}) == 1
    assert len({passes for _, passes, _ in runs}) > 1, "the start has a say in the passes"


@pytest.mark.parametrize(
    ("text", "key_size", "expected"),
    [
        ([1, 2, 3, 1, 2], 2, [3, 1, 2]),
        ([1, 2, 9, 3, 2, 4, 1, 2], 2, [9, 3, 2]),  # the longer end wins over the later one
        ([1, 2, 9, 3, 2, 4, 1, 2], 1, [4, 1, 2]),
        ([5, 5, 5], 2, [5]),
        ([1, 2, 3], 2, []),
        ([1], 2, []),
    ],
)
def test_look_up_in_text(text, key_size, expected):
    assert look_up_in_text(text, key_size, 3) == expected


def _sampled_law(step, prompt, n, length, verify):
    """The law of n tokens that the accept rule lets through, the guesses being looked up in the text."""

    def emit(walker):
        text = list(prompt)
        while len(text) < len(prompt) + n:
            guess = look_up_in_text(text, 1, length)
            rows = [step(torch.tensor(text + guess[:k])) for k in range(len(guess) + 1)]
            one_hot = torch.eye(len(rows[0])).double()[guess]
            drafted = torch.tensor(guess, dtype=torch.long)
            text += verify(torch.stack(rows), one_hot, drafted, walker)[0].tolist()
        return text[len(prompt) :][:n]

    return output_law(emit)


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_guess_that_was_looked_up_is_a_one_hot_draft(seed, length):
    step, prompt = context_step(3, seeded(seed)), [0, 2, 1, 0]
    exact = autoregressive_law(step, prompt, 3)
    law = _sampled_law(step, prompt, 3, length, speculative_verify)
    assert law_distance(law, exact) < 1e-9

    def keep_all(target_probs, draft_probs, drafted, walker):
        return drafted if len(drafted) else categorical(target_probs[0], walker), len(
            drafted
        )

    assert law_distance(_sampled_law(step, prompt, 3, length, keep_all), exact) > 1e-2


class TestNegativeControls:
    """Each property above can fail: the real code with one thing broken is caught."""

    def _differs_from_greedy(self):
        return any(
            lookahead_decode(oracle, [0], 15, 4, 2)[0] != greedy_decode(oracle, [0], 15)[0]
            for oracle in (
                lambda tokens, salt=salt: hash((salt, *tokens[-2:])) % 3
                for salt in range(50)
            )
        )

    def test_right_as_it_is(self):
        assert not self._differs_from_greedy()

    def test_one_token_too_many_accepted(self, monkeypatch):
        monkeypatch.setattr(
            lookahead,
            "accepted_prefix_length",
            lambda guess, refined: min(
                len(guess), 1 + accepted_prefix_length(guess, refined)
            ),
        )
        assert self._differs_from_greedy()

    def test_guesses_kept_instead_of_the_models_answers(self, monkeypatch):
        monkeypatch.setattr(lookahead, "jacobi_step", lambda oracle, verified, guess: guess)
        assert self._differs_from_greedy()

    def test_block_refined_without_its_guesses(self, monkeypatch):
        monkeypatch.setattr(
            lookahead,
            "jacobi_step",
            lambda oracle, verified, guess: [oracle(verified)] * len(guess),
        )
        assert self._differs_from_greedy()

    @pytest.mark.parametrize("broken", ["mask", "positions", "cache"])
    def test_window_pass(self, broken, monkeypatch):
        real = lookahead.tree_pass_inputs

        def inputs(parents, past):
            mask, positions = real(parents, past)
            if broken == "mask":  # a token sees all before it, the other branch too
                mask = torch.ones_like(mask).tril(diagonal=past)
            if broken == "positions":  # by index, not by depth
                positions = torch.arange(past, past + len(parents))
            return mask, positions

        monkeypatch.setattr(lookahead, "tree_pass_inputs", inputs)
        if broken == "cache":
            monkeypatch.setattr(
                lookahead.KVCache, "gather", lambda self, kept: self.truncate(len(kept))
            )
        assert any(
            window_lookahead_decode(_model(seed), [1, 2], 25, 3, 2, 2, seeded(seed))[0]
            != greedy_decode(model_oracle(_model(seed)), [1, 2], 25)[0]
            for seed in range(8)
        )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: greedy_decode(cycle_oracle, [], 3),
            "prompt must be a 1-D sequence of at least",
        ),
        (
            lambda: greedy_decode(cycle_oracle, [3], 0),
            "n must be an integer of at least 1, got 0",
        ),
        (lambda: jacobi_decode(cycle_oracle, [], 3), "prompt must be"),
        (lambda: jacobi_decode(cycle_oracle, [3], 0), "n must be an integer"),
        (
            lambda: jacobi_decode(cycle_oracle, [3], 3, 0),
            "block_size must be an integer of at",
        ),
        (
            lambda: lookahead_decode(cycle_oracle, [3], 3, 0),
            "block_size must be an integer of",
        ),
        (
            lambda: lookahead_decode(cycle_oracle, [3], 3, 2, 0),
            "ngram_n must be an integer of",
        ),
        (
            lambda: prompt_lookup_decode(cycle_oracle, [3], 3, 0),
            "block_size must be an integer",
        ),
        (
            lambda: prompt_lookup_decode(cycle_oracle, [3], 3, 2, 0),
            "key_size must be an integer",
        ),
        (
            lambda: accepted_prefix_length([], []),
            "one length of at least 1, got 0 and 0 tokens",
        ),
        (lambda: accepted_prefix_length([1], [1, 2]), "got 1 and 2 tokens"),
        (lambda: window_lookahead_decode(_model(0), [1], 3, window=0), "window must be an"),
        (
            lambda: window_lookahead_decode(_model(0), [1], 3, ngram_n=0),
            "ngram_n must be an",
        ),
        (
            lambda: window_lookahead_decode(_model(0), [1], 3, max_candidates=0),
            "max_candidates must be an integer of at least 1, got 0",
        ),
        (
            lambda: window_lookahead_decode(_model(0), [1] * 20, 26),
            "46 tokens and 6 places ahead of it need 51 positions, the model has 48",
        ),
    ],
)
def test_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()


CHAPTER = Path(__file__).parents[2] / "chapters" / "07-lookahead.ipynb"


def _chapter_payload(name):
    for cell in json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            html = "".join(output.get("data", {}).get("text/html", ""))
            match = re.fullmatch(r'<script type="ojs-define">(.*)</script>', html)
            for entry in json.loads(match[1])["contents"] if match else []:
                if entry["name"] == name:
                    return entry["value"]["streams"]
    raise AssertionError(f"the chapter hands no {name} to its page")


class TestChapterSaysWhatItShows:
    """What the prose claims of the streams, held against the data that the chapter hands to its page."""

    def test_jacobi_grid(self):
        runs = _chapter_payload("jacobi")
        names = list(dict.fromkeys(run["name"] for run in runs))
        assert [(run["name"], run["block_size"]) for run in runs] == [
            (name, block_size) for name in names for block_size in (1, 2, 5)
        ]
        accepted = {
            (run["name"], run["block_size"]): [r["n_accepted"] for r in run["passes"]]
            for run in runs
        }
        constant, counters, circle = names
        assert accepted[constant, 5] == [1, 5, 5, 1]
        assert accepted[counters, 5] == [1, 2, 2, 2, 2, 2, 1]
        assert accepted[counters, 2] == [1, 2] * 4, "one pass more than blocks of five"
        for block_size in (1, 2, 5):
            assert accepted[circle, block_size] == [1] * 12
        for name in names:
            assert accepted[name, 1] == [1] * 12, "a block of one is plain decoding"
        # right tokens wait, carried along and not yet certain; never in the circle
        wide = [run for run in runs if run["block_size"] == 5]
        assert [self._right_ones_wait(run) for run in wide] == [True, True, False]

    def _right_ones_wait(self, stream):
        text = stream["prompt"] + stream["tokens"]
        return any(
            record["carried"][:1] == text[len_now : len_now + 1] != []
            for record in stream["passes"]
            for len_now in [record["n_verified"] + record["n_accepted"]]
        )

    def test_pass_counter(self):
        grids = {grid["name"]: grid for grid in _chapter_payload("pass_counter")}
        assert len(grids) == 5
        for grid in grids.values():
            assert grid["jacobi"][0] == grid["greedy"] == grid["n_new"]
            assert set(grid["lookahead"][0]) == {grid["n_new"]}, "a block of one is greedy"
            assert max(map(max, grid["lookahead"])) <= grid["n_new"] >= max(grid["jacobi"])
        circle = grids["three tokens in a circle"]
        assert [row[2] for row in circle["lookahead"]][:5] == [30, 17, 12, 10, 10]
        assert len({row[2] for row in circle["lookahead"][3:]}) == 1, (
            "the gain stops at N + 1"
        )
        counters = grids["two counters that take turns"]
        assert all(
            passes > alone
            for row, alone in zip(
                counters["lookahead"][1:], counters["jacobi"][1:], strict=True
            )
            for passes in row
        ), "there the pool loses to Jacobi at every setting"
        periodic = grids["a GPT that knows 5 8 2 8"]
        assert set(periodic["jacobi"]) == {24} and periodic["lookahead"][4][3] == 8
        fresh = grids["a GPT on text that doesn't repeat"]
        assert set(fresh["jacobi"]) == {24} == set(sum(fresh["lookahead"], []))

    def test_longer_memory_fills_later(self):
        grids = {grid["name"]: grid for grid in _chapter_payload("pass_counter")}
        of_three, _, of_five = grids["three tokens in a circle"]["lookahead"][4][2:]
        assert of_three < of_five
        at_five = grids["a GPT that knows 5 8 2 8"]["lookahead"][4]
        assert at_five[1] > at_five[3], "two tokens of memory take the wrong 8"

    def test_pool(self):
        circle, periodic, counters, fresh = _chapter_payload("ngram_pool")
        assert [r["source"] for r in circle["passes"]][:4] == [
            "first guess",
            *["carried"] * 2,
            "pool",
        ]
        assert {r["source"] for r in circle["passes"][3:]} == {"pool"}
        assert not any(r["hit"] for r in fresh["passes"])
        found = [r for r in periodic["passes"] if r["key"] == 8 and r["hit"]]
        assert {r["hit"][0] for r in found} == {2, 5}
        assert all(r["n_accepted"] == len(r["guess"]) for r in found)
        misled = 0
        for former, latter in itertools.pairwise(counters["passes"]):
            if latter["hit"]:
                assert former["carried"][:1] in ([], latter["refined"][:1])
                assert latter["hit"][0] != latter["refined"][0]
                misled += 1
        assert misled > 5


@pytest.mark.parametrize(
    ("exercise", "wrong"),
    [
        (CERTAIN, lambda guess, refined: sum(map(int.__eq__, guess, refined))),
        (CONSTANT, lambda n, block_size: -(-n // block_size)),
        (CONTINUATION, lambda text, n: text[:n]),
        (FIRST_WIN, lambda circle: 1),
    ],
)
def test_exercises_refuse_the_obvious_mistake(exercise, wrong):
    """That the solutions pass is in the chapter's outputs."""
    assert not exercise.passes(wrong) and not exercise.passes(lambda *_: None)
