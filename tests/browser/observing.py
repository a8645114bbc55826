"""What must hold on every page of the site, as functions that return what is wrong; empty lists are good news."""

from pathlib import Path
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from headless import draw_cells, settle

SITE = Path(__file__).resolve().parents[2] / "_site"
DRAWN_WITHIN_MILLISECONDS = 15_000
STEP_MILLISECONDS = 10_000  # for a click, a key or a page to have its effect
TWO_FRAMES = (
    "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
)


def page_paths() -> list[str]:
    """Every page of the built site, relative to it; what lies in ``widgets/`` are materials, not pages."""
    pages = (path.relative_to(SITE) for path in SITE.rglob("*.html"))
    return sorted(page.as_posix() for page in pages if page.parts[0] != "widgets")


class Watch:
    """Listens to a page from its first request on and notes what a reader's browser should never meet."""

    def __init__(self, page):
        self.problems = []
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.problems.append(f"uncaught error: {error}"))
        page.on("request", self._on_request)
        page.on(
            "requestfailed",
            lambda request: self.problems.append(f"request failed: {request.url}"),
        )
        page.on("response", self._on_response)

    def _on_console(self, message):
        if message.type in {"error", "warning"}:
            self.problems.append(f"console {message.type}: {message.text}")

    def _on_request(self, request):
        address = urlsplit(request.url)
        if address.scheme not in {"data", "blob"} and address.hostname != "127.0.0.1":
            self.problems.append(f"request to another host: {request.url}")

    def _on_response(self, response):
        if response.status >= 400:
            self.problems.append(f"status {response.status}: {response.url}")


def everything_wrong_with(page, address: str) -> list[str]:
    """Open an address in a fresh page, wait until it is drawn, and return all that is wrong with it."""
    watch = Watch(page)
    page.goto(address)
    unready = cells_not_ready(page)
    settle(page)
    return [
        *watch.problems,
        *unready,
        *overflowing(page),
        *without_policy(page),
        *axe_findings(page),
    ]


def cells_not_ready(page) -> list[str]:
    """Have every OJS cell drawn; return those that failed or never were."""
    draw_cells(page, DRAWN_WITHIN_MILLISECONDS)
    return page.evaluate(
        """() => [...document.querySelectorAll('[data-ojs]')]
            .filter(cell => cell.dataset.ojsState !== 'ready')
            .map(cell => `OJS cell ${cell.id} is ${cell.dataset.ojsState || 'not drawn'}: ${cell.textContent}`)"""
    )


def overflowing(page) -> list[str]:
    """Name what makes the page scroll sideways."""
    return page.evaluate(
        """() => {
            const root = document.documentElement;
            if (root.scrollWidth <= root.clientWidth) return [];
            const scrolls = element => element && element !== document.body &&
                (getComputedStyle(element).overflowX !== 'visible' || scrolls(element.parentElement));
            const name = element => element.localName + (element.id ? '#' + element.id : '') +
                [...element.classList].map(word => '.' + word).join('');
            const wide = [...document.body.querySelectorAll('*')].filter(element =>
                element.getBoundingClientRect().right > root.clientWidth + 0.5 && !scrolls(element.parentElement));
            return [`page is ${root.scrollWidth} px wide in ${root.clientWidth} px: ` +
                wide.slice(0, 5).map(name).join(', ')];
        }"""
    )


def without_policy(page) -> list[str]:
    """Check that the page's content security policy keeps scripts to the site's own files, with no eval."""
    policy = page.evaluate(
        """() => document.querySelector('meta[http-equiv="Content-Security-Policy"]')?.content || ''"""
    )
    directives = dict(
        part.strip().partition(" ")[::2] for part in policy.split(";") if part.strip()
    )
    expected = {"default-src": "'self'", "script-src": "'self'"}
    return [
        f"content security policy has {name} {directives.get(name)}, must be {sources}"
        for name, sources in expected.items()
        if directives.get(name, directives.get("default-src")) != sources
    ]


def axe_findings(page) -> list[str]:
    """What axe finds serious or critical, with the place of each."""
    # Of what is in order no list is kept: on a page full of formulas making it takes most of the time.
    run = Axe().run(page, options={"resultTypes": ["violations"]})
    found = run.response["violations"]
    return [
        f"axe {finding['impact']} {finding['id']}: {node['target']} {node['html'][:120]}"
        for finding in found
        if finding["impact"] in {"serious", "critical"}
        for node in finding["nodes"][:3]
    ]
