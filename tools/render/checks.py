"""Checks of the finished pages, and of the links between them."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

from .errors import Problems
from .resolve import Anchor


@dataclass
class _Page(HTMLParser):
    """Collects what a page defines and what it asks for."""

    ids: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def __post_init__(self):
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list) -> None:
        attributes = dict(attrs)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "img" and not (attributes.get("alt") or "").strip():
            self.problems.append(f"the image {attributes.get('src')} has no alternative text")
        address = attributes.get("src") or (attributes.get("href") if tag == "link" else None) or ""
        if address.startswith(("http:", "https:", "//")):
            self.problems.append(f"<{tag}> asks another host for {address}")


def check_page(html: str, source: str, problems: Problems) -> list[str]:
    """Check one page; return the ids in it."""
    page = _Page()
    page.feed(html)
    for message in page.problems:
        problems.add(source, message)
    for identifier in sorted({name for name in page.ids if page.ids.count(name) > 1}):
        problems.add(source, f"two elements have the id {identifier}")
    return page.ids


def check_anchors(anchors: list[Anchor], ids: dict[str, set[str]], problems: Problems) -> None:
    """Check that each link leads to an id that its page has; `ids` are by the page's output."""
    for anchor in anchors:
        if anchor.anchor not in ids[anchor.output]:
            problems.add(anchor.where, f"a link leads to #{anchor.anchor}, which {anchor.output} does not have")
