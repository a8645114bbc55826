"""What the chapter on Medusa says is what its cells and the record show."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from specdec.book.exercises_medusa import TYPICAL_LAW
from specdec.book.records import load_seeds, with_spread
from specdec.medusa import demo_contexts, demo_text, typical_threshold

ROOT = Path(__file__).parents[2]
SEEDS = load_seeds("medusa", folder=ROOT / "bench" / "records")


@pytest.fixture(scope="module")
def notebook():
    path = ROOT / "chapters" / "04-medusa.ipynb"
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


@pytest.fixture(scope="module")
def printed(notebook):
    """All that the cells print, tables included."""
    outputs = [output for cell in notebook for output in cell.get("outputs", [])]
    texts = [
        output.get("text") or output.get("data", {}).get("text/markdown", "")
        for output in outputs
    ]
    return "\n".join("".join(text) for text in texts)


def _row(printed, label, occurrence=0):
    """The numbers in a table's row."""
    rows = re.findall(rf"^\| {re.escape(label)} \|(.*)\|$", printed, re.MULTILINE)
    return [cell.strip() for cell in rows[occurrence].split("|")]


def _rates(seed):
    return {shape["shape"]: shape["tokens_per_pass"] for shape in seed["shapes"]}


class TestRecord:
    def test_six_seeds(self):
        assert len(SEEDS) == 6

    def test_the_fan_frays_on_every_seed(self):
        for seed in SEEDS:
            for key in ("own", "cumulative"):
                assert all(
                    deeper < shallower for shallower, deeper in pairwise(seed["data"][key])
                )

    def test_the_conditional_rate_does_not_always_fall(self):
        assert any(
            deeper > shallower
            for seed in SEEDS
            for shallower, deeper in pairwise(seed["data"]["given_shallower"])
        )

    def test_heads_trained_on_greedy_texts_fray_less_on_every_seed(self):
        def lost(rates):
            return rates["own"][0] - rates["own"][-1]

        for seed in SEEDS:
            assert lost(seed["greedy_texts"]) < lost(seed["data"])
            assert seed["greedy_texts"]["cumulative"][-1] > seed["data"]["cumulative"][-1]

    def test_the_likeliest_nodes_beat_chain_and_breadth_first_and_the_full_tree_beats_them(
        self,
    ):
        for rates in map(_rates, SEEDS):
            assert rates["likeliest 8"] > rates["chain of 4"]
            assert rates["likeliest 8"] > rates["first 8 breadth-first"]
            assert rates["full, 2 wide"] > rates["likeliest 8"]

    def test_the_shapes_have_the_sizes_that_are_told(self):
        places = {shape["shape"]: shape["places"] for shape in SEEDS[0]["shapes"]}
        assert [len(shape) for shape in places.values()] == [4, 8, 8, 30]
        assert max(len(place) for place in places["first 8 breadth-first"]) == 2


class TestChapter:
    def test_the_tables_are_those_of_the_record(self, printed):
        labels = {
            "own": "each by itself",
            "given_shallower": "given all shallower right",
            "cumulative": "all right up to here",
        }
        for key, label in labels.items():
            assert _row(printed, label) == [f"{rate:.2f}" for rate in SEEDS[0]["data"][key]]
            for occurrence, heads in enumerate(["data", "greedy_texts"], start=1):
                columns = zip(*(seed[heads][key] for seed in SEEDS), strict=True)
                assert _row(printed, label, occurrence) == [
                    with_spread(column) for column in columns
                ]
        for shape, rate in _rates(SEEDS[0]).items():
            over_seeds = with_spread([_rates(seed)[shape] for seed in SEEDS])
            assert _row(printed, shape)[1:] == [f"{rate:.2f}", over_seeds]

    def test_the_demo_is_as_told(self, printed):
        rates = [
            float(rate) for rate in re.findall(r"head \d, \d tokens ahead: (\S+)", printed)
        ]
        assert len(rates) == 3 and rates == sorted(rates, reverse=True)
        assert len(demo_text()) == 72 and len(demo_contexts()) == 67
        assert "18 tokens in 7 passes" in printed
        assert "accepted: [14, 3, 11]" in printed and "head 1 guesses: 7 14" in printed

    def test_six_of_the_eight_paths_are_in_no_text(self, printed):
        [line] = re.findall(r"^paths: +(.*)$", printed, re.MULTILINE)
        text = "-" + "-".join(map(str, demo_text().tolist())) + "-"
        paths = line.split()
        assert len(paths) == 8 and sum(f"-{path}-" in text for path in paths) == 2

    def test_verification_is_exact_and_its_control_is_not(self, printed):
        agreeing = re.findall(r"a node sees [a-z ]+: +(\d+) of 2000", printed)
        assert agreeing[0] == "2000" and 1 / 7.5 < 1 - int(agreeing[1]) / 2000 < 1 / 6.5
        assert printed.count("= greedy") == 3 and "≠" not in printed

    def test_the_fifth_head_is_not_worth_it(self, printed):
        assert _row(printed, "r = 0.7") == [
            "0.700",
            "0.343",
            "0.118",
            "0.028",
            "0.005",
            "2.19",
        ]

    def test_typical_acceptance_is_as_told(self, printed):
        distance = float(re.search(r"between p and q: (\S+)", printed)[1])
        drawn = {
            epsilon: float(_row(printed, epsilon)[2]) for epsilon in ("0.0", "0.09", "4.0")
        }
        assert drawn["0.0"] == distance < drawn["0.09"] and drawn["4.0"] == 0.0
        assert _row(printed, "0.09")[1] == "cat dog" and _row(printed, "4.0")[1] == "none"
        for epsilon in ("0.0", "0.01", "0.09", "0.25", "1.0"):
            assert float(_row(printed, epsilon)[3]) == 0.5  # 1 − p(cat)
            assert float(_row(printed, epsilon)[4]) > 0.5

    def test_the_likeliest_token_is_typical_as_long_as_delta_is_below_one(self):
        generator = torch.Generator().manual_seed(0)
        spreads = torch.rand(200, 1, generator=generator, dtype=torch.float64) * 20
        laws = torch.rand(200, 6, generator=generator, dtype=torch.float64)
        for law in [
            *torch.softmax(spreads * laws, dim=-1),
            torch.full((6,), 1 / 6).double(),
        ]:
            for epsilon in (0.01, 0.25, 0.99):
                assert law.max() > typical_threshold(law, epsilon, epsilon**0.5)
        uniform = torch.full((6,), 1 / 6).double()
        assert uniform.max() <= typical_threshold(uniform, 1.5, 1.5**0.5)

    def test_the_law_of_the_exercise_favours_the_second_token_and_fails_the_third(self):
        (target, draft, bar), law = TYPICAL_LAW.cases[0]
        gains = torch.tensor(law) - target
        assert bar == 0.25 and torch.equal(draft, target.flip(0))
        assert gains.argmax() == 1 and gains.argmin() == 2 and (gains > 0).sum() == 1

    def test_numbers_in_the_prose(self, notebook):
        prose = " ".join(
            "".join(cell["source"]) for cell in notebook if cell["cell_type"] == "markdown"
        )
        widths = {"make 14": [2] * 3, "make 120": [3] * 4, "make 11 110": [10] * 4}
        for phrase, levels in widths.items():
            nodes, level = 0, 1
            for width in levels:
                level *= width
                nodes += level
            assert phrase in prose and str(nodes) == phrase.removeprefix("make ").replace(
                " ", ""
            )
