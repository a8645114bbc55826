"""The widgets' fixtures are what specdec gives now."""

import json
from pathlib import Path
from typing import Any

import pytest
from widget_fixtures import FIXTURES, fixtures

CURRENT = fixtures()


def flatten(value: Any, place: str = "") -> dict[str, Any]:
    """Nested dicts and lists → {place: leaf}, so that a difference names where it is."""
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return {place: value}
    return {path: leaf for key, item in items for path, leaf in flatten(item, f"{place}/{key}").items()}


@pytest.mark.parametrize("name", CURRENT)
def test_the_committed_fixture_is_what_specdec_gives(name: str) -> None:
    committed = json.loads((FIXTURES / name).read_text(encoding="utf-8"))
    # Sums may round differently on another CPU, hence not bytes.
    assert flatten(committed) == pytest.approx(flatten(CURRENT[name]), rel=1e-12, abs=1e-15)


def test_no_fixture_is_left_over() -> None:
    assert {path.name for path in Path(FIXTURES).iterdir()} == set(CURRENT)
