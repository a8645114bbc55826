"""The widgets' fixtures are what specdec gives now."""

import json
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
    return {
        path: leaf
        for key, item in items
        for path, leaf in flatten(item, f"{place}/{key}").items()
    }


def tolerant(leaf: Any) -> Any:
    """Sums may round differently on another CPU."""
    return pytest.approx(leaf, rel=1e-12, abs=1e-15) if isinstance(leaf, float) else leaf


@pytest.mark.parametrize("name", CURRENT)
def test_the_committed_fixture_is_what_specdec_gives(name: str) -> None:
    committed = json.loads((FIXTURES / name).read_text(encoding="utf-8"))
    assert flatten(committed) == {
        place: tolerant(leaf) for place, leaf in flatten(CURRENT[name]).items()
    }


def test_no_fixture_is_left_over() -> None:
    assert {
        path.relative_to(FIXTURES).as_posix() for path in FIXTURES.rglob("*.json")
    } == set(CURRENT)
