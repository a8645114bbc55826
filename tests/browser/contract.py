"""What every widget must keep, as functions that return what is wrong; empty lists are good news.

Each takes a :class:`Subject`, a widget alone on its page of the gallery, and works the widget by what its controls
are, not by which widget it is: a widget passes by being listed in ``widgets/registry.json``.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from observing import Watch, axe_findings, overflowing

INSTRUMENTS = Path(__file__).with_name("contract.js")
IDLE_MILLISECONDS = 200
PLAY_MILLISECONDS = 4_000


@dataclass
class Subject:
    """A widget alone on a page, and all that is needed to open it again."""

    page: Any
    entry: dict
    parity: dict
    address: str
    watch: Watch = field(init=False)
    root: Any = field(init=False)

    def __post_init__(self):
        self.page.add_init_script(path=INSTRUMENTS)
        self.watch = Watch(self.page)
        self.page.goto(self.address)
        self.page.wait_for_selector("html[data-ready]")
        self.root = self.page.locator(f"#{self.entry['name']} .widget")
        self.root.evaluate("root => contract.listen(root)")

    def snapshot(self) -> dict:
        """The widget's value and sentence two frames from now, and how many ``input`` events it has sent."""
        return self.root.evaluate("root => contract.snapshot(root)")

    def press(self, key: str) -> dict:
        self.page.keyboard.press(key)
        return self.snapshot()

    def buttons(self) -> list:
        """The buttons that change the state, by themselves and at once."""
        found = self.root.locator("button:not(.widget-link)").all()
        return [button for button in found if not is_play(button)]

    def timers(self) -> list[str]:
        return self.page.evaluate("() => contract.timers.splice(0)")


def is_play(button) -> bool:
    return button.get_attribute("aria-label") in {"Play", "Pause"}


# 1. It draws, and nothing sticks out.


def drawing_faults(subject: Subject) -> list[str]:
    return [
        *subject.watch.problems,
        *overflowing(subject.page),
        *sticking_out(subject.root),
        *axe_findings(subject.page),
    ]


def sticking_out(root) -> list[str]:
    """Name what reaches over the widget's own edge, unless it can be scrolled to or is meant to be heard only."""
    return root.evaluate(
        """root => {
            const edge = root.getBoundingClientRect();
            const clipped = element => element !== root &&
                (getComputedStyle(element).overflowX !== 'visible' || clipped(element.parentElement));
            return [...root.querySelectorAll('*')]
                .filter(element => !element.closest('svg svg, svg *') && !clipped(element))
                .filter(element => {
                    const box = element.getBoundingClientRect();
                    return box.width > 0 && (box.right > edge.right + 0.5 || box.left < edge.left - 0.5);
                })
                .slice(0, 3)
                .map(element => `${element.localName}.${element.getAttribute('class')} sticks out of the widget`);
        }"""
    )


# 3. It says what it is and what it shows.


def naming_faults(subject: Subject) -> list[str]:
    """A role, a name, one live region with whole sentences; and the controls that the registry promises."""
    faults = []
    role, name = (
        subject.root.get_attribute("role"),
        subject.root.get_attribute("aria-label"),
    )
    if not role or not name:
        faults.append(f"the widget has role {role} and name {name}")
    live = subject.root.locator('[aria-live="polite"]').all_inner_texts()
    if len(live) != 1 or not re.search(r"\w.*[.?!]$", live[0].strip()):
        faults.append(f"one live region must hold a sentence, there are {live}")
    counts = {
        "slider": subject.root.get_by_role("slider").count(),
        "spinbutton": subject.root.get_by_role("spinbutton").count(),
        "radiogroup": subject.root.get_by_role("radiogroup").count(),
        "button": subject.root.locator("button:not(.widget-link)").count(),
    }
    found = {role: count for role, count in counts.items() if count}
    if found != subject.entry["controls"]:
        faults.append(
            f"the registry lists controls {subject.entry['controls']}, there are {found}"
        )
    return faults


# 2. It works by keyboard alone, and by pointer.


