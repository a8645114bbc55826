"""Draw how blocks of guesses were refined, pass by pass: what became certain is filled, what is carried over is not."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from specdec.book.figures import ROLE_COLORS
from specdec.lookahead import DecodingPass

_GROUND = "#ffffff"  # of the digits in filled boxes


def draw_passes(axis: Axes, passes: Sequence[DecodingPass], n_prompt: int) -> None:
    """Draw the answers of each pass at their places in the text, one pass a line.

    Args:
        axis: where to draw.
        passes: the trace of a decoder that proposes blocks.
        n_prompt: tokens of the prompt, which are not drawn.
    """
    for line, record in enumerate(passes, start=1):
        first = record["n_verified"] - n_prompt + 1
        for index, token in enumerate(record["refined"]):
            certain = index < record["n_accepted"]
            color = ROLE_COLORS["accepted" if certain else "draft"]
            axis.text(
                first + index,
                line,
                str(token),
                ha="center",
                va="center",
                fontsize="x-small",
                color=_GROUND if certain else color,
                fontweight="bold" if certain else "normal",
                bbox={
                    "boxstyle": "round,pad=0.25",
                    "facecolor": color if certain else "none",
                    "edgecolor": color,
                },
            )
    n_new = passes[-1]["n_verified"] - n_prompt + passes[-1]["n_accepted"]
    axis.set(xlim=(0.3, n_new + 0.7), ylim=(len(passes) + 0.7, 0.3))
    axis.set(xticks=range(1, n_new + 1, 2), yticks=range(1, len(passes) + 1))
    axis.set(xlabel="place", ylabel="pass")
    axis.tick_params(length=0, labelsize="x-small")
    axis.spines[:].set_visible(False)
