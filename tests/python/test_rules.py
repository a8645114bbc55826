"""The wrong rules of the chapter on pitfalls have exactly the classic wrong laws, the right ones the target's."""

import pytest
import torch

from specdec.book.rules import WRONG_LAWS, accept_ties, verify_siblings
from specdec.enumeration import output_law
from specdec.randomness import accept
from specdec.speculative import speculative_verify

CLASSIC = {
    "residual": [0.35, 0.39, 0.26],
    "likeliest": [0.75, 0.25, 0.0],
    "cut": [0.5, 0.5, 0.0],
    "siblings": [0.1, 0.675, 0.225],
    "twice": [0.4, 0.36, 0.24],
}
SEED_OF_ZERO = 5_528_393  # the smallest whose first u is exactly 0


class Handed:
    """Chance that is handed its u."""

    def __init__(self, u):
        self.u = u

    def accept(self, prob):
        return self.u < prob, self.u


def test_every_wrong_law_has_a_known_value():
    assert WRONG_LAWS.keys() == CLASSIC.keys()


@pytest.mark.parametrize("name", CLASSIC)
def test_the_right_rule_has_the_targets_law_and_the_wrong_one_the_classic_wrong_law(name):
    case = WRONG_LAWS[name]
    right, wrong = case.laws()
    assert right == pytest.approx(case.p.tolist(), abs=1e-12)
    assert wrong == pytest.approx(CLASSIC[name], abs=1e-12)
    missed = sum(abs(got - p) for got, p in zip(wrong, case.p.tolist(), strict=True)) / 2
    assert case.distance() == pytest.approx(missed, abs=1e-12) and missed > 0.05


def test_a_duplicate_adds_nothing_and_taken_on_its_own_it_nearly_doubles():
    case = WRONG_LAWS["twice"]
    right, wrong = case.laws()
    assert right[1] == pytest.approx(0.2, abs=1e-12)
    assert wrong[1] == pytest.approx(1 - 0.8**2, abs=1e-12)


def test_one_sibling_is_the_ordinary_rule():
    p, q = WRONG_LAWS["residual"].p, WRONG_LAWS["residual"].q
    law = output_law(lambda walker: verify_siblings(p, [(2, q)], walker))
    block = output_law(
        lambda walker: speculative_verify(
            torch.stack([p, p]), q[None], torch.tensor([2]), walker
        )[0][0].item()
    )
    assert law == pytest.approx(block, abs=1e-12)


def test_ties_are_rejected_by_the_real_rule_and_accepted_by_the_wrong_one():
    """At p = 0 with u = 0; the law gives the difference no weight, so it needs a u that is handed in."""
    assert accept(0.0, Handed(0.0)) == (False, 0.0)
    assert accept_ties(0.0, Handed(0.0))
    for u in (0.0, 0.2, 0.5, 0.9):
        assert accept_ties(0.3, Handed(u)) == accept(0.3, Handed(u))[0]
    assert output_law(lambda walker: accept_ties(0.0, walker)) == {False: 1.0}


def test_there_is_a_seed_whose_first_u_is_zero():
    """The chapter shows the tie on a real generator."""

    def zero():
        return torch.Generator().manual_seed(SEED_OF_ZERO)

    assert accept(0.0, zero()) == (False, 0.0)
    assert accept_ties(0.0, zero())