def focus_faults(subject: Subject) -> list[str]:
    """Tab through the widget: every control is reached and shows it; nothing works by pointer only."""
    faults = []
    subject.root.evaluate(
        """root => {
            const start = root.ownerDocument.createElement('button');
            root.before(start);
            start.focus();
            start.addEventListener('blur', () => start.remove(), {once: true});
            root.contractReached = [];
        }"""
    )
    for _ in range(200):
        subject.page.keyboard.press("Tab")
        reached = subject.root.evaluate(
            """root => {
                const active = document.activeElement;
                if (!root.contains(active)) return null;
                root.contractReached.push(active);
                const shows = element => {
                    const {outlineStyle, outlineWidth, boxShadow, opacity} = getComputedStyle(element);
                    return opacity !== '0' &&
                        ((outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none');
                };
                const ring = [active, active.closest('label')].some(element => element && shows(element));
                return {ring, html: active.outerHTML.slice(0, 120)};
            }"""
        )
        if reached is None:
            break
        if not reached["ring"]:
            faults.append(f"focus can't be seen on {reached['html']}")
    unreached = subject.root.evaluate(
        """root => {
            const reached = root.contractReached;
            const byTab = element => reached.some(other => other === element ||
                (other.type === 'radio' && other.name === element.name) || other.contains(element));
            const controls = root.querySelectorAll(
                'button, input, select, textarea, a[href], [role=slider], [role=button], [role=checkbox], [role=tab]');
            const pointed = [...root.querySelectorAll('*')].filter(element =>
                ['pointer', 'ew-resize', 'grab'].includes(getComputedStyle(element).cursor) &&
                !element.querySelector('input') && !element.closest('label'));
            return [...controls, ...pointed].filter(element => element.checkVisibility() && !byTab(element))
                .map(element => `Tab does not reach ${element.outerHTML.slice(0, 120)}`);
        }"""
    )
    return [*faults, *unreached]


def key_faults(subject: Subject) -> list[str]:
    """Work each control by its keys: it must move, and the value, the sentence and ``viewof`` must follow."""
    return [
        *(
            fault
            for group in radio_groups(subject)
            for fault in radio_key_faults(subject, group)
        ),
        *(
            fault
            for slider in sliders(subject)
            for fault in slider_key_faults(subject, slider)
        ),
        *(
            fault
            for box in number_fields(subject)
            for fault in number_key_faults(subject, box)
        ),
        *button_faults(subject, lambda button: button.press("Enter"), "Enter"),
    ]


def radio_groups(subject):
    return subject.root.get_by_role("radiogroup").all()


def sliders(subject):
    return subject.root.get_by_role("slider").all()


def number_fields(subject):
    return subject.root.get_by_role("spinbutton").all()


def named(control) -> str:
    return control.evaluate(
        "control => control.getAttribute('aria-label') || control.textContent"
    )


def unanswered(moves: list[dict], name: str, how: str) -> list[str]:
    """What stood still while a control was moved: snapshots before the first move and after each."""
    faults = []
    for part in ("value", "sentence"):
        if len({move[part] for move in moves}) < 2:
            faults.append(f"{name} by {how}: the {part} stays {moves[0][part]}")
    changes = sum(
        before["value"] != after["value"]
        for before, after in zip(moves, moves[1:], strict=False)
    )
    if moves[-1]["heard"] - moves[0]["heard"] < changes:
        faults.append(f"{name} by {how}: the value changes without an input event")
    return faults


READ_SLIDER = """slider => [['value', 'aria-valuenow'], ['min', 'aria-valuemin'], ['max', 'aria-valuemax']]
    .map(([own, aria]) => Number(slider[own] ?? slider.getAttribute(aria)))"""


def slider_key_faults(subject, slider) -> list[str]:
    name, faults, moves = named(slider), [], [subject.snapshot()]
    slider.focus()
    places = []
    for key in ("Home", "ArrowRight", "End", "ArrowLeft"):
        moves.append(subject.press(key))
        places.append(slider.evaluate(READ_SLIDER))
    (first, least, _), (second, *_), (last, _, most), (back, *_) = places
    if first != least:
        faults.append(f"{name}: Home leads to {first}, not to {least}")
    if last != most:
        faults.append(f"{name}: End leads to {last}, not to {most}")
    if not second > first or not back < last:
        faults.append(
            f"{name}: arrow keys lead from {first} to {second}, from {last} to {back}"
        )
    return [*faults, *unanswered(moves, name, "keys")]


