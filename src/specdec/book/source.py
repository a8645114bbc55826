"""Show the package's own code in a chapter, so that text and code can't drift apart."""

import inspect
from collections.abc import Callable
from textwrap import dedent

from IPython.display import Markdown, display


def show_source(*functions: Callable) -> None:
    """Display the source of each function as a Python listing."""
    listings = (f"```python\n{dedent(inspect.getsource(function)).rstrip()}\n```" for function in functions)
    display(Markdown("\n\n".join(listings)))
