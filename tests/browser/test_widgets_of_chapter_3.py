"""Chapter 3's widgets, moved by keyboard and by pointer: after every move they show what Python computes."""

import json
import re

import pytest
import torch
from observing import STEP_MILLISECONDS, TWO_FRAMES, Watch, cells_not_ready

from specdec.distributions import acceptance_rate, residual_distribution, total_variation
from specdec.enumeration import output_law
from specdec.randomness import categorical
from specdec.speculative import (
    best_gamma,
    expected_accepted_tokens,
    speculative_speedup,
    speculative_verify,
)

CHAPTER = "chapters/03-speculative-sampling.html"
SHOWN = 0.0051  # half of the last shown decimal, and a little for ties
PROBABILITY_SHOWN = 0.00051


@pytest.fixture(scope="module")
def chapter(browser, site):
    """The chapter's page, opened once, with nothing wrong on it before and after all that is done to it."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, reduced_motion="reduce"
    )
    context.set_default_timeout(STEP_MILLISECONDS)
    page = context.new_page()
    watch = Watch(page)
    page.goto(f"{site}/{CHAPTER}")
    assert cells_not_ready(page) == []
    yield page
    assert watch.problems == []
    context.close()


@pytest.fixture(scope="module")
def recorded(chapter):
    """What Python handed to the page: name → value."""
    scripts = chapter.locator('script[type="ojs-define"]').all_text_contents()
    return {
        item["name"]: item["value"]
        for text in scripts
        for item in json.loads(text)["contents"]
    }


def moves_by_keyboard(page, slider):
    """Press every key that moves a slider; yield when its effect must be seen: at the second frame."""
    slider.focus()
    for key in ("End", "ArrowLeft", "Home", "ArrowRight", "ArrowUp", "PageUp", "ArrowDown"):
        page.keyboard.press(key)
        page.evaluate(TWO_FRAMES)
        yield key


def moves_by_pointer(page, slider):
    """Press a slider at some places and drag it; yield when its effect must be seen."""
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    for share in (0.15, 0.5, 0.9):
        page.mouse.click(box["x"] + share * box["width"], middle)
        page.evaluate(TWO_FRAMES)
        yield f"click at {share}"
    page.mouse.down()
    page.mouse.move(box["x"] + 0.35 * box["width"], middle, steps=3)
    page.mouse.up()
    page.evaluate(TWO_FRAMES)
    yield "drag to 0.35"


MOVES = {"keyboard": moves_by_keyboard, "pointer": moves_by_pointer}


def move_and_check(page, slider, how, check):
    """Move a slider in every way of one kind, checking what is shown after each; it has to have moved."""
    positions = set()
    for move in MOVES[how](page, slider):
        check(move)
        positions.add(
            slider.evaluate(
                "slider => slider.value ?? slider.getAttribute('aria-valuenow')"
            )
        )
    assert len(positions) >= 3, f"the slider hardly moved: {positions}"


def value_of(widget):
    return widget.evaluate("widget => widget.value")


def number_in(text, pattern):
    """Read a number that a widget shows."""
    found = re.search(pattern, text)
    assert found, f"no {pattern} in {text!r}"
    return float(found[1])


@pytest.mark.parametrize("how", MOVES)
@pytest.mark.parametrize("name", ["α", "γ", "c"])
def test_speedup_explorer(chapter, name, how):
    widget = chapter.locator(".widget-speedup")
    slider = widget.locator(f'input[type=range][aria-label^="{name},"]')
    move_and_check(chapter, slider, how, lambda move: check_speedup(widget, move))


def check_speedup(widget, move):
    alpha, gamma, c = widget.locator("input[type=range]").evaluate_all(
        "all => all.map(slider => +slider.value)"
    )
    said = widget.locator("[aria-live]").inner_text()
    setting = [number_in(said, rf"{name} = ([\d.]*\d)") for name in ("α", "γ", "c")]
    assert setting == pytest.approx([alpha, gamma, c]), move
    tokens, speedup = (
        number_in(said, r"([\d.]+) tokens per target pass"),
        number_in(said, r"([\d.]+)× the speed"),
    )
    assert tokens == pytest.approx(
        expected_accepted_tokens(alpha, int(gamma)), abs=SHOWN
    ), move
    assert speedup == pytest.approx(speculative_speedup(alpha, int(gamma), c), abs=SHOWN), (
        move
    )
    best = best_gamma(alpha, c, 16)
    assert value_of(widget)["bestGamma"] == best, move
    assert f"best at γ = {best}" in widget.locator(
        '[aria-label^="Speed-up against"]'
    ).get_attribute("aria-label"), move
    assert ("any gain needs α > c" in said) == (best == 0), move


@pytest.mark.parametrize("how", MOVES)
def test_accept_lab_bars(chapter, how):
    widget = chapter.locator(".widget-accept")
    for slider in widget.get_by_role("slider").all():
        move_and_check(chapter, slider, how, lambda move: check_accept_lab(widget, move))


def test_accept_lab_starts_and_rules_by_pointer_and_by_keyboard(chapter):
    widget = chapter.locator(".widget-accept")
    groups = widget.get_by_role("radiogroup").all()
    assert len(groups) == 2
    for group in groups:
        for label in group.locator("label").all():
            label.click()
            chapter.evaluate(TWO_FRAMES)
            check_accept_lab(widget, label.inner_text())
    rules = set()
    for _ in range(3):
        chapter.keyboard.press("ArrowRight")
        chapter.evaluate(TWO_FRAMES)
        check_accept_lab(widget, "ArrowRight")
        rules.add(value_of(widget)["rule"])
    assert rules == set(LAWS)


def law_by_enumeration(p, q):
    """Walk every branch of the real verifier on one drafted token."""

    def first_token(walker):
        drafted = categorical(q, walker)
        return speculative_verify(torch.stack([p, p]), q[None], drafted, walker)[0][
            0
        ].item()

    law = output_law(first_token)
    return torch.tensor(
        [law.get(token, 0.0) for token in range(len(p))], dtype=torch.float64
    )


LAWS = {
    "correct": law_by_enumeration,
    "residual_from_p": lambda p, q: (
        torch.minimum(p, q) + (1 - torch.minimum(p, q).sum()) * p
    ),
    "accept_all": lambda p, q: q,
}


def check_accept_lab(widget, move):
    state = value_of(widget)
    p, q = (torch.tensor(state[name], dtype=torch.float64) for name in "pq")
    assert p.sum().item() == pytest.approx(1) and q.sum().item() == pytest.approx(1), move
    law = LAWS[state["rule"]](p, q)
    rows = widget.locator(".lab-token").evaluate_all(
        """rows => rows.map(row => [...row.querySelectorAll('[role=slider]')]
            .map(slider => slider.getAttribute('aria-valuenow'))
            .concat([...row.querySelectorAll('.lab-value')].pop().textContent).map(Number))"""
    )
    expected = torch.stack([p, q, law], dim=1).tolist()
    for row, numbers in zip(rows, expected, strict=True):
        assert row == pytest.approx(numbers, abs=PROBABILITY_SHOWN), move
    figures = widget.locator(".lab-figures").inner_text()
    alpha = number_in(figures, r"accepted α = ([\d.]+)")
    assert alpha == pytest.approx(acceptance_rate(p, q), abs=PROBABILITY_SHOWN), move
    assert alpha == pytest.approx(1 - total_variation(p, q), abs=PROBABILITY_SHOWN), move
    exact = "the law of the output is p" in figures
    distance = 0.0 if exact else number_in(figures, r"([\d.]+) away from p")
    assert distance == pytest.approx(total_variation(law, p), abs=PROBABILITY_SHOWN), move
    assert exact == (total_variation(law, p) < 5e-7), move
    if alpha < 1:
        assert state["residual"] == pytest.approx(
            residual_distribution(p, q).tolist(), abs=1e-9
        ), move


TAMPER = "node => { node.textContent = node.textContent.replace(/\\d\\.\\d/, '9.9'); }"


@pytest.mark.parametrize(
    ("name", "shown", "check"),
    [
        ("speedup", "[aria-live]", check_speedup),
        ("accept", ".lab-value >> nth=2", check_accept_lab),
        ("accept", ".lab-figures span >> nth=0", check_accept_lab),
    ],
)
def test_a_wrong_number_on_the_page_is_caught(chapter, name, shown, check):
    widget = chapter.locator(f".widget-{name}")
    check(widget, "as drawn")
    number = widget.locator(shown)
    right = number.inner_text()
    number.evaluate(TAMPER)
    with pytest.raises(AssertionError):
        check(widget, "tampered with")
    number.evaluate("(node, text) => { node.textContent = text; }", right)


@pytest.fixture(scope="module")
def rounds(recorded):
    """The rounds that the stepper was given, and its labels; every verdict follows from p, q and u."""
    data = next(
        value
        for value in recorded.values()
        if isinstance(value, dict) and "rounds" in value
    )
    for played in data["rounds"]:
        for test in played["tests"]:
            assert test["accepted"] == (test["u"] < min(1.0, test["p"] / test["q"]))
    return data


def step_by_keyboard(stepper):
    stepper.page.keyboard.press("ArrowRight")


def step_by_pointer(stepper):
    stepper.get_by_role("button", name="Next step").click()


@pytest.mark.parametrize("take_step", [step_by_keyboard, step_by_pointer])
def test_round_stepper_tells_every_round_as_python_played_it(chapter, rounds, take_step):
    widget = chapter.locator(".widget-round")
    stepper = widget.get_by_role("group", name="Steps")
    for number, played in enumerate(rounds["rounds"]):
        widget.get_by_role("radio", name=str(number + 1), exact=True).click()
        stepper.get_by_role("slider").focus()
        kinds = kinds_of_steps(played)
        for step, kind in enumerate(kinds):
            chapter.evaluate(TWO_FRAMES)
            state = value_of(widget)
            assert (state["round"], state["step"], state["kind"]) == (number, step, kind)
            check_step(widget, played, rounds["labels"], step, kind)
            if kind != kinds[-1]:
                take_step(stepper)
        assert (
            stepper.get_by_role("button", name="Next step").get_attribute("aria-disabled")
            == "true"
        )


def kinds_of_steps(played):
    drafted, tested = ["draft"] * len(played["proposed"]), ["test"] * len(played["tests"])
    return ["start", *drafted, "score", *tested, played["last_kind"], "commit"]


def check_step(widget, played, labels, step, kind):
    said = widget.locator("[aria-live]").inner_text()
    kinds = kinds_of_steps(played)
    tested = kinds[: step + 1].count("test")
    ended = kinds[: step + 1].count(played["last_kind"])
    accepted = sum(test["accepted"] for test in played["tests"][:tested])
    assert output_row(widget) == [
        labels[token] for token in played["emitted"][: accepted + ended]
    ]
    if kind == "test":
        check_test(said, played["tests"][tested - 1], labels)
    elif kind == "correction":
        p, q = (
            torch.tensor(played[name][accepted], dtype=torch.float64)
            for name in ("target_probs", "draft_probs")
        )
        assert residual_distribution(p, q).tolist() == pytest.approx(
            played["residual"], abs=1e-4
        )
        assert f"Drawn: “{labels[played['emitted'][-1]]}”" in said
    elif kind == "commit":
        assert f"emits {played['n_accepted'] + 1} token" in said


def check_test(said, test, labels):
    assert f"“{labels[test['token']]}”" in said
    for name in "pqu":
        shown = number_in(said, rf"\b{name} = ([\d.]*\d)")
        assert shown == pytest.approx(test[name], abs=PROBABILITY_SHOWN)
    assert said.rstrip(".").endswith(
        "accepted" if test["u"] < min(1.0, test["p"] / test["q"]) else "rejected"
    )


def output_row(widget):
    """The tokens in the table's last row, without their marks and spoken words."""
    tokens = widget.locator("tr", has_text="Output").locator(".widget-chip > span")
    return tokens.and_(
        widget.locator(":not(.chip-mark, .widget-only-heard)")
    ).all_inner_texts()


