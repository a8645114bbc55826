"""The page check fails where it must: each page here has one fault, and the check has to name it."""

import pytest
from headless import serving
from observing import everything_wrong_with

POLICY = """<meta http-equiv="Content-Security-Policy" content="default-src 'self'; style-src 'unsafe-inline'">"""
SOUND = f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Sound</title><link rel="icon" href="data:,">{POLICY}</head>
<body><main><h1>Sound</h1><div id="cell" data-ojs data-ojs-state="ready">drawn</div></main></body>
</html>"""

FAULTS = {
    "console error": (
        SOUND.replace("</main>", '</main><script src="fails.js"></script>'),
        "console error: no",
    ),
    "uncaught error": (
        SOUND.replace("</main>", '</main><script src="throws.js"></script>'),
        "uncaught error",
    ),
    "missing file": (
        SOUND.replace("</main>", '</main><script src="nowhere.js"></script>'),
        "status 404",
    ),
    "other host": (
        SOUND.replace(POLICY, "").replace(
            "</main>", '<img alt="" src="http://elsewhere.invalid/a.png"></main>'
        ),
        "request to another host: http://elsewhere.invalid/a.png",
    ),
    "overflow": (SOUND.replace("<h1>", '<h1 style="width: 5000px">'), "390 px: h1"),
    "cell in error": (
        SOUND.replace('state="ready"', 'state="error"'),
        "OJS cell cell is error",
    ),
    "cell not drawn": (
        SOUND.replace(' data-ojs-state="ready"', ""),
        "OJS cell cell is not drawn",
    ),
    "no policy": (SOUND.replace(POLICY, ""), "content security policy has script-src None"),
    "loose policy": (
        SOUND.replace(
            "default-src 'self'", "default-src 'self'; script-src 'self' 'unsafe-eval'"
        ),
        "content security policy has script-src 'self' 'unsafe-eval'",
    ),
    "unlabelled input": (SOUND.replace("</main>", "<input></main>"), "axe critical label"),
    "faint text": (
        SOUND.replace("<h1>", '<p style="color: #ccc">faint</p><h1>'),
        "axe serious color-contrast",
    ),
}


@pytest.fixture
def found(tmp_path, new_page, monkeypatch):
    """Serve one page and return what the page check finds wrong with it."""
    monkeypatch.setattr("observing.DRAWN_WITHIN_MILLISECONDS", 500)
    (tmp_path / "fails.js").write_text("console.error('no')")
    (tmp_path / "throws.js").write_text("throw new Error('no')")

    def check(html):
        (tmp_path / "index.html").write_text(html)
        with serving(tmp_path) as address:
            return everything_wrong_with(new_page("phone"), f"{address}/index.html")

    return check


def test_a_sound_page_passes(found):
    assert found(SOUND) == []


@pytest.mark.parametrize(("html", "finding"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_page_is_caught(found, html, finding):
    assert any(finding in problem for problem in found(html))
