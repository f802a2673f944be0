"""The report in headless Chromium: width, themes, sorting, the dialog, and that it asks nobody."""

import json
import os
import shutil

import pytest

from synthetic import latency_sweep, record
from thinwire_analysis.html_report.cli import main

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver (Debian: chromium-driver)"
)
PHONE, DESKTOP = (360, 740), (1280, 900)
SCREENS = [(size, theme) for size in (PHONE, DESKTOP) for theme in ("light", "dark")]
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
)  # fmt: skip
# Text against the ground that it stands on, WCAG 2: every element with text of its own.
LOWEST_CONTRAST = """
const channel = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const ground = (e) => { for (; e; e = e.parentElement) {
  const c = parts(getComputedStyle(e).backgroundColor);
  if (c.length === 3 || c[3] > 0) return c; } return [255, 255, 255]; };
const all = [...document.querySelectorAll('body *:not(script)')].filter((e) =>
  !e.closest('svg') && e.checkVisibility() &&
  [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()));
const ratios = all.map((e) => {
  const [a, b] = [light(parts(getComputedStyle(e).color)), light(ground(e))];
  return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.tagName + ': ' + e.textContent.slice(0, 40)]; });
return ratios.sort((x, y) => x[0] - y[0])[0];
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page of synthetic records with a failed point and long names."""
    folder = tmp_path_factory.mktemp("report")
    dead = record("prism", 3, 10, links=[(1e8, [0.1], [0.1])])
    dead.update(id="dead", status="failed", time=None, reason="rank 1 ended " + "x" * 200)
    records = [*latency_sweep(160e9), dead]
    (folder / "sweep.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    (folder / "timeline-voltage.json").write_text(json.dumps({"traceEvents": trace_events()}))
    (folder / "schema.json").write_text('{"type": "object"}')
    page = folder / "page" / "report.html"
    page.parent.mkdir()
    assert main([str(folder), "-o", str(page), "--schema", str(folder / "schema.json")]) == 0
    return page


def trace_events():
    return [
        {"ph": "X", "pid": 0, "name": name, "cat": kind, "tid": lane, "ts": start, "dur": 10e3,
         "args": {"layer": 0}}
        for name, kind, lane, start in (
            ("finish", "compute", 0, 0), ("to all", "transfer", 1, 10e3), ("wait", "wait", 0, 10e3)
        )
    ]  # fmt: skip


@pytest.fixture(params=SCREENS, ids=lambda s: f"{s[0][0]}x{s[0][1]}-{s[1]}")
def screen(request):
    return request.param


@pytest.fixture
def browser(page, screen, tmp_path):
    """Chromium at the size and theme of `screen`, the page loaded."""
    driver = start(tmp_path / "profile")
    try:
        show(driver, page, *screen)
        yield driver
    finally:
        driver.quit()


def start(profile):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(
        options=options, service=Service(DRIVER, env={**os.environ, "SE_AVOID_STATS": "true"})
    )
    driver.set_page_load_timeout(120)
    driver.set_script_timeout(120)
    return driver


def show(driver, page, size, theme):
    width, height = size
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE},
    )
    feature = {"name": "prefers-color-scheme", "value": theme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    driver.get(page.as_uri())


def find(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector)


def check_width(browser):
    """The page never scrolls sideways, also with everything unfolded; wide tables have boxes."""
    browser.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    widest, window = browser.execute_script(
        "return [document.documentElement.scrollWidth, innerWidth]"
    )
    assert widest <= window


def check_legible(browser, size):
    """Figures' text is at least 9 CSS pixels high in the layout that this width shows."""
    smallest = browser.execute_script(
        "return Math.min(...[...document.querySelectorAll('.plot text')]"
        ".filter((t) => t.checkVisibility() && t.textContent.trim())"
        ".map((t) => parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a || Infinity))"
    )
    assert smallest >= 9, f"{smallest:.1f} px at {size}"


def check_theme(browser, theme):
    """The system's choice first, then the button's; text keeps a contrast of 4.5 in both."""
    other = {"light": "dark", "dark": "light"}[theme]
    for expected in (theme, other):
        assert find(browser, "html").get_attribute("data-theme") == expected
        ratio, where = browser.execute_script(LOWEST_CONTRAST)
        assert ratio >= 4.5, f"{expected}: {ratio:.2f} at {where}"
        find(browser, "#theme").click()


def check_sorting(browser):
    """By the keyboard: Enter on a header sorts as numbers, again turns the order round."""
    table = next(
        t for t in browser.find_elements(By.CSS_SELECTOR, "table.sortable")
        if "p50 (ms)" in t.text and "status" in t.text
    )  # fmt: skip
    headers = table.find_elements(By.TAG_NAME, "th")
    place = next(i for i, h in enumerate(headers) if h.text.startswith("p50"))
    for order in ("ascending", "descending"):
        headers[place].find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
        assert headers[place].get_attribute("aria-sort") == order
        shown = browser.execute_script(
            "return [...arguments[0].tBodies[0].rows].map((r) => Number(r.cells[arguments[1]].textContent))",
            table, place,
        )  # fmt: skip
        assert len(set(shown)) > 10
        assert shown == sorted(shown, reverse=order == "descending")


def check_dialog(browser):
    """Opens from the keyboard, holds the figure, and Escape puts it back where it was."""
    button = find(browser, "figure .enlarge")
    button.send_keys(Keys.ENTER)
    dialog = find(browser, "dialog")
    assert dialog.get_attribute("open") is not None
    assert find(browser, "dialog svg").is_displayed()
    dialog.send_keys(Keys.ESCAPE)
    assert dialog.get_attribute("open") is None
    assert not browser.find_elements(By.CSS_SELECTOR, "dialog svg")
    assert browser.execute_script("return document.activeElement === arguments[0]", button)


def check_quiet(browser):
    """No error in the console, and no request but for the page itself (and Chromium's own start)."""
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert any(url.startswith("file:") for url in asked)
    assert [url for url in asked if not url.startswith(("file:", "data:", "chrome:"))] == []


def test_the_page_works_at_this_width_and_theme(browser, screen):
    size, theme = screen

    check_legible(browser, size)
    check_dialog(browser)
    check_theme(browser, theme)
    check_width(browser)
    check_sorting(browser)
    check_quiet(browser)


def test_a_page_without_script_still_shows_figures_and_tables(page, tmp_path):
    driver = start(tmp_path / "profile")
    try:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        show(driver, page, DESKTOP, "light")
        assert find(driver, "figure .wide svg").is_displayed()
        assert any(table.is_displayed() for table in driver.find_elements(By.TAG_NAME, "table"))
        assert not find(driver, ".enlarge").is_displayed()
    finally:
        driver.quit()
