"""What chapters 5 and 6 say of the stochastic language, held against the record that they plot, and of their demos."""

import json
import re
from pathlib import Path

import pytest

from specdec.book.eagle_measures import (
    LOSSES,
    MAIN_HEAD,
    RECIPES,
    expected_calibration_error,
)
from specdec.book.records import load_seeds, mean_and_spread

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "bench" / "records"
SEEDS = load_seeds("eagle", folder=RECORDS)
MEDUSA = load_seeds("medusa", folder=RECORDS)
FEATURES, TOKENS = LOSSES
SHORT, LONG, FREE = RECIPES


def chain(seed, loss, recipe):
    [found] = [
        entry
        for entry in seed["chains"]
        if (entry["loss"], entry["recipe"]) == (loss, recipe)
    ]
    return found


def mean(values):
    return mean_and_spread(list(values))[0]


def given(loss, recipe, depth):
    """Mean acceptance at a depth, given all shallower."""
    return mean(
        chain(seed, loss, recipe)["acceptance"]["given_shallower"][depth - 1]
        for seed in SEEDS
    )


def tree(seed, name):
    [found] = [entry for entry in seed["trees"] if entry["tree"] == name]
    return found


def printed(chapter):
    """All that a chapter's cells print."""
    path = ROOT / "chapters" / f"{chapter}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return "\n".join("".join(output.get("text", "")) for output in outputs)


def test_there_are_several_languages():
    assert len(SEEDS) == len(MEDUSA) == 6


class TestChapterFive:
    def test_with_the_feature_loss_every_training_carries(self):
        for recipe in RECIPES:
            assert all(given(FEATURES, recipe, depth) > 0.7 for depth in range(1, 5))

    def test_free_running_helps_over_the_short_training(self):
        assert all(
            given(FEATURES, FREE, depth) > given(FEATURES, SHORT, depth)
            for depth in range(2, 5)
        )

    def test_the_same_time_of_teacher_forcing_helps_at_least_as_much(self):
        deepest = {
            recipe: mean(
                chain(seed, FEATURES, recipe)["acceptance"]["cumulative"][3]
                for seed in SEEDS
            )
            for recipe in RECIPES
        }
        assert deepest[LONG] >= deepest[FREE] > deepest[SHORT]
        for seed in SEEDS:
            seconds = [
                chain(seed, FEATURES, recipe)["training_seconds"] for recipe in (LONG, FREE)
            ]
            assert seconds[0] <= seconds[1]

    def test_without_it_the_second_link_drops_by_about_a_third(self):
        for recipe in (SHORT, LONG):
            drop = 1 - given(TOKENS, recipe, 2) / given(TOKENS, recipe, 1)
            assert 0.25 < drop < 0.45

    def test_more_of_the_same_does_not_help_and_free_running_does(self):
        assert given(TOKENS, LONG, 2) < given(TOKENS, SHORT, 2) + 0.03
        assert all(given(TOKENS, FREE, depth) > 0.8 for depth in range(1, 5))

    def test_the_chain_holds_longer_than_the_fan(self):
        for seed, medusa in zip(SEEDS, MEDUSA, strict=True):
            chained = chain(seed, *MAIN_HEAD)["acceptance"]["cumulative"]
            fan = medusa["data"]["cumulative"]
            assert all(a > b for a, b in zip(chained, fan, strict=False))
            assert all(deep < shallow for shallow, deep in zip(fan, fan[1:], strict=False))
            assert all(
                deep < shallow for shallow, deep in zip(chained, chained[1:], strict=False)
            )
            assert fan[3] < chained[3] / 2


