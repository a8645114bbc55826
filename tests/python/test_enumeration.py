"""The walker itself: it visits every branch once, with the right weight, and notices a decoder it can't follow."""

import pytest
import torch
from conftest import context_step, probs, seeded

from specdec.enumeration import autoregressive_law, law_distance, output_law
from specdec.generation import autoregressive_decode
from specdec.randomness import accept, categorical


def test_walks_every_branch_of_mixed_draws():
    law = output_law(
        lambda walker: (
            accept(0.25, walker)[0],
            *categorical(probs(0.5, 0, 0.5), walker, 2).tolist(),
        )
    )
    assert len(law) == 2 * 2 * 2, "tokens of probability 0 are not visited"
    assert law[(True, 0, 2)] == pytest.approx(0.25 * 0.25, abs=1e-15)
    assert sum(law.values()) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("prob", [0.0, 1.0])
def test_certain_verdicts_do_not_fork(prob):
    assert output_law(lambda walker: accept(prob, walker)[0]) == {prob == 1.0: 1.0}


def test_u_agrees_with_the_verdict():
    for accepted, u in output_law(lambda walker: accept(0.3, walker)):
        assert 0 <= u < 1 and accepted == (u < 0.3)


def test_branches_may_differ_in_length():
    def geometric(walker):
        return next((count for count in range(5) if accept(0.5, walker)[0]), 5)

    assert output_law(geometric) == pytest.approx(
        {0: 1 / 2, 1: 1 / 4, 2: 1 / 8, 3: 1 / 16, 4: 1 / 32, 5: 1 / 32}
    )


def test_plain_sampling_has_the_product_law():
    step = context_step(3, seeded(0), missing_support=True)
    walked = output_law(lambda walker: autoregressive_decode([1], step, 3, walker))
    assert law_distance(walked, autoregressive_law(step, [1], 3)) < 1e-12


def test_outputs_that_cannot_be_keys_become_tuples():
    assert output_law(lambda walker: categorical(probs(1.0), walker)) == {(0,): 1.0}
    assert output_law(lambda walker: [1, 2]) == {(1, 2): 1.0}


def test_what_a_decoder_does_to_its_draw_leaves_the_other_branches_alone():
    def overwrite(walker):
        token = categorical(probs(0.5, 0.5), walker)
        before = token.item()
        token.fill_(7)
        return before, accept(0.5, walker)[0]

    assert output_law(overwrite) == dict.fromkeys(
        [(0, True), (0, False), (1, True), (1, False)], 0.25
    )


def test_distance_of_laws():
    assert law_distance({"a": 0.5, "b": 0.5}, {"a": 0.5, "c": 0.5}) == 0.5
    assert law_distance({"a": 1.0}, {"a": 1.0}) == 0.0


def test_too_many_leaves():
    with pytest.raises(ValueError, match="more than max_leaves = 7 branches"):
        output_law(lambda walker: categorical(probs(0.5, 0.5), walker, 3), max_leaves=7)
    assert (
        len(
            output_law(lambda walker: categorical(probs(0.5, 0.5), walker, 3), max_leaves=8)
        )
        == 8
    )


def test_a_decoder_with_a_memory_of_its_own_is_noticed():
    runs = []

    def forgetful(walker):
        runs.append(None)
        return [accept(0.5, walker)[0] for _ in range(2 if len(runs) == 1 else 1)]

    with pytest.raises(RuntimeError, match="depend on its draws alone"):
        output_law(forgetful)


def test_draws_are_checked():
    with pytest.raises(ValueError, match="must sum to 1"):
        output_law(lambda walker: categorical(torch.tensor([0.5, 0.4]), walker))
    with pytest.raises(ValueError, match="n_tokens must be an integer of at least 1"):
        autoregressive_law(lambda _: probs(1.0), [0], 0)