def radio_key_faults(subject, group) -> list[str]:
    name, radios, moves = named(group), group.get_by_role("radio"), [subject.snapshot()]
    checked = radios.and_(group.locator(":checked"))
    (checked if checked.count() else radios).first.focus()
    chosen = set()
    for _ in range(radios.count()):
        moves.append(subject.press("ArrowRight"))
        chosen.add(
            group.evaluate(
                "group => [...group.querySelectorAll('input')].findIndex(radio => radio.checked)"
            )
        )
    faults = (
        []
        if len(chosen) == radios.count()
        else [f"{name}: arrow keys reach {sorted(chosen)}"]
    )
    return [*faults, *unanswered(moves, name, "keys")]


def number_key_faults(subject, box) -> list[str]:
    moves = [subject.snapshot()]
    box.focus()
    moves += [subject.press(key) for key in ("ArrowUp", "ArrowDown", "ArrowDown")]
    return unanswered(moves, named(box), "keys")


def button_faults(subject, work, how: str) -> list[str]:
    """Work all buttons there and back, since one may be disabled at an end; each must have changed the value."""
    buttons = subject.buttons()
    moves = {index: [] for index in range(len(buttons))}
    for index in [*moves, *reversed(moves)]:
        if buttons[index].get_attribute("aria-disabled") == "true":
            continue
        before = subject.snapshot()
        work(buttons[index])
        moves[index] += [before, subject.snapshot()]
    faults = []
    for index, worked in moves.items():
        name = named(buttons[index])
        faults += (
            unanswered(worked, name, how)
            if worked
            else [f"{name} is disabled at both ends"]
        )
    return faults


def pointer_faults(subject: Subject) -> list[str]:
    """The same controls by clicks and drags."""
    faults = []
    for group in radio_groups(subject):
        moves = [subject.snapshot()]
        for radio in group.get_by_role("radio").all():
            radio.click()
            moves.append(subject.snapshot())
        faults += unanswered(moves, named(group), "pointer")
    for slider in sliders(subject):
        faults += unanswered(dragged(subject, slider), named(slider), "pointer")
    return [*faults, *button_faults(subject, lambda button: button.click(), "pointer")]


def dragged(subject, slider) -> list[dict]:
    """Click a slider near both ends, then drag it to the middle."""
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    mouse, middle = subject.page.mouse, box["y"] + box["height"] / 2
    moves = [subject.snapshot()]
    for share in (0.15, 0.85):
        mouse.click(box["x"] + share * box["width"], middle)
        moves.append(subject.snapshot())
    mouse.down()
    mouse.move(box["x"] + 0.5 * box["width"], middle, steps=3)
    mouse.up()
    return [*moves, subject.snapshot()]


# 4. Nothing moves by itself. 5. What the reader moves is there by the second frame.


def stillness_faults(subject: Subject) -> list[str]:
    """Left alone, a widget sets no timer, asks for no frame and stays as it is."""
    faults = timer_faults(subject)
    before = subject.root.inner_html()
    subject.page.wait_for_timeout(IDLE_MILLISECONDS)
    if waiting := set(subject.timers()):
        faults.append(f"left alone it goes on with {', '.join(sorted(waiting))}")
    if subject.root.inner_html() != before:
        faults.append("left alone it changes")
    return faults


def timer_faults(subject: Subject) -> list[str]:
    """Whatever else happened since the last look, no timer was set."""
    return [
        f"{name} without Play" for name in set(subject.timers()) - {"requestAnimationFrame"}
    ]


