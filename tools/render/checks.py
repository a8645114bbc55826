"""Checks of the finished pages, and of the links between them."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

from .errors import Problems
from .pages import TEMPLATE, Fragment
from .resolve import Anchor, Resolved


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


def check_page(fragment: Fragment, page: Resolved, problems: Problems) -> list[str]:
    """Check a page's own HTML; return the ids in it."""
    found, frame = _Page(), _Page()
    found.feed(fragment.title + fragment.content)
    frame.feed(TEMPLATE.read_text(encoding="utf-8"))
    source = str(page.file.source)
    for message in found.problems:
        problems.add(source, message)
    ids = [*found.ids, *filter(None, [page.page.source.title_attr[0]])]
    for identifier in sorted({name for name in ids if ids.count(name) > 1 or name in frame.ids}):
        problems.add(source, f"two elements have the id {identifier}")
    return ids


def check_anchors(anchors: list[Anchor], ids: dict[str, set[str]], problems: Problems) -> None:
    """Check that each link leads to an id that its page has; `ids` are by the page's output."""
    for anchor in anchors:
        if anchor.anchor not in ids[anchor.output]:
            problems.add(anchor.where, f"a link leads to #{anchor.anchor}, which {anchor.output} does not have")
