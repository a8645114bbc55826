"""Where Quarto is on the PATH: its site asks no other host for anything, as written and as Chromium reads it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from headless import browsing, find_chromium, serving

ROOT = Path(__file__).parents[2]
NOT_SOURCES = ("_site*", ".*", "node_modules", "__pycache__")

pytestmark = pytest.mark.skipif(
    shutil.which("quarto") is None, reason="quarto is not on the PATH"
)


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """A rendering of a copy of the book, so that nothing changes here."""
    book = tmp_path_factory.mktemp("quarto") / "book"
    shutil.copytree(ROOT, book, ignore=shutil.ignore_patterns(*NOT_SOURCES))
    done = subprocess.run(
        ["quarto", "render"],
        cwd=book,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return book / "_site"


def _pages(site):
    found = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    return [page for page in found if not page.startswith("widgets/")]


def test_no_page_names_a_foreign_script_or_style(rendered):
    tag = re.compile(r"""<(?:script|link)\b[^>]*\s(?:src|href)=["'](?:https?:)?//[^>]*>""")
    pages = _pages(rendered)
    assert "index.html" in pages and any(page.startswith("chapters/") for page in pages)
    found = [
        (page, address)
        for page in pages
        for address in tag.findall((rendered / page).read_text("utf-8"))
        if 'rel="canonical"' not in address
    ]
    assert found == []


def test_no_page_asks_another_host_when_it_is_read(rendered):
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("Chromium or Chrome is not on the PATH")
    asked = []
    with serving(rendered) as address, browsing(chromium) as browser:
        for name in _pages(rendered):
            page = browser.new_page()
            page.on("request", lambda request: asked.append(request.url))
            page.goto(f"{address}/{name}", wait_until="networkidle")
            page.close()
    assert [
        url for url in asked if url.startswith("http") and not url.startswith(address)
    ] == []