def frame_faults(subject: Subject) -> list[str]:
    """A slider's effect is in the page by the second frame, all of it, and without motion."""
    faults = []
    for slider in sliders(subject):
        name, (place, _, most) = named(slider), slider.evaluate(READ_SLIDER)
        slider.focus()
        before = subject.root.inner_html()
        subject.root.evaluate("root => contract.watchNextKey(root)")
        subject.page.keyboard.press("ArrowLeft" if place == most else "ArrowRight")
        second = subject.page.evaluate("() => contract.atSecondFrame")
        subject.page.wait_for_timeout(IDLE_MILLISECONDS / 2)
        if second["html"] == before:
            faults.append(f"{name}: nothing is in the page by the second frame")
        elif second["html"] != subject.root.inner_html():
            faults.append(f"{name}: the effect comes in after the second frame")
        if second["inMotion"]:
            faults.append(
                f"{name}: something moves although the reader prefers reduced motion"
            )
    return faults


def play_faults(subject: Subject) -> list[str]:
    """Where there is a Play button, it goes on by itself until Pause, and only then."""
    play = subject.root.get_by_role("button", name="Play", exact=True)
    if play.count() == 0:
        return []
    subject.root.get_by_role("button", name="First step").click()
    before, waited = subject.snapshot()["value"], 0
    play.click()
    while subject.snapshot()["value"] == before and waited < PLAY_MILLISECONDS:
        subject.page.wait_for_timeout(IDLE_MILLISECONDS)
        waited += IDLE_MILLISECONDS
    faults = [] if waited < PLAY_MILLISECONDS else ["Play does nothing"]
    subject.root.get_by_role("button", name="Pause", exact=True).click()
    subject.timers()
    return faults


# 6. It can be printed. 8. Its state can be linked to.


def print_faults(subject: Subject) -> list[str]:
    """On screen the widget, on paper its stand-in; a widget without one is printed, but not its controls."""
    stand_in, faults = subject.page.locator(".widget-static"), []
    if stand_in.is_visible() or not subject.root.is_visible():
        faults.append("on screen the widget must replace its stand-in")
    subject.page.emulate_media(media="print")
    if not stand_in.is_visible() or subject.root.is_visible():
        faults.append("on paper the stand-in must replace the widget")
    stand_in.evaluate("block => block.remove()")
    controls = subject.root.locator(".widget-control").all()
    if not subject.root.is_visible() or any(control.is_visible() for control in controls):
        faults.append("a widget without stand-in must be printed, without its controls")
    subject.page.emulate_media(media="screen")
    return faults


def stand_in_faults(page, widgets: int) -> list[str]:
    """What is wrong with the stand-ins of a chapter's page that was opened without JavaScript.

    A chapter has one for each of its widgets, right before the cell that draws it.
    """
    stand_ins = page.locator(".widget-static")
    faults = stand_ins.evaluate_all(
        """blocks => blocks
            .filter(block => !block.nextElementSibling?.querySelector('[data-ojs]'))
            .map(block => `no cell follows the stand-in ${block.textContent.trim().slice(0, 60)}`)"""
    )
    hidden = [block for block in stand_ins.all() if not block.is_visible()]
    if hidden:
        faults.append(f"{len(hidden)} stand-ins can't be seen without JavaScript")
    if stand_ins.count() != widgets:
        faults.append(f"{stand_ins.count()} stand-ins for {widgets} widgets")
    return faults


def address_faults(subject: Subject) -> list[str]:
    """A state that was reached by hand is in the address, and the address leads there from anywhere."""
    page, faults = subject.page, []
    entries = page.evaluate("() => history.length")
    first = moved_state(subject, "Home")
    second = moved_state(subject, "End")
    for hash, _ in (first, second):
        if not hash.startswith("#w="):
            return [f"the address says {hash!r} after a change"]
    if page.evaluate("() => history.length") != entries:
        faults.append("a change adds to the history")
    page.evaluate("hash => { location.hash = hash; }", first[0])
    if not same(json.loads(subject.snapshot()["value"]), json.loads(first[1])):
        faults.append(f"{first[0]} does not lead back")
    fresh = page.context.new_page()
    other = Subject(fresh, subject.entry, subject.parity, subject.address + second[0])
    if not same(json.loads(other.snapshot()["value"]), json.loads(second[1])):
        faults.append(f"{second[0]} does not lead there from outside")
    faults += [f"opened by its link: {problem}" for problem in other.watch.problems]
    other.root.get_by_role("button", name="Copy link to this state").click()
    copied = fresh.evaluate("() => navigator.clipboard.readText()")
    fresh.close()
    if urlsplit(copied).fragment != second[0].lstrip("#"):
        faults.append(
            f"the copied link ends in {urlsplit(copied).fragment!r}, not in {second[0]}"
        )
    return faults


