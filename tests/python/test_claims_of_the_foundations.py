"""What chapters 2 and 3 say in words is what the formulas and their cells give."""

import json
from pathlib import Path

import pytest
from conftest import probs

from specdec.book.rules import RULES, one_token_law
from specdec.distributions import acceptance_rate
from specdec.roofline import ACCELERATORS, SHAPES, free_positions
from specdec.speculative import expected_accepted_tokens, speculative_speedup

ROOT = Path(__file__).parents[2]


class TestRoofline:
    """The three things to try, at the widget's 2,000 tokens of context and its batches up to 512."""

    LLAMA = SHAPES[0]
    BATCHES = [2**power for power in range(10)]

    def test_one_text_never_makes_the_pass_longer(self):
        assert all(
            free_positions(machine, self.LLAMA, 1, 2000) > 17 for machine in ACCELERATORS
        )

    def test_two_of_the_four_stay_free_with_four_guesses(self):
        stay = {
            machine.name
            for machine in ACCELERATORS
            if all(
                free_positions(machine, self.LLAMA, batch, 2000) >= 5
                for batch in self.BATCHES
            )
        }
        by_ridge = sorted(ACCELERATORS, key=lambda machine: -machine.ridge)
        assert stay == {machine.name for machine in by_ridge[:2]}

    def test_longer_contexts_make_guesses_cheaper(self):
        h100 = next(machine for machine in ACCELERATORS if "H100" in machine.name)
        room = [
            free_positions(h100, self.LLAMA, 128, context)
            for context in (0, 500, 1000, 2000, 4000, 128_000)
        ]
        assert room == sorted(set(room))


def test_eight_positions_cost_three_to_five_times_as_much_on_the_recorded_processors():
    for path in (ROOT / "bench" / "records" / "pass_cost").glob("*.json"):
        record = json.loads(path.read_text())
        seconds = dict(
            zip(record["positions"], record["costs"][-1]["seconds"], strict=True)
        )
        assert 2.95 < seconds[8] / seconds[1] < 5
        assert seconds[16] / seconds[8] < 1.2


class TestDrawingFromTheTargetOnRejection:
    """Too little comes out exactly of the tokens with q/p below α."""

    @pytest.mark.parametrize(
        ("p", "q", "too_little"),
        [
            (probs(0.5, 0.3, 0.2), probs(0.2, 0.3, 0.5), [0]),
            # the laboratory's first pair: "cat" is drafted too shyly, and yet comes out too often
            (probs(0.20, 0.35, 0.30, 0.15), probs(0.50, 0.25, 0.10, 0.15), [2]),
        ],
    )
    def test_who_pays(self, p, q, too_little):
        law = one_token_law(RULES["residual_from_p"], p, q)
        short = [token for token, mass in enumerate(law) if mass < p[token].item() - 1e-9]
        alpha = acceptance_rate(p, q)
        assert short == too_little
        assert short == [token for token in range(len(p)) if q[token] / p[token] < alpha]


class TestAveragesOfAlpha:
    """Easy and hard rounds: no average makes the formula right."""

    EASY, HARD, GAMMA = 0.95, 0.35, 5

    def test_the_mean_over_rounds_understates_and_the_others_overstate(self):
        tokens = {
            alpha: expected_accepted_tokens(alpha, self.GAMMA)
            for alpha in (self.EASY, self.HARD)
        }
        emitted = sum(tokens.values())
        examined = sum(alpha**k for alpha in tokens for k in range(self.GAMMA))
        by_position = sum(alpha * count for alpha, count in tokens.items()) / emitted
        truly = emitted / 2
        assert expected_accepted_tokens((self.EASY + self.HARD) / 2, self.GAMMA) < truly
        assert expected_accepted_tokens(by_position, self.GAMMA) > truly
        assert expected_accepted_tokens((emitted - 2) / examined, self.GAMMA) > truly


def test_the_weak_draft_loses_from_seven_guesses_on_and_the_good_one_peaks_at_ten():
    weak = [speculative_speedup(0.4, gamma, 0.1) for gamma in range(17)]
    assert [gamma for gamma, gain in enumerate(weak) if gain < 1][0] == 7
    assert all(gain < 1 for gain in weak[7:])
    good = [speculative_speedup(0.9, gamma, 0.1) for gamma in range(17)]
    assert good.index(max(good)) == 10
