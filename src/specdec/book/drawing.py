"""Drawings that chapters share: who may look at whom, and what a decoder did round by round.

The colours are the roles of :mod:`specdec.book.figures`; a mark says the same without colour.
"""

from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from specdec.book.figures import ROLE_COLORS
from specdec.trace import SpeculativeRound

_MARKS = {"accepted": "✓", "rejected": "✗", "muted": "–", "correction": "↺", "bonus": "+"}


def draw_mask(
    axis: Axes, mask: torch.Tensor, rows: Sequence[str], columns: Sequence[str]
) -> None:
    """Draw an attention mask (T, S): a filled square where the row's token may look at the column's."""
    for row, column in mask.nonzero().tolist():
        axis.add_patch(
            FancyBboxPatch(
                (column - 0.36, row - 0.36),
                0.72,
                0.72,
                boxstyle="round,pad=0,rounding_size=0.12",
                color=ROLE_COLORS["target"],
            )
        )
    axis.set(
        xlim=(-0.6, mask.shape[1] - 0.4),
        ylim=(mask.shape[0] - 0.4, -0.6),
        xticks=range(mask.shape[1]),
        yticks=range(mask.shape[0]),
        aspect="equal",
        xlabel="may look at",
    )
    axis.set_xticklabels(columns)
    axis.set_yticklabels(rows)
    axis.xaxis.set_ticks_position("top")
    axis.xaxis.set_label_position("top")
    axis.tick_params(length=0)
    axis.spines[["left", "bottom"]].set_visible(False)


def draw_rounds(
    axis: Axes, trace: Sequence[SpeculativeRound], labels: Sequence[str]
) -> None:
    """Draw the rounds of a trace, one a line: each guess with its fate, then the token that the target added.

    Args:
        axis: where to draw.
        trace: rounds of draft-and-verify; rounds without guesses are plain decoding.
        labels: (V,) the text of each token.
    """
    for line, record in enumerate(trace):
        n_accepted = record["n_accepted"]
        fates = ["accepted"] * n_accepted + ["rejected"] * (
            n_accepted < len(record["proposed"])
        )
        fates += ["muted"] * (len(record["proposed"]) - len(fates))
        for place, (token, fate) in enumerate(zip(record["proposed"], fates, strict=True)):
            _draw_chip(axis, place, line, labels[token], fate, fate)
        _draw_chip(
            axis,
            len(record["proposed"]) + 0.3,
            line,
            labels[record["emitted"][-1]],
            record["last_kind"],
            "correction",
        )
    widest = max(len(record["proposed"]) for record in trace)
    axis.set(xlim=(-0.6, widest + 0.9), ylim=(len(trace) - 0.5, -0.5))
    axis.set_yticks(
        range(len(trace)), [f"round {line}" for line in range(1, len(trace) + 1)]
    )
    places = [*range(widest), widest + 0.3]
    axis.set_xticks(places, [*(f"guess {place + 1}" for place in range(widest)), "added"])
    axis.xaxis.set_ticks_position("top")
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)


def _draw_chip(axis: Axes, x: float, y: float, text: str, fate: str, role: str) -> None:
    axis.text(
        x,
        y,
        f"{_MARKS[fate]} {text}",
        ha="center",
        va="center",
        color=ROLE_COLORS[role],
        bbox={
            "boxstyle": "round,pad=0.35",
            "facecolor": "none",
            "edgecolor": ROLE_COLORS[role],
        },
    )