def moved_state(subject, key: str) -> tuple[str, str]:
    """Move the first slider, or else the first choice; return the address's last part and the value."""
    choices = subject.root.locator("[role=radiogroup] input:checked").all()
    [*sliders(subject), *choices][0].focus()
    value = subject.press(key)["value"]
    return subject.page.evaluate("() => location.hash"), value


# 7. What it shows is what Python computed.


def parity_faults(subject: Subject) -> list[str]:
    """Start the widget in each state that Python has computed; value and sentence must hold Python's numbers."""
    states = subject.parity["states"]
    if not states:
        return ["no state is held against Python"]
    shown = subject.page.evaluate(
        """async ({module, view, fixture, states}) => {
            const payload = await (await fetch(fixture)).json();
            const draw = (await import(module))[view];
            return states.map(({options}) => {
                const root = draw(payload, options);
                return {value: root.value, sentence: root.querySelector('.widget-says').textContent};
            });
        }""",
        {key: subject.entry[key] for key in ("module", "fixture")}
        | {"view": subject.entry["export"], "states": states},
    )
    faults = []
    for state, now in zip(states, shown, strict=True):
        for name, expected in state["value"].items():
            if not same(now["value"].get(name), expected):
                faults.append(
                    f"at {state['options']} {name} is {now['value'].get(name)}, Python says {expected}"
                )
        numbers = re.findall(r"\d+(?:\.\d+)?", now["sentence"].replace(",", ""))
        for expected in state["says"]:
            if not any(stands_for(shown_number, expected) for shown_number in numbers):
                faults.append(
                    f"at {state['options']} the sentence does not say {expected}: {now['sentence']}"
                )
    return faults


def stands_for(shown: str, number: float) -> bool:
    """Whether a number as shown is another one, exactly or rounded to at least two decimals."""
    decimals = len(shown.partition(".")[2])
    close = 0.5 * 10**-decimals * (1 + 1e-6) if decimals >= 2 else 1e-9
    return abs(float(shown) - abs(number)) <= close


def same(actual, expected) -> bool:
    """Equal but for the rounding of what is recorded or put into an address."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            same(actual.get(key), item) for key, item in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(actual) == len(expected)
            and all(map(same, actual, expected))
        )
    if isinstance(expected, float) or isinstance(actual, float):
        return isinstance(actual, int | float) and abs(actual - expected) <= 1e-5 * max(
            1.0, abs(expected)
        )
    return actual == expected


ON_LIGHT = (
    stillness_faults,
    naming_faults,
    parity_faults,
    focus_faults,
    key_faults,
    pointer_faults,
    timer_faults,
    frame_faults,
    play_faults,
    drawing_faults,
    address_faults,
    print_faults,
)


def drawing_faults_at_the_ends(subject: Subject) -> list[str]:
    """Move every control as far as it goes, then look again."""
    for group in radio_groups(subject):
        group.get_by_role("radio").last.click()
    for slider in sliders(subject):
        slider.focus()
        subject.press("End")
    for button in subject.buttons():
        if button.is_enabled():
            button.click()
    return drawing_faults(subject)


# The theme changes what is seen, not what is done.
ON_DARK = (naming_faults, focus_faults, drawing_faults_at_the_ends)


def contract_faults(subject: Subject, checks: tuple = ON_LIGHT) -> list[str]:
    """What the checks find wrong; the widget is drawn soundly before and after all its controls have been worked."""
    faults = [*timer_faults(subject), *drawing_faults(subject)]
    subject.watch.problems.clear()
    subject.timers()  # axe's own
    return [*faults, *(fault for check in checks for fault in check(subject))]