class TestChapterSix:
    def test_two_to_one_against_the_breadth_first_tree(self):
        for measure in ("value_mass", "accepted_sampled", "accepted_greedy"):
            ratios = [
                tree(seed, "dynamic, depth ≤ 5")[measure]
                / tree(seed, "fixed, breadth-first")[measure]
                for seed in SEEDS
            ]
            assert 1.8 < mean(ratios) < 2.4
        assert all(
            tree(seed, "fixed, breadth-first")["accepted_greedy"] <= 2 for seed in SEEDS
        )

    def test_a_tenth_or_so_against_the_tuned_tree_of_five_levels(self):
        for measure in ("value_mass", "accepted_sampled", "accepted_greedy"):
            ratio = mean(
                tree(seed, "dynamic, depth ≤ 5")[measure]
                / tree(seed, "fixed, tuned, depth ≤ 5")[measure]
                for seed in SEEDS
            )
            assert 1.05 < ratio < 1.2

    def test_tuned_over_eight_levels_it_is_the_chain(self):
        for seed in SEEDS:
            tuned, chained = tree(seed, "fixed, tuned, depth ≤ 8"), tree(seed, "chain")
            assert tuned | {"tree": ""} == chained | {"tree": ""}

    def test_the_chain_does_as_well_or_better_if_the_target_is_greedy(self):
        gains = [
            tree(seed, "chain")["accepted_greedy"]
            - tree(seed, "dynamic, depth ≤ 8")["accepted_greedy"]
            for seed in SEEDS
        ]
        assert 0 <= mean(gains) < 0.5

    def test_the_tree_is_ahead_if_the_target_samples(self):
        gains = [
            tree(seed, "dynamic, depth ≤ 8")["accepted_sampled"]
            / tree(seed, "chain")["accepted_sampled"]
            for seed in SEEDS
        ]
        assert all(gain > 1 for gain in gains) and mean(gains) < 1.2

    def test_where_the_head_is_unsure_the_tree_gains_half_a_token_if_the_target_samples(
        self,
    ):
        thirds = list(zip(*(seed["certainty_thirds"] for seed in SEEDS), strict=True))
        gains = [
            [third["tree_sampled"] - third["chain_sampled"] for third in part]
            for part in thirds
        ]
        assert 0.35 < mean(gains[0]) < 0.65 and min(gains[0]) > 0.2
        assert min(map(mean, gains)) > 0

    def test_and_nothing_if_it_is_greedy(self):
        unsure = [seed["certainty_thirds"][0] for seed in SEEDS]
        assert mean(third["tree_greedy"] - third["chain_greedy"] for third in unsure) < 0.1

    def test_the_value_mass_predicts_what_is_accepted_if_the_target_samples(self):
        for seed in SEEDS:
            for entry in seed["trees"]:
                assert entry["accepted_sampled"] == pytest.approx(
                    entry["value_mass"], rel=0.08
                )

    def test_and_underestimates_it_by_about_a_token_if_it_is_greedy(self):
        for name in ("dynamic, depth ≤ 8", "chain"):
            gap = mean(
                tree(seed, name)["accepted_greedy"] - tree(seed, name)["value_mass"]
                for seed in SEEDS
            )
            assert 0.6 < gap < 1.6

    def test_calibration(self):
        """Honest if the target samples; if it is greedy, too modest above and too hopeful below."""
        for seed in SEEDS:
            bins = seed["calibration"]
            assert sum(entry["count"] for entry in bins) > 3000
            assert expected_calibration_error(bins, "sampled") < 0.02
            assert expected_calibration_error(bins, "greedy") > 0.02
        middle = [seed["calibration"][number] for seed in SEEDS for number in (5, 6)]
        assert mean(entry["greedy"] - entry["confidence"] for entry in middle) > 0.1
        low = [seed["calibration"][1] for seed in SEEDS]
        assert mean(entry["greedy"] - entry["confidence"] for entry in low) < -0.02

    def test_the_curves_of_the_budget(self):
        for seed in SEEDS:
            curves = seed["budget"]
            assert len(curves["dynamic_value"]) == 39
            assert curves["dynamic_value"][-1] == pytest.approx(curves["fixed_value"][-1])
            assert curves["dynamic_accepted"][-1] == pytest.approx(
                curves["dynamic_value"][-1], rel=0.08
            )

    def test_a_second_node_a_layer_pays_almost_everywhere_and_more_hardly_anywhere(self):
        pattern = r"expand_k = (\d): value mass \S+, more in (\d+) places, less in (\d+)"
        found = {
            int(k): (int(more), int(less))
            for k, more, less in re.findall(pattern, printed("06-eagle-2"))
        }
        assert found[2][0] > 30 and found[3][0] < 4 and found[6][0] == 0  # of 40 places
        assert all(less == 0 for _, less in found.values())

    def test_in_the_noise_more_is_accepted_than_the_head_expects(self):
        expected, emitted = re.search(
            r"in the noise: value mass (\S+),.*?emitted \[(.*?)\]",
            printed("06-eagle-2"),
            re.DOTALL,
        ).groups()
        assert expected == "1.8135" and len(emitted.split(",")) == 1 + 5

    def test_the_dynamic_tree_is_ahead_of_the_chain_and_far_ahead_of_the_fixed_tree(self):
        rates = dict(
            re.findall(r"^(.+):\s+(\S+) tokens a pass", printed("06-eagle-2"), re.M)
        )
        tree_rate, chain_rate, fixed_rate = (
            float(rates[name])
            for name in ("dynamic tree", "chain", "fixed tree, breadth-first")
        )
        assert 1 < tree_rate / chain_rate < 1.1 and tree_rate / fixed_rate > 1.4
