"""Show the package's own code in a chapter, so that text and code can't drift apart."""

import ast
import inspect
from collections.abc import Callable
from textwrap import dedent

from IPython.display import Markdown, display


def show_source(*functions: Callable) -> None:
    """Display the source of each function as a Python listing, its docstring cut to the first line."""
    listings = (f"```python\n{_short_source(function)}\n```" for function in functions)
    display(Markdown("\n\n".join(listings)))


def _short_source(function: Callable) -> str:
    source = dedent(inspect.getsource(function)).rstrip()
    lines, [definition] = source.splitlines(), ast.parse(source).body
    docstring = ast.get_docstring(definition)
    if docstring is None:
        return source
    place = definition.body[0]
    before, after = lines[: place.lineno - 1], lines[place.end_lineno :]
    return "\n".join([*before, f'    """{docstring.splitlines()[0]}"""', *after])
