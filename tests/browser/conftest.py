"""One Chromium for all browser tests, and the built site served on this machine."""

import os

import pytest
from headless import browsing, find_chromium, serving
from observing import SITE, STEP_MILLISECONDS, page_paths

VIEWPORTS = {
    "phone": {"width": 390, "height": 844},
    "laptop": {"width": 1280, "height": 800},
}


def pytest_generate_tests(metafunc):
    """A test that takes ``page_path`` runs for every page of the site."""
    if "page_path" in metafunc.fixturenames:
        metafunc.parametrize("page_path", page_paths())


@pytest.fixture(scope="session")
def browser():
    chromium = find_chromium()
    if chromium is None:
        message = (
            "Chromium or Chrome is not on the PATH: on Debian, `apt-get install chromium`"
        )
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    with browsing(chromium) as started:
        yield started


@pytest.fixture(scope="session")
def site():
    """The address of the built site."""
    if not (SITE / "index.html").exists():
        pytest.fail("there is no _site: run `make book` first")
    with serving(SITE) as address:
        yield address


@pytest.fixture
def new_page(browser):
    """Open fresh pages: a viewport by name, a colour scheme; all are closed after the test."""
    contexts = []

    def open_page(viewport="laptop", theme="light", **options):
        context = browser.new_context(
            viewport=VIEWPORTS[viewport], color_scheme=theme, **options
        )
        context.set_default_timeout(STEP_MILLISECONDS)
        contexts.append(context)
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()
