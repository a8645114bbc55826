"""Each widget alone on its recorded payload: draws at three widths, light and dark, without a fault."""

from pathlib import Path

import pytest
from headless import serving
from observing import TWO_FRAMES, Watch, axe_findings, overflowing

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def gallery():
    with serving(ROOT) as address:
        yield f"{address}/widgets/gallery.html"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 768, 1280])
def test_widgets_draw_without_a_fault(new_page, gallery, width, theme):
    page = new_page(theme=theme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})
    watch = Watch(page)
    page.goto(f"{gallery}?theme={theme}")
    page.wait_for_selector("html[data-ready]")
    page.evaluate(TWO_FRAMES)  # charts draw once they know their width
    assert [*watch.problems, *overflowing(page), *axe_findings(page)] == []
