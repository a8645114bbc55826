"""The stand-ins of chapters 7 and 8 show every token and every particle, and what became of each."""

import matplotlib.pyplot as plt
import pytest
import torch
from conftest import probs, seeded
from matplotlib.colors import to_hex

from specdec.book.figures import ROLE_COLORS
from specdec.book.particle_drawing import draw_particles
from specdec.book.pass_drawing import draw_passes
from specdec.lookahead import jacobi_decode
from specdec.smc_sd import smc_sd_decode


@pytest.fixture
def axis():
    figure, axis = plt.subplots()
    yield axis
    plt.close(figure)


def test_every_answer_stands_at_its_place_and_the_certain_ones_are_filled(axis):
    tokens, n_passes, trace = jacobi_decode(lambda text: (text[-2] + 1) % 10, [1, 5], 7, 4)
    draw_passes(axis, trace, n_prompt=2)
    assert len(axis.texts) == sum(len(record["refined"]) for record in trace)
    filled = {}
    for text in axis.texts:
        if text.get_bbox_patch().get_facecolor()[3] > 0:
            place, line = text.get_position()
            filled[place] = (text.get_text(), line)
    assert [filled[place][0] for place in range(1, 8)] == [str(token) for token in tokens]
    lines = [line for _, (_, line) in sorted(filled.items())]
    assert lines == sorted(lines) and lines[-1] == n_passes
    outlined = [text for text in axis.texts if text.get_position() not in {
        (place, line) for place, (_, line) in filled.items()
    }]  # fmt: skip
    assert len(outlined) == sum(len(record["carried"]) for record in trace) > 0


def test_every_particle_is_drawn_and_the_dead_are_crosses(axis):
    p, q = probs(0.6, 0.2, 0.1, 0.1), torch.full((4,), 0.25).double()
    _, rounds = smc_sd_decode(lambda _: q, lambda _: p, [0], 2, 6, 3.0, 9, seeded(1))
    draw_particles(axis, rounds)
    assert len(axis.collections) == 6 * (len(rounds) + 1)
    assert len(axis.lines) == 6 * len(rounds)
    assert {record["resampled"] for record in rounds} == {True, False}
    for column, record in enumerate(rounds):
        dots = axis.collections[6 * column : 6 * column + 6]
        dead = [to_hex(dot.get_edgecolor()[0]) == ROLE_COLORS["rejected"] for dot in dots]
        alive = set(record["ancestors"] or range(6))
        assert dead == [particle not in alive for particle in range(6)]
        areas = [dot.get_sizes()[0] for dot in dots]
        heaviest = max(range(6), key=lambda n: record["scored_weights"][n])
        assert areas[heaviest] == max(areas)
        starts = [line.get_ydata()[0] - 1 for line in axis.lines[6 * column :][:6]]
        assert starts == list(record["ancestors"] or range(6))
