"""Every widget of the registry keeps the contract; each broken one beside it is caught by the same checks."""

import json
from pathlib import Path
from urllib.parse import urljoin

import contract
import pytest
from headless import serving

ROOT = Path(__file__).resolve().parents[2]
REGISTRY = ROOT / "widgets" / "registry.json"
BROKEN = Path(__file__).parent / "broken_widgets" / "registry.json"


def entries(registry: Path) -> dict[str, dict]:
    """Name → entry, with its addresses relative to the repository's root."""
    folder = f"/{registry.parent.relative_to(ROOT).as_posix()}/"
    resolved = {}
    for entry in json.loads(registry.read_text("utf-8")):
        paths = {
            key: urljoin(folder, entry[key]) for key in ("module", "fixture", "parity")
        }
        resolved[entry["name"]] = entry | paths
    return resolved


LISTED, FAULTY = entries(REGISTRY), entries(BROKEN)


@pytest.fixture(scope="module")
def repository():
    with serving(ROOT) as address:
        yield address


@pytest.fixture
def opened(new_page, repository):
    """Open a widget of a registry alone on the gallery's page."""

    def open_widget(entry, width=1280, theme="light"):
        page = new_page(
            theme=theme,
            reduced_motion="reduce",
            permissions=["clipboard-read", "clipboard-write"],
        )
        page.set_viewport_size({"width": width, "height": 900})
        page.context.route(
            "**/widgets/registry.json", lambda route: route.fulfill(json=[entry])
        )
        parity = json.loads((ROOT / entry["parity"].lstrip("/")).read_text("utf-8"))
        address = f"{repository}/widgets/gallery.html?theme={theme}"
        return contract.Subject(page, entry, parity, address)

    return open_widget


@pytest.mark.parametrize("width", [320, 768, 1280])
@pytest.mark.parametrize("name", LISTED)
def test_the_widget_keeps_the_contract(opened, name, width):
    assert contract.contract_faults(opened(LISTED[name], width)) == []


@pytest.mark.parametrize("width", [320, 768, 1280])
@pytest.mark.parametrize("name", LISTED)
def test_the_widget_keeps_it_in_the_dark(opened, name, width):
    subject = opened(LISTED[name], width, "dark")
    assert contract.contract_faults(subject, contract.ON_DARK) == []


@pytest.mark.parametrize("width", [320, 1280])
def test_a_sound_widget_passes(opened, width):
    assert contract.contract_faults(opened(FAULTY["sound"], width)) == []


# Which check finds what in each broken widget.
FINDINGS = {
    "wrong-number": (contract.parity_faults, "square is 50, Python says 49"),
    "no-parity": (contract.parity_faults, "no state is held against Python"),
    "unlabelled-input": (contract.drawing_faults, "axe critical label"),
    "faint": (contract.drawing_faults, "axe serious color-contrast"),
    "overflow": (contract.drawing_faults, "sticks out of the widget"),
    "console-error": (contract.drawing_faults, "console error: something failed"),
    "no-name": (contract.naming_faults, "the widget has role group and name None"),
    "no-live-region": (contract.naming_faults, "one live region must hold a sentence"),
    "missing-control": (contract.naming_faults, "the registry lists controls"),
    "no-focus-ring": (contract.focus_faults, "focus can't be seen"),
    "pointer-only": (contract.focus_faults, "Tab does not reach <div"),
    "dead-key": (contract.key_faults, "n: Home leads to"),
    "stale-sentence": (contract.key_faults, "the sentence stays"),
    "unheard": (contract.key_faults, "the value changes without an input event"),
    "timer": (contract.stillness_faults, "setInterval without Play"),
    "spinning": (contract.stillness_faults, "it goes on with requestAnimationFrame"),
    "animated": (contract.frame_faults, "moves although the reader prefers reduced"),
    "late": (contract.frame_faults, "nothing is in the page by the second frame"),
    "prints-beside": (contract.print_faults, "the stand-in must replace the widget"),
    "forgetful": (contract.address_faults, "does not lead"),
}


def test_every_broken_widget_is_tried():
    assert FAULTY.keys() == {"sound", *FINDINGS}


def test_every_check_can_fail():
    tried = {check for check, _ in FINDINGS.values()}
    # A pointer's faults are those of keys, found by the same comparison; Play's needs a stepper.
    assert {*contract.ON_LIGHT} - tried == {
        contract.pointer_faults,
        contract.timer_faults,
        contract.play_faults,
    }


@pytest.mark.parametrize("name", FINDINGS)
def test_a_broken_widget_is_caught(opened, name):
    check, finding = FINDINGS[name]
    faults = check(opened(FAULTY[name]))
    assert any(finding in fault for fault in faults), faults


def test_an_overflow_is_caught_on_a_phone_too(opened):
    faults = contract.drawing_faults(opened(FAULTY["overflow"], 320))
    assert any("in 320 px" in fault for fault in faults), faults


def test_stand_ins_are_where_the_widgets_will_be(new_page, site, page_path):
    page = new_page(java_script_enabled=False)
    page.goto(f"{site}/{page_path}")
    widgets = page.locator("figure [data-ojs]").count()  # each stands in a captioned figure
    assert contract.stand_in_faults(page, widgets) == []


CELL = '<div class="cell"><div data-ojs></div></div>'
MISPLACED = {
    "a paragraph between": '<div class="widget-static">x</div><p>y</p>' + CELL,
    "after the cell": CELL + '<div class="widget-static">x</div>',
    "hidden": '<div class="widget-static" style="display: none">x</div>' + CELL,
    "none": CELL,
    "one of two": '<div class="widget-static">x</div>' + CELL + CELL,
}


@pytest.mark.parametrize("content", MISPLACED.values(), ids=MISPLACED)
def test_a_misplaced_stand_in_is_caught(new_page, content):
    page = new_page()
    page.set_content(content)
    assert contract.stand_in_faults(page, content.count(CELL)) != []
