"""Reads HTML that is already written, for what it defines and for what a page may not hold."""

from html.parser import HTMLParser


class Markup(HTMLParser):
    """The ids in a piece of HTML, and what is wrong with it."""

    def __init__(self, html: str):
        super().__init__()
        self.ids: list[str] = []
        self.problems: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "script":
            self.problems.append("holds a script, which the pages' security policy forbids")
        for name in attributes:
            if name.startswith("on"):
                self.problems.append(f"holds the handler {name}, which the pages' security policy forbids")
        if tag == "img" and not attributes.get("alt", "").strip():
            self.problems.append(f"holds the image {attributes.get('src')} without alternative text")
        address = attributes.get("src") or (attributes.get("href", "") if tag == "link" else "")
        if address.startswith(("http:", "https:", "//")):
            self.problems.append(f"asks another host for {address}")
