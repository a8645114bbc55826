"""Every page, on a phone and a laptop, light and dark: nothing foreign, nothing broken, nothing out of reach."""

from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from observing import SITE, everything_wrong_with, page_paths


def test_the_site_has_its_pages():
    assert {
        "index.html",
        "references.html",
        "chapters/03-speculative-sampling.html",
    } <= set(page_paths())


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("viewport", ["phone", "laptop"])
def test_nothing_is_wrong_with_the_page(new_page, site, page_path, viewport, theme):
    assert everything_wrong_with(new_page(viewport, theme), f"{site}/{page_path}") == []


def test_an_inline_script_does_not_run(new_page, site, page_path):
    page = new_page()
    page.goto(f"{site}/{page_path}")
    page.evaluate(
        """() => {
            const script = document.createElement('script');
            script.textContent = 'window.ranInline = true';
            document.body.append(script);
        }"""
    )
    assert page.evaluate("() => window.ranInline") is None


class Targets(HTMLParser):
    """Collects where a page links to, and the ids that others can link to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed((SITE / path).read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.links += [values[name] for name in ("href", "src") if values.get(name)]
        self.ids.add(values.get("id"))


def test_every_internal_link_leads_somewhere(page_path):
    broken = []
    for link in Targets(page_path).links:
        if urlsplit(link).scheme:
            continue
        address = urlsplit(urljoin(f"/{page_path}", link))
        path = unquote(address.path).lstrip("/") or "index.html"
        if not (SITE / path).is_file():
            broken.append(link)
        elif address.fragment and unquote(address.fragment) not in Targets(path).ids:
            broken.append(link)
    assert broken == []
