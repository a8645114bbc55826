"""Draw the particles of SMC-SD round by round: how much each weighs, who was copied and who died."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from specdec.book.figures import ROLE_COLORS
from specdec.smc_sd import SMCRound

_LARGEST_DOT = 500.0  # area, in square points, of a particle that has all the weight


def draw_particles(axis: Axes, rounds: Sequence[SMCRound]) -> None:
    """Draw a column of dots a round, a line from each particle to those that go on from it.

    A dot's area is the particle's share of the weight after the round's block, before any resampling. One that
    resampling gives no copy is a cross. After the last round a column shows who is there for the answer, by weight.

    Args:
        axis: where to draw.
        rounds: the trace of one run, first to last.
    """
    for column, record in enumerate(rounds):
        ancestors = record["ancestors"] or range(len(record["contexts"]))
        for place, ancestor in enumerate(ancestors):
            axis.plot(
                [column, column + 1],
                [ancestor + 1, place + 1],
                color=ROLE_COLORS["muted"],
                linewidth=1,
                zorder=1,
            )
        _draw_column(axis, column, record["scored_weights"], ancestors)
    last = rounds[-1]["weights"]
    _draw_column(axis, len(rounds), last, range(len(last)))
    names = [
        f"round {number}\nESS {record['ess']:.1f}\n"
        + ("resampled" if record["resampled"] else "kept")
        for number, record in enumerate(rounds, start=1)
    ]
    axis.set(xlim=(-0.4, len(rounds) + 0.4), ylim=(len(last) + 0.7, 0.3))
    axis.set_xticks(range(len(rounds) + 1), [*names, "at the end"])
    axis.set_yticks(range(1, len(last) + 1))
    axis.set_ylabel("particle")
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)


def _draw_column(
    axis: Axes, column: int, weights: Sequence[float], survivors: Sequence[int]
) -> None:
    total = sum(weights)
    for particle, weight in enumerate(weights):
        lives = particle in survivors
        axis.scatter(
            [column],
            [particle + 1],
            s=max(12.0, _LARGEST_DOT * weight / total),
            marker="o" if lives else "x",
            color=ROLE_COLORS["accepted" if lives else "rejected"],
            zorder=2,
        )
