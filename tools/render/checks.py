"""Checks of the finished pages, and of the links between them."""

from .errors import Problems
from .markup import Markup
from .pages import TEMPLATE, Fragment
from .resolve import Anchor, Resolved


def check_page(fragment: Fragment, page: Resolved, problems: Problems) -> list[str]:
    """Check that no id stands twice in a page; return the ids of the page's own HTML."""
    ids = Markup("".join(vars(fragment).values())).ids
    ids += filter(None, [page.page.source.title_attr[0]])
    of_the_frame = Markup(TEMPLATE.read_text(encoding="utf-8")).ids
    for identifier in sorted({name for name in ids if ids.count(name) > 1 or name in of_the_frame}):
        problems.add(page.page.source.place(), f"two elements have the id {identifier}")
    return ids


def check_anchors(anchors: list[Anchor], ids: dict[str, set[str]], problems: Problems) -> None:
    """Check that each link leads to an id that its page has; `ids` are by the page's output."""
    for anchor in anchors:
        if anchor.anchor not in ids[anchor.output]:
            problems.add(anchor.where, f"a link leads to #{anchor.anchor}, which {anchor.output} does not have")
