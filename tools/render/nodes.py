"""Small helpers for pandoc's JSON syntax tree: nodes are plain dictionaries `{"t": type, "c": content}`."""

import html
from collections.abc import Callable

INLINES = frozenset(
    "Str Emph Underline Strong Strikeout Superscript Subscript SmallCaps Quoted Cite Code Space SoftBreak LineBreak "
    "Math RawInline Link Image Note Span".split()
)
BLOCKS = frozenset(
    "Plain Para LineBlock CodeBlock RawBlock BlockQuote OrderedList BulletList DefinitionList HorizontalRule Table "
    "Figure Header Div".split()
)
QUOTES = {"SingleQuote": ("‘", "’"), "DoubleQuote": ("“", "”")}


def attr(identifier: str = "", classes: list[str] = (), **attributes: str) -> list:
    """An attribute triple; underscores in attribute names become hyphens."""
    pairs = [[key.replace("_", "-"), value] for key, value in attributes.items()]
    return [identifier, list(classes), pairs]


def text(string: str) -> dict:
    return {"t": "Str", "c": string}


def space() -> dict:
    return {"t": "Space"}


def strong(inlines: list) -> dict:
    return {"t": "Strong", "c": inlines}


def emph(inlines: list) -> dict:
    return {"t": "Emph", "c": inlines}


def plain(inlines: list) -> dict:
    return {"t": "Plain", "c": inlines}


def para(inlines: list) -> dict:
    return {"t": "Para", "c": inlines}


def span(attributes: list, inlines: list) -> dict:
    return {"t": "Span", "c": [attributes, inlines]}


def div(attributes: list, blocks: list) -> dict:
    """A div; one that began with a heading would be merged with it by pandoc's HTML writer."""
    if blocks and blocks[0]["t"] == "Header":
        blocks = [raw(""), *blocks]
    return {"t": "Div", "c": [attributes, blocks]}


def link(inlines: list, target: str, *classes: str) -> dict:
    return {"t": "Link", "c": [attr("", classes), inlines, [target, ""]]}


def raw(markup: str) -> dict:
    """A block of HTML that goes into the page as it is."""
    return {"t": "RawBlock", "c": ["html", markup]}


def raw_inline(markup: str) -> dict:
    return {"t": "RawInline", "c": ["html", markup]}


def wrap(opening: str, blocks: list, closing: str) -> list:
    """Blocks between an opening and a closing tag that pandoc has no node for."""
    return [raw(opening), *blocks, raw(closing)]


def tag(name: str, **attributes: str | None) -> str:
    """An opening HTML tag; attributes that are None or empty are left out, `class_` means `class`."""
    pairs = (
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(value)}"' for key, value in attributes.items() if value
    )
    return f"<{name}{''.join(pairs)}>"


def is_inlines(value: object) -> bool:
    return _is_list_of(value, INLINES)


def is_blocks(value: object) -> bool:
    return _is_list_of(value, BLOCKS)


def _is_list_of(value: object, types: frozenset[str]) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and value[0].get("t") in types


def rewrite(value: object, inlines: Callable[[list], list], blocks: Callable[[list], list]) -> object:
    """Rebuild a tree: every list of inlines or of blocks goes, outermost first, through the function given for it.

    The functions are called with the list and answer for what is inside it (usually by calling `rewrite` again).
    """
    if is_inlines(value):
        return inlines(value)
    if is_blocks(value):
        return blocks(value)
    if isinstance(value, list):
        return [rewrite(item, inlines, blocks) for item in value]
    if isinstance(value, dict):
        return {key: rewrite(item, inlines, blocks) for key, item in value.items()}
    return value


def plain_text(inlines: list) -> str:
    """The words of a list of inlines, without markup or footnotes."""
    return "".join(_words(node) for node in inlines)


def _words(node: dict) -> str:
    kind, content = node["t"], node.get("c")
    if kind == "Str":
        return content
    if kind in ("Space", "SoftBreak", "LineBreak"):
        return " "
    if kind in ("Code", "Math"):
        return content[1]
    if kind == "Quoted":
        opening, closing = QUOTES[content[0]["t"]]
        return opening + plain_text(content[1]) + closing
    if kind in ("Note", "RawInline"):
        return ""
    return plain_text(content[1] if kind in ("Span", "Link", "Image", "Cite") else content)
