# SPDX-License-Identifier: BSD-2-Clause
"""Headless Chromium: opens a page from a file, presses keys, emulates media, and reports
requests and errors. Chromium, its driver and selenium are Debian's; so is the Python that has
them."""

import base64
import json
import os
import shutil
import subprocess
import sys

from .part import Failed, Skipped, check

PYTHON = "/usr/bin/python3"  # selenium belongs to it
BROWSER, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-dev-shm-usage", "--disable-background-networking", "--disable-extensions",
             "--force-device-scale-factor=1")
AXE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "axe")


def with_selenium():
    """Restarts the program with Debian's Python if this one has no selenium."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        if os.path.realpath(sys.executable) != os.path.realpath(PYTHON) and os.access(PYTHON, os.X_OK):
            os.execv(PYTHON, [PYTHON, *sys.argv])


class Browser:
    def __init__(self, stack, work):
        try:
            from selenium import webdriver
            from selenium.webdriver.chrome.service import Service
        except ImportError:
            raise Skipped("python3-selenium is not installed") from None
        for program in (BROWSER, DRIVER):
            if not os.access(program, os.X_OK):
                raise Skipped(f"{program} is not there")
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for argument in (*ARGUMENTS, f"--user-data-dir={work}/chromium"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        stack.callback(self.driver.quit)
        self.fresh()

    def cdp(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def js(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def fresh(self):
        """The state at the start: a desktop, light, scripts on."""
        self.size(1280)
        self.media()
        self.cdp("Emulation.setScriptExecutionDisabled", value=False)

    def size(self, width, height=900):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                 mobile=False)

    def media(self, kind="", **features):
        """media("print"), media(prefers_color_scheme="dark")"""
        self.cdp("Emulation.setEmulatedMedia", media=kind,
                 features=[{"name": name.replace("_", "-"), "value": value}
                           for name, value in features.items()])

    def open(self, path):
        """Opens the page, with an empty log."""
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get("file://" + path)

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Requests since the page was opened that its policy did not refuse."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        refused = {event["params"]["requestId"] for event in events
                   if event["method"] == "Network.loadingFailed"
                   and event["params"].get("blockedReason") == "csp"}
        return [event["params"]["request"]["url"] for event in events
                if event["method"] == "Network.requestWillBeSent"
                and event["params"]["requestId"] not in refused]

    def key(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains
        ActionChains(self.driver, duration=0).send_keys(*keys).perform()

    def drag(self, element, begin, end):
        """Drags over an element, from and to shares of its width."""
        from selenium.webdriver.common.action_chains import ActionChains
        width = element.size["width"]
        ActionChains(self.driver, duration=50).move_to_element_with_offset(
            element, int((begin - 0.5) * width), 0).click_and_hold().move_to_element_with_offset(
            element, int((end - 0.5) * width), 0).release().perform()

    def find(self, selector):
        found = self.driver.find_elements("css selector", selector)
        check(found, f"nothing on the page is {selector}")
        return found

    def focus(self, selector):
        self.js("document.querySelector(arguments[0]).focus()", selector)

    def open_folds(self):
        self.js("for (const d of document.querySelectorAll('details')) d.open = true")

    def printed(self):
        """The text of the page on A4."""
        if not shutil.which("pdftotext"):
            raise Skipped("pdftotext is not there: poppler-utils")
        pdf = base64.b64decode(self.cdp("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"])
        done = subprocess.run(["pdftotext", "-layout", "-", "-"], input=pdf, capture_output=True, check=True)
        return done.stdout.decode()

    def axe(self, script):
        """The errors found by axe-core: "rule: element (why)"."""
        self.js(script)
        done = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']})"
            ".then(r => done(r.violations), e => done(String(e)))")
        if isinstance(done, str):
            raise Failed(f"axe: {done}")
        return [f"{rule['id']}: {node['target']} ({node['failureSummary'].splitlines()[-1].strip()})"
                for rule in done for node in rule["nodes"]]


def axe_core():
    """axe-core, installed from axe/package-lock.json, whose hash npm verifies; kept for the next
    time."""
    if not shutil.which("npm"):
        raise Skipped("axe-core: npm is not installed")
    cache = os.path.join(os.environ.get("CACHEMON_BUILD") or os.path.expanduser("~/.cache/cachemon"), "axe")
    with open(f"{AXE}/package-lock.json", encoding="utf-8") as f:
        wanted = f.read()
    script = f"{cache}/node_modules/axe-core/axe.min.js"
    kept = f"{cache}/package-lock.json"
    if not os.path.exists(script) or not os.path.exists(kept) or open(kept, encoding="utf-8").read() != wanted:
        os.makedirs(cache, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(f"{AXE}/{name}", cache)
        try:
            done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=cache,
                                  capture_output=True, text=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            os.unlink(kept)
            raise Skipped("axe-core: npm fetched nothing within 60 s") from None
        if "EINTEGRITY" in done.stderr:
            raise Failed(f"axe-core is not what it was: {done.stderr[:300]}")
        if done.returncode:
            os.unlink(kept)
            raise Skipped(f"axe-core: npm fetched nothing: {done.stderr.strip()[-200:]}")
    with open(script, encoding="utf-8") as f:
        return f.read()
