"""The page in a real browser: Debian's Chromium, driven by Playwright, judged by axe-core."""

from __future__ import annotations

import shutil

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from analysis.explain.overview import overview
from analysis.paging import Page, write_page
from analysis.store.base import Journal
from analysis.store.selection import EVERYTHING
from tests.support import journals, method
from tests.support.builders import record

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian's package chromium)"),
    pytest.mark.timeout(180),
]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m\u202e" + "long" * 500


def hostile():
    """One exchange whose model, client and label are hostile."""
    return Journal(records=(record(model_served=HOSTILE, client=HOSTILE, label=HOSTILE),))


PAGES = {
    "demo": journals.demo,
    "field": method.method,
    "one": journals.field_report,
    "errors": journals.only_errors,
    "hostile": hostile,
}


@pytest.fixture(scope="module", name="browser")
def _browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, make in PAGES.items():
        journal = make()
        write_page(folder / f"{name}.html", Page(overview(journal), journal, EVERYTHING))
    return folder


def opened(browser, folder, name, *, width=1400, scheme="light"):
    """A tab with the page, and the list of what it asks for and complains of, from now on as well."""
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda fault: said.append(str(fault)))
    tab.on("dialog", lambda dialog: said.append(dialog.message))
    tab.on("request", lambda request: said.append(request.url))
    tab.goto(f"file://{folder}/{name}.html")
    said.remove(f"file://{folder}/{name}.html")
    return tab, said


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_quiet_fits_and_is_accessible(browser, folder, name, width, scheme):
    """No request, no complaint, no scrolling sideways, no violation that axe-core can find."""
    tab, said = opened(browser, folder, name, width=width, scheme=scheme)
    wide = tab.evaluate("document.documentElement.scrollWidth")
    for details in tab.query_selector_all("details"):
        details.evaluate("each => { each.open = true }")
    # axe is put in by the debugger, which the page's own policy does not bind.
    found = Axe().run(tab).response["violations"]
    tab.close()

    assert said == []
    assert wide <= width
    assert [(each["id"], each["nodes"][0]["html"][:120]) for each in found] == []


def test_every_picture_has_its_table(browser, folder):
    """Bars, dots, waterfall, clock: each in a section with a table."""
    tab, _ = opened(browser, folder, "field")
    sections = tab.query_selector_all("section:has([role=img])")

    assert [s.get_attribute("id") for s in sections] == [
        "turn",
        "prompt",
        "scatter",
        "falls",
        "clock",
    ]
    assert all(section.query_selector("table") for section in sections)
    assert len(tab.query_selector_all("#scatter circle")) == 43
    assert tab.text_content("#headline").strip().startswith("The median of 31 turns took 16.1 s")
    tab.close()


def test_everything_is_reached_by_the_keyboard(browser, folder):
    """Each summary, each heading of the sortable table, each table that scrolls; Enter sorts."""
    tab, _ = opened(browser, folder, "field")
    wanted = tab.evaluate(
        "document.querySelectorAll('summary, table.sortable button, .scroll:not(details:not([open]) *)').length"
    )
    reached = set()
    for _ in range(wanted + 5):
        tab.keyboard.press("Tab")
        place = tab.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)")
        reached.add(place)
    assert len(reached - {-1}) >= wanted

    first = "#tool-table tbody tr th"
    assert tab.text_content(first) == "browser_snapshot"
    tab.focus("#tool-table th:nth-child(4) button")
    tab.keyboard.press("Enter")
    assert tab.get_attribute("#tool-table th:nth-child(4)", "aria-sort") == "descending"
    assert tab.text_content(first) != "browser_snapshot"
    tab.close()


def test_hostile_names_do_nothing(browser, folder):
    """They stand there as text."""
    tab, said = opened(browser, folder, "hostile")

    assert said == []
    assert tab.query_selector("img") is None
    assert "<img src=x" in tab.text_content("main")
    tab.close()


def test_the_field_report_prints_on_two_pages(browser, folder):
    """A4, with everything that a reader of paper needs."""
    tab, _ = opened(browser, folder, "field")
    side = "12mm"
    paper = tab.pdf(format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), side))
    tab.close()

    assert paper.count(b"/Type /Page\n") + paper.count(b"/Type /Page ") <= 2
    assert paper.startswith(b"%PDF")
