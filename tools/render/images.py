"""How large an image is, so that a page keeps its layout while the image loads."""

import re

_SVG_ROOT = re.compile(r"<svg\b[^>]*>")
_VIEW_BOX = re.compile(r"""\bviewBox=["'][\d.-]+[\s,]+[\d.-]+[\s,]+([\d.]+)[\s,]+([\d.]+)""")
_SIDES = [re.compile(rf"""\s{name}=["']([\d.]+)(?:px)?["']""") for name in ("width", "height")]


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG in pixels or of an SVG in its own units; None where they can't be told."""
    if data.startswith(b"\x89PNG"):
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    root = _SVG_ROOT.search(data.decode("utf-8", "ignore"))
    return _svg_size(root[0]) if root else None


def _svg_size(root: str) -> tuple[int, int] | None:
    box = _VIEW_BOX.search(root)
    sides = box.groups() if box else [side[1] for side in (pattern.search(root) for pattern in _SIDES) if side]
    return (round(float(sides[0])), round(float(sides[1]))) if len(sides) == 2 else None