def test_round_stepper_goes_to_the_ends_by_key_button_and_slider(chapter, rounds):
    widget = chapter.locator(".widget-round")
    stepper = widget.get_by_role("group", name="Steps")
    last = len(kinds_of_steps(rounds["rounds"][value_of(widget)["round"]])) - 1
    slider = stepper.get_by_role("slider")
    slider.focus()
    for press, step in [
        (lambda: chapter.keyboard.press("End"), last),
        (lambda: chapter.keyboard.press("ArrowLeft"), last - 1),
        (lambda: chapter.keyboard.press("Home"), 0),
        (lambda: stepper.get_by_role("button", name="Last step").click(), last),
        (lambda: stepper.get_by_role("button", name="Previous step").click(), last - 1),
        (lambda: stepper.get_by_role("button", name="First step").click(), 0),
        (
            lambda: slider.click(
                position={"x": slider.bounding_box()["width"] - 2, "y": 5}
            ),
            last,
        ),
    ]:
        press()
        chapter.evaluate(TWO_FRAMES)
        assert value_of(widget)["step"] == step


def test_nothing_moves_until_play_is_pressed(chapter):
    widget = chapter.locator(".widget-round")
    stepper = widget.get_by_role("group", name="Steps")
    stepper.get_by_role("button", name="First step").click()
    chapter.wait_for_timeout(500)
    assert value_of(widget)["step"] == 0
    stepper.get_by_role("button", name="Play").click()
    chapter.wait_for_function(
        "() => document.querySelector('.widget-round').value.step > 0"
    )
    stepper.get_by_role("button", name="Pause").click()
