#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Actions in a browser, by mouse and keys: sorting, filtering, zooming, copying, folding, and
moving the focus."""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib import chromium  # noqa: E402
from syslib.pagecase import Pages, page_case  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402

ENTER, TAB, SPACE, ESCAPE = "\ue007", "\ue004", " ", "\ue00c"
part = Part(__doc__)


def column(browser, number):
    return browser.js("return [...document.querySelectorAll('#files table')[0].tBodies[0].rows]"
                      ".map(r => r.cells[arguments[0]].textContent)", number)


def in_units(text):
    """The number in "10.0 ms", "1,234", ">=3"."""
    found = re.match(r"[<>=~]*([\d.,]+) ?(\w*)", text)
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "m": 60}
    return float(found[1].replace(",", "")) * units.get(found[2], 1) if found else None


@page_case(part)
def sorting(browser, pages):
    """By mouse and by keys; numbers by value, unknown ones last, equal ones in their previous
    order."""
    browser.open(pages["rich"])
    heads = browser.js("return [...document.querySelectorAll('#files table')[0].tHead.rows[0].cells]"
                       ".map(c => c.textContent)")
    for name in ("MISSES", "WAITED"):
        number = heads.index(name)
        before = list(zip(column(browser, number), column(browser, 0)))
        button = browser.find("#files table th button")[number]
        how = {True: lambda b=button: b.click(), False: lambda: browser.key(ENTER)}
        for mouse, word in ((True, "descending"), (False, "ascending")):
            browser.js("arguments[0].focus()", button)
            how[mouse]()
            states = browser.js("return [...document.querySelectorAll('#files table')[0].tHead.rows[0].cells]"
                                ".map(c => c.getAttribute('aria-sort'))")
            equal("aria-sort", states[number], word)
            equal("sorted columns", sum(s not in (None, "none") for s in states), 1)
            known = [row for row in before if in_units(row[0]) is not None]
            wanted = sorted(known, key=lambda row: in_units(row[0]), reverse=mouse)
            before = wanted + [row for row in before if in_units(row[0]) is None]
            equal(f"{name}, {word}", list(zip(column(browser, number), column(browser, 0))), before)
    for word in ("descending", "ascending"):
        browser.find("#files table th button")[0].click()
        names = column(browser, 0)
        by_rule = browser.js("return arguments[0].sort((a, b) => a.localeCompare(b))", list(names))
        check(len(set(names)) > 1, "one name cannot show an order")
        equal(f"names, {word}", names, by_rule if word == "ascending" else by_rule[::-1])


def rows_shown(browser):
    return browser.js("return [...document.querySelectorAll('#files table')[0].tBodies[0].rows]"
                      ".filter(r => r.checkVisibility()).map(r => r.cells[0].textContent)")


@page_case(part)
def filtering(browser, pages):
    """Long tables are cut at first, but a search covers all of their rows."""
    browser.open(pages["rich"])
    names = column(browser, 0)
    check(len(rows_shown(browser)) == 10 < len(names), f"{len(rows_shown(browser))} rows of {len(names)}")
    browser.focus("#files input")
    browser.key("PART-0001")
    wanted = [name for name in names if "part-0001" in name]
    equal("rows with it", rows_shown(browser), wanted)
    told = browser.js("return document.querySelector('#files [role=status]').textContent")
    equal("how many", told, f"{len(wanted)} of {len(names)}")
    browser.js("const i = document.querySelector('#files input'); i.value = ''; "
               "i.dispatchEvent(new Event('input'))")
    browser.find("#files button.more")[0].click()
    equal("all rows", rows_shown(browser), names)
    check(not browser.find("#files button.more")[0].is_displayed(), "there is more to show than all")


@page_case(part)
def the_list_of_runs(browser, pages):
    """All rows at once, in any order, searched."""
    browser.open(pages["runs"])
    cells = ("return [...document.querySelector('#runs table').tBodies[0].rows].filter(r => r.checkVisibility())"
             ".map(r => r.cells[arguments[0]].textContent)")
    heads = browser.js("return [...document.querySelectorAll('#runs thead th')].map(c => c.textContent)")
    runs = browser.js(cells, 0)
    check(len(runs) > 40, f"{len(runs)} runs at first")
    browser.find("#runs th button")[heads.index("HITS")].click()
    hits = [float(cell.rstrip(" %")) for cell in browser.js(cells, heads.index("HITS"))]
    check(len(set(hits)) > 10 and hits == sorted(hits, reverse=True), f"hits {hits}")
    browser.focus("#runs input")
    browser.key("job-3")
    check(0 < len(browser.js(cells, 0)) < len(runs) / 2, "the search shows what has not the word")
    check(all("job-3" in job for job in browser.js(cells, heads.index("JOB"))), "the search shows others")


def view(browser):
    """The part that each panel of the timelines shows: begin and length, 0 to 1."""
    found = browser.js("return [...document.querySelectorAll('[data-zoom] .shapes')].map(s => "
                       "[s.viewBox.baseVal.x / 12000, s.viewBox.baseVal.width / 12000])")
    check(all(v == found[0] for v in found), f"panels show different parts: {found}")
    return tuple(round(v, 2) for v in found[0])


def seconds(text):
    """The seconds in "5 s", "1m 30s", "2h"."""
    return sum(float(number) * {"h": 3600, "m": 60, "s": 1}[unit]
               for number, unit in re.findall(r"([\d.]+) ?([hms])", text))


def shown_is_named(browser):
    """The ticks of the axis are in the visible part, at the time of their label; so is the text
    of the announcement."""
    begin, end, x, wide, told, places = browser.js("""
        const p = document.querySelector('#time [data-zoom]');
        const view = p.querySelector('.shapes').viewBox.baseVal;
        return [...p.dataset.zoom.split(' ').map(Number), view.x / 12000, view.width / 12000, document.querySelector('#time .zoom [role=status]').textContent,
            [...p.querySelectorAll('.axis text')].map(t => [t.textContent, parseFloat(t.getAttribute('x')) / 100])]""")
    from_, length = begin + x * (end - begin), wide * (end - begin)
    check(len(places) >= 2, f"one place or none: {places}")
    for text, share in places:
        check(abs(seconds(text) - from_ - share * length) <= 0.02 * length, f"{text} is drawn at {share} of {told}")
    if told:
        shown = [seconds(text) for text in told.removeprefix("showing ").split(" to ")]
        check(abs(shown[0] - from_) <= 0.05 * length and abs(shown[1] - from_ - length) <= 0.05 * length,
              f"{told}, not {from_} to {from_ + length}")


@page_case(part)
def zoom(browser, pages):
    browser.open(pages["rich"])
    buttons = {b.text: b for b in browser.find("#time .zoom button")}
    equal("at first", view(browser), (0, 1))
    for name, wanted in (("Zoom in", (0.25, 0.5)), ("Later", (0.5, 0.5)), ("Zoom in", (0.62, 0.25)),
                         ("Earlier", (0.5, 0.25)), ("Zoom out", (0.38, 0.5)), ("All", (0, 1))):
        browser.js("arguments[0].focus()", buttons[name])
        browser.key(SPACE)
        got = view(browser)
        check(all(abs(a - b) < 0.011 for a, b in zip(got, wanted)), f"{name}: {got}, not {wanted}")
        told = browser.js("return document.querySelector('#time .zoom [role=status]').textContent")
        equal(f"{name} is told", bool(told), name != "All")
        shown_is_named(browser)
    plot = browser.find("#time .plot")[0]
    browser.js("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", plot)
    browser.drag(plot, 0.2, 0.6)
    got = view(browser)
    check(abs(got[0] - 0.2) < 0.03 and abs(got[1] - 0.4) < 0.03, f"drawn over: {got}")
    buttons["All"].click()
    equal("back", view(browser), (0, 1))


@page_case(part)
def zoom_of_two(browser, pages):
    """Pictures of the same time show the same part, whichever of them is zoomed; it is announced
    once."""
    browser.open(pages["compare"])
    equal("pictures over time", len(browser.find(".pair [data-zoom]")), 2)
    bars = browser.find(".pair .zoom")
    for bar, name, wanted in ((0, "Zoom in", (0.25, 0.5)), (1, "Later", (0.5, 0.5)), (0, "All", (0, 1))):
        next(b for b in bars[bar].find_elements("css selector", "button") if b.text == name).click()
        equal(f"{name}, by bar {bar}", view(browser), wanted)
    plot = browser.find(".pair [data-zoom] .plot")[-1]
    browser.js("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", plot)
    browser.drag(plot, 0.2, 0.6)
    check(abs(view(browser)[0] - 0.2) < 0.03, f"drawn over the second: {view(browser)}")
    told = browser.js("return [...document.querySelectorAll('.pair .zoom span')].map(s => [s.textContent, s.role])")
    equal("told beside both", told[0][0], told[1][0])
    equal("heard", [role for _, role in told], ["status", None])
    ticks = browser.js("return [...document.querySelectorAll('.pair figure')].filter(f => f.querySelector('.zoom'))"
                       ".map(f => [...f.querySelectorAll('.axis text')].map(t => [t.textContent, t.getAttribute('x')]))")
    equal("places of the axis", ticks[0], ticks[1])


def tip(browser):
    return browser.js("return [...document.querySelectorAll('.tip:not([hidden])')].map(t => t.textContent)")


@page_case(part)
def behind_the_end(browser, pages):
    """With two runs on one axis, the shorter one has no values after its end, and the last row
    of its table is not announced."""
    browser.open(pages["compare"])
    ends = browser.js("return [...document.querySelectorAll('.pair figure')].filter(f => f.querySelector('.zoom'))"
                      ".map(f => [...f.querySelectorAll('.numbers tbody tr')].at(-1).cells[1].textContent)")
    seconds = [in_units(end) for end in ends]
    shorter = seconds.index(min(seconds))
    check(min(seconds) < 0.97 * max(seconds), f"runs that end at {ends} show nothing")
    for which in (shorter, 1 - shorter):
        plot = browser.js("return [...document.querySelectorAll('.pair [data-zoom]')][arguments[0]]"
                          ".querySelector('.plot')", which)
        browser.js("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", plot)
        for at, ended in ((0.985, which == shorter), (min(seconds) / max(seconds) - 0.02, False)):
            browser.drag(plot, at, at + 0.002)
            told = tip(browser)
            equal("how many tell", len(told), 1)
            if ended:
                equal("behind the end", told, [f"ended at {ends[which]}"])
            else:
                check("hits" in told[0], f"at {at:.2f} of run {which}: {told}")


@page_case(part)
def what_the_pointer_is_on(browser, pages):
    """The row of the table that is drawn there."""
    browser.open(pages["rich"])
    plot = browser.find("#time .plot")[1]
    browser.js("arguments[0].scrollIntoView({block: 'center'})", plot)
    browser.drag(plot, 0.5, 0.505)
    told = browser.js("return [...document.querySelectorAll('#time .tip:not([hidden]) dd')]"
                      ".map(d => d.textContent)")
    rows = browser.js("return [...document.querySelectorAll('#time .numbers tbody tr')].map(r => "
                      "[...r.cells].map(c => c.textContent))")
    check(told in rows[len(rows) * 2 // 5:len(rows) * 3 // 5], f"told is {told}")
    browser.key(ESCAPE)
    equal("after Escape", browser.js("return document.querySelectorAll('.tip:not([hidden])').length"), 0)


@page_case(part)
def copying(browser, pages):
    browser.cdp("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    browser.open(pages["rich"])
    button = browser.find(".card button.copy")[0]
    wanted = browser.js("return arguments[0].parentNode.querySelector('pre').textContent", button)
    browser.js("arguments[0].focus()", button)
    browser.key(ENTER)
    browser.driver.set_script_timeout(10)
    told = browser.driver.execute_async_script(
        "const [b, done] = arguments; const t = setInterval(() => { if (/Copied/.test(b.textContent)) "
        "{ clearInterval(t); navigator.clipboard.readText().then(done, e => done(String(e))); } }, 20)", button)
    equal("copied", told, wanted)
    equal("buttons", len(browser.find("pre")), len(browser.find("button.copy")))


@page_case(part)
def folds(browser, pages):
    """Each opens by keys."""
    browser.open(pages["rich"])
    shut = browser.js("return document.querySelectorAll('details:not([open])').length")
    check(shut > 10, f"{shut} folds")
    # Nothing in a closed fold can have the focus.
    summaries = [s for s in browser.find(".card details > summary")
                 if browser.js("return arguments[0].checkVisibility()", s)][:4]
    check(len(summaries) > 2, f"{len(summaries)} folds in cards")
    for summary in summaries + browser.find("section > details > summary"):
        before = browser.js("arguments[0].focus(); return arguments[0].parentNode.open", summary)
        browser.key(ENTER)
        equal(f"{summary.text}: opened or shut", browser.js("return arguments[0].parentNode.open", summary), not before)


@page_case(part)
def links_open_folds(browser, pages):
    """A link to a part opens its fold."""
    browser.open(pages["rich"])
    browser.find("nav a[href='#measured']")[0].click()
    check(browser.js("return document.querySelector('#measured > details').open"), "it stays shut")


@page_case(part)
def every_key_stop_is_seen(browser, pages):
    """Tab reaches every control, in the order of the page, and the focus is visible."""
    browser.open(pages["small"])
    wanted = browser.js(
        "return [...document.querySelectorAll('a[href], button, input, summary, [tabindex=\"0\"]')]"
        ".filter(e => e.checkVisibility()).map((e, i) => { e.dataset.nr = i; return i; })")
    browser.js("document.activeElement.blur(); scrollTo(0, 0)")
    seen = []
    for _ in range(len(wanted) + 20):
        browser.key(TAB)
        stop = browser.js(
            "const e = document.activeElement, s = getComputedStyle(e); if (e === document.body) return null;"
            "const b = e.getBoundingClientRect();"
            "return [e.dataset.nr, s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2,"
            " b.bottom > 0 && b.top < innerHeight && b.width > 0, e.outerHTML.slice(0, 80)]")
        if stop is None:
            break
        check(stop[0] is not None, f"a stop nobody knows: {stop[3]}")
        check(stop[1], f"the focus is not seen on {stop[3]}")
        check(stop[2], f"out of sight: {stop[3]}")
        seen.append(int(stop[0]))
    equal("stops, in order", seen, wanted)


if __name__ == "__main__":
    chromium.with_selenium()
    sys.exit(part.main(Pages))
