"""Keeps the room that a page's OJS cells will take, so that nothing moves when they are drawn.

How tall a drawn cell is depends on the window's width and can only be measured: `bench/site.py --heights` does so and
writes the record that is read here. A cell that is not in it takes no room until it is drawn.
"""

import json
from pathlib import Path

from .errors import Problems

HEIGHTS = Path("bench") / "records" / "heights.json"


def load_heights(root: Path, problems: Problems) -> dict[str, dict[str, dict[str, int]]]:
    """The record: page id → place → width of the window → height, both in pixels; empty where there is none."""
    try:
        return json.loads((root / HEIGHTS).read_text(encoding="utf-8"))["pages"]
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError) as error:
        problems.add(HEIGHTS.as_posix(), f"can't be read: {error!r}; measure again with bench/site.py --heights")
        return {}


def reserving_style(places: dict[str, dict[str, int]]) -> str:
    """A style element by which cells that are not yet drawn are as tall as they will be.

    A place is the label of the figure that a cell is, or the id of the cell's own element.
    """
    by_width: dict[int, list[str]] = {}
    for place, heights in places.items():
        selector = f"#{place}" if place.startswith("ojs-cell-") else f"#{place} .ojs-cell"
        for width, height in heights.items():
            rule = f"{selector}:not([data-ojs-state]){{min-height:{height}px}}"
            by_width.setdefault(int(width), []).append(rule)
    blocks = [f"@media screen and (min-width:{width}px){{{''.join(by_width[width])}}}" for width in sorted(by_width)]
    return f"<style>{''.join(blocks)}</style>" if blocks else ""
