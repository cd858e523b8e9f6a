#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The report as a page in Chromium: all parts are there, nothing is fetched, and no name is
executed. It works without scripts, on paper, dark, narrow and wide. axe-core finds nothing
wrong. A large run."""

import contextlib
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)),
                os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")]

from syslib import chromium, reportwork  # noqa: E402
from syslib.pagecase import Pages, page_case, quiet  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402

WIDTHS = (360, 768, 1280, 3840)
USUAL_MAX = 400_000
PARTS = {"change", "time", "totals", "prefetch", "sizes", "evictions", "evictors", "cache", "readahead", "files",
         "coverage", "filesystems", "advice", "measured"}
PARTS_OF = {"compare": set(), "runs": set()}  # which have no list of them
part = Part(__doc__)


@page_case(part)
def all_parts_there(browser, pages):
    for kind, path in pages.items():
        size = os.path.getsize(path)
        check(size <= USUAL_MAX, f"{kind}: {size} bytes")
        quiet(browser, path)
        links = browser.js("return [...document.querySelectorAll('nav a')].map(a => a.getAttribute('href'))")
        check(PARTS_OF.get(kind, PARTS) <= {link[1:] for link in links}, f"{kind}: parts {links}")
        for link in links:
            check(browser.js("return document.querySelector(arguments[0] + ' h2')", link),
                  f"{kind}: {link} leads nowhere")
        ids = browser.js("return [...document.querySelectorAll('[id]')].map(e => e.id)")
        equal(f"{kind}: ids that are there twice", sorted({i for i in ids if ids.count(i) > 1}), [])


@page_case(part)
def what_opens_first(browser, pages):
    """The verdict, the grades and the first fix are above the fold on a desktop."""
    browser.open(pages["rich"])
    tops = browser.js("return ['h1', '.grades', '.card'].map(s => "
                      "document.querySelector(s).getBoundingClientRect().top)")
    check(tops == sorted(tops) and tops[2] < 900, f"tops {tops}")
    check(browser.js("return document.querySelectorAll('#change > details > .card').length") <= 3,
          "more than three things to change at once")


FOLDS = ((1280, 800), (400, 800))


@page_case(part)
def above_the_fold(browser, pages):
    """The command, its user, the verdict, the first fix and its gain are visible without
    scrolling."""
    browser.open(pages["rich"])
    try:
        for width, height in FOLDS:
            browser.size(width, height)
            bottoms = browser.js("return ['.facts', '.facts + p', '.steps li:first-child'].map(s => "
                                 "document.querySelector(s).getBoundingClientRect().bottom)")
            check(bottoms == sorted(bottoms) and bottoms[-1] <= height, f"{width}x{height}: bottoms {bottoms}")
        text = browser.js("return document.querySelector('.steps li').textContent")
        check("Gain: " in text and text[0].isupper(), f"first fix: {text}")
        equal("of its head", browser.js("return [...document.querySelectorAll('.facts:first-of-type dt')]"
                                        ".map(e => e.textContent)"), ["command", "started", "limit"])
    finally:
        browser.size(1280)


@page_case(part)
def verdict_of_a_comparison(browser, pages):
    """It stands out, and is visible without scrolling."""
    browser.open(pages["compare"])
    try:
        for width, height in FOLDS:
            browser.size(width, height)
            bottom, weight = browser.js("const p = document.querySelector('#before-after + p');"
                                        "return [p.getBoundingClientRect().bottom, +getComputedStyle(p).fontWeight]")
            check(0 < bottom <= height and weight >= 600, f"{width}x{height}: ends at {bottom}, weight {weight}")
    finally:
        browser.size(1280)


@page_case(part)
def names_are_inert(browser, pages):
    """A name as it would be without any escaping: the policy of the page is enough."""
    browser.open(pages["rich"])
    equal("title", browser.js("return document.title.slice(0, 16)"), "cachemon report:")
    check(reportwork.MARKUP in browser.js("return document.body.textContent"), "the name is not told as it is")
    equal("elements of names", browser.js("return document.querySelectorAll('img, main script').length"), 0)
    with open(pages["rich"], encoding="utf-8") as f:
        text = f.read()
    evil = (reportwork.MARKUP + "<a id=evil href='javascript:document.title=2'>x</a>"
            "<iframe src='data:text/html,x'></iframe><style>h1{display:none}</style>"
            "<form action='http://localhost:9'><button id=send>x</button></form>"
            "<h1 style='color:red' onclick='document.title=3'>y</h1>")
    path = pages["rich"][:-5] + "-evil.html"
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace("<main id=\"main\">", "<main id=\"main\">" + evil, 1))
    browser.open(path)
    browser.js("document.getElementById('evil').click(); document.getElementById('send').click()")
    equal("title", browser.js("return document.title.slice(0, 16)"), "cachemon report:")
    equal("what it asks for", [u for u in browser.requests() if not u.startswith("data:")], ["file://" + path])
    equal("colours of a name's", browser.js("const h = document.querySelector('main h1[style]'); return "
                                            "[getComputedStyle(h).display, h.style.color]"), ["block", ""])
    check(any("Content Security Policy" in c for c in browser.complaints()), "the policy was not asked")


@page_case(part)
def without_scripts(browser, pages):
    """Everything is there, in the same words; folds still open."""
    browser.open(pages["rich"])
    text = "return document.querySelector('main').textContent.replace(/\\s+/g, '').length"
    bare = ("const m = document.querySelector('main').cloneNode(true);"
            "for (const e of m.querySelectorAll('.copy, .more, .filter, .zoom, .tip')) e.remove();"
            "return m.textContent.replace(/\\s+/g, '').length")
    with_script = browser.js(bare)
    browser.cdp("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(pages["rich"])
    equal("buttons that do nothing", browser.js("return document.querySelectorAll('button').length"), 0)
    equal("characters", browser.js(text), with_script)
    on_paper = browser.printed()
    for words in ("What to change", "Parts of files that were read", "Measurement", "part-00059.bin"):
        check(words in on_paper, f"not on paper: {words}")
    summary = browser.find("#measured summary")[0]
    summary.click()
    check(browser.js("return document.querySelector('#measured > details').open"), "a fold stays shut")


@page_case(part)
def on_paper(browser, pages):
    """All parts, open folds, all rows; afterwards the page is as before."""
    browser.media(prefers_color_scheme="dark")
    for kind, path in pages.items():
        browser.open(path)
        shut = browser.js("return document.querySelectorAll('details:not([open])').length")
        text = re.sub(r"\s+", "", browser.printed()).lower()
        after = browser.js("return document.querySelectorAll('details:not([open])').length")
        equal("folds shut after", after, shut)
        for title in browser.js("return [...document.querySelectorAll('h2, h3, .card .gain, caption')]"
                                ".filter(e => !e.closest('.numbers')).map(e => e.textContent)"):
            check(re.sub(r"\s+", "", title).lower()[:30] in text, f"{kind}, not on paper: {title}")
        check(kind in PARTS_OF or "inpython" in text and "evidence" in text, "folds of a card are missing")
        # A4 minus its margins, at Chromium's size of an inch.
        browser.media("print")
        browser.size(718)
        browser.open_folds()
        wide = browser.js("return [...document.querySelectorAll('table, pre, svg')]"
                          ".filter(e => e.checkVisibility())"
                          ".filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
                          ".map(e => e.closest('section').id)")
        equal(f"{kind}: cut off on paper", wide, [])
        colour = browser.js("return getComputedStyle(document.body).color")
        check(sum(map(int, re.findall(r"\d+", colour)[:3])) < 200, f"{colour} on paper")
        browser.fresh()
        browser.media(prefers_color_scheme="dark")


def squeezed(text):
    return re.sub(r"\s+", "", text)


@page_case(part)
def ends_of_paper(browser, pages):
    """At the end of a sheet, no picture and no code is cut in two. A table has at least two rows
    on either side, and repeats its head on the next sheet."""
    for kind, path in pages.items():
        browser.open(path)
        sheets = [squeezed(sheet) for sheet in browser.printed().split("\f")]
        pictures = browser.js("return [...document.querySelectorAll('figure:has(.keys)')].map(f => "
                              "[f.querySelector('figcaption').textContent.slice(0, 30), "
                              "...[...f.querySelectorAll('.key')].map(k => k.textContent)])")
        for words in pictures:
            check(any(all(squeezed(w) in sheet for w in words) for sheet in sheets), f"{kind}: cut in two: {words}")
        for code in browser.js("return [...document.querySelectorAll('pre')].map(p => p.textContent)"):
            lines = [squeezed(line) for line in code.split("\n")]
            check(any(all(line in sheet for line in lines) for sheet in sheets), f"{kind}: cut in two: {code}")
        tables = browser.js("return [...document.querySelectorAll('table:has(thead)')].filter(t => "
                            "!t.closest('.numbers')).map(t => [...t.rows].map(r => "
                            "[...r.cells].map(c => c.textContent).join('')))")
        over = 0
        for head, *rows in tables:
            over += rows_of_table(kind, sheets, squeezed(head).upper(), [squeezed(row) for row in rows])
        check(over or kind != "rich", "no table goes from one sheet to the next")


def rows_of_table(kind, sheets, head, rows):
    """Whether it crosses the end of a sheet. Rows whose cells have several lines are not
    checked."""
    where = [[i for i, sheet in enumerate(sheets) if row in sheet] for row in rows]
    if not all(len(places) == 1 for places in where):
        return False
    places = [place for place, in where]
    for place in set(places):
        check(head in sheets[place].upper(), f"{kind}: without its head {head}: {rows[places.index(place)]}")
        check(places.count(place) > 1 or len(rows) == 1, f"{kind}: alone: {rows[places.index(place)]}")
    return len(set(places)) > 1


@page_case(part)
def widths(browser, pages):
    for kind, path in pages.items():
        browser.open(path)
        browser.open_folds()
        for width in WIDTHS:
            browser.size(width)
            wide = browser.js("return document.documentElement.scrollWidth")
            check(wide <= width, f"{kind}: {wide} of {width} px")
            small = browser.js(
                "return [...document.querySelectorAll('button, input, summary, nav a')].filter(e => "
                "e.checkVisibility()).filter(e => e.getBoundingClientRect().height < 24).length")
            equal(f"{kind}, {width} px: targets lower than 24 px", small, 0)


@page_case(part)
def names_break_between_their_parts(browser, pages):
    """If a path takes several lines, a component that fits on one line is not broken."""
    for kind, path in pages.items():
        browser.open(path)
        browser.open_folds()
        for width in (360, 1280):
            browser.size(width)
            broken = browser.js("""
                const range = document.createRange();
                return [...document.querySelectorAll('th.w, td.w')].filter(c => c.checkVisibility()).flatMap(cell =>
                    [cell, ...cell.querySelectorAll('.path')].flatMap(e => [...e.childNodes]).filter(n => n.nodeType === 3 && /^[^ -]{2,14}$/.test(n.data)).filter(n => {
                        range.selectNodeContents(n);
                        return new Set([...range.getClientRects()].map(r => r.top)).size > 1;
                    }).map(n => `${n.data} of ${cell.textContent}`));""")
            equal(f"{kind}, {width} px: parts of names on two lines", broken[:5], [])


@page_case(part)
def numbers_keep_their_units(browser, pages):
    """A line of a sentence does not end between a number and its unit."""
    browser.size(400)
    for kind, path in pages.items():
        browser.open(path)
        browser.open_folds()
        found, broken = browser.js("""
            const range = document.createRange(), broken = [];
            const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            let found = 0;
            for (let n; (n = texts.nextNode());) {
                if (!n.parentElement.checkVisibility() || n.parentElement.closest('pre, code, svg, script'))
                    continue;
                for (const m of n.data.matchAll(/\\d\\s(%|[mun]?s|[KMGT]?i?B)(?![\\w])/g)) {
                    range.setStart(n, m.index);
                    range.setEnd(n, m.index + m[0].length);
                    found++;
                    if (new Set([...range.getClientRects()].map(r => r.top)).size > 1)
                        broken.push(n.parentElement.outerHTML.slice(0, 90) + n.data.slice(Math.max(0, m.index - 20), m.index + 20));
                }
            }
            return [found, broken];""")
        check(found > 3 or kind not in ("report", "typical"), f"{kind}: only {found} numbers with a unit")
        equal(f"{kind}: broken between number and unit", broken[:5], [])


@page_case(part)
def captions_are_read_at_once(browser, pages):
    """The text above a table that is wider than the page is not wider than the page."""
    browser.size(360)
    for kind, path in pages.items():
        browser.open(path)
        browser.open_folds()
        cut = browser.js("""
            const range = document.createRange();
            return [...document.querySelectorAll('caption')].filter(c => c.checkVisibility()).filter(c => {
                range.selectNodeContents(c);
                return range.getBoundingClientRect().right > innerWidth;
            }).map(c => c.textContent)""")
        equal(f"{kind}: captions that are cut off", cut, [])


def overlapping(browser):
    """Words of a picture that overlap."""
    return browser.js("""
        return [...document.querySelectorAll('.picture, .flow')].flatMap(p => {
            const boxes = [...p.querySelectorAll('text')].filter(t => t.checkVisibility({visibilityProperty: true}))
                .map(t => [t.textContent, t.getBoundingClientRect()]).filter(([, b]) => b.width);
            return boxes.flatMap(([a, x], i) => boxes.slice(i + 1).filter(([, y]) => x.left < y.right - 1 &&
                y.left < x.right - 1 && x.top < y.bottom - 1 && y.top < x.bottom - 1).map(([b]) => `${a} | ${b}`));
        })""")


@page_case(part)
def words_of_pictures(browser, pages):
    for kind, path in pages.items():
        browser.open(path)
        browser.open_folds()
        turned = browser.js("return [...document.querySelectorAll('.picture text[text-anchor]')].filter(t => "
                            "getComputedStyle(t).textAnchor !== t.getAttribute('text-anchor')).map(t => t.textContent)")
        equal(f"{kind}: words that are drawn to the wrong side", turned, [])
        for width in WIDTHS:
            browser.size(width)
            equal(f"{kind}, {width} px: words on each other", overlapping(browser), [])
            cut = browser.js("return [...document.querySelectorAll('.picture text')].filter(t => t.checkVisibility())"
                             ".filter(t => t.getBoundingClientRect().right > innerWidth).map(t => t.textContent)")
            equal(f"{kind}, {width} px: words cut off", cut, [])
            lost = browser.js("return [...document.querySelectorAll('.axis')].filter(a => a.checkVisibility())"
                              ".map(a => [...a.children]).filter(t => t.length > 1 && "
                              "t.filter(t => t.checkVisibility()).length < 2).map(t => t[0].textContent)")
            equal(f"{kind}, {width} px: axes with one place or none", lost, [])


@page_case(part)
def as_the_reader_wants_it(browser, pages):
    """Forced colours keep pictures and focus; reduced motion means none."""
    browser.media(prefers_reduced_motion="reduce")
    browser.open(pages["rich"])
    equal("scrolling", browser.js("return getComputedStyle(document.documentElement).scrollBehavior"), "auto")
    moving = browser.js("return [...document.querySelectorAll('*')].filter(e => { const s = getComputedStyle(e);"
                        "return parseFloat(s.transitionDuration) || s.animationName !== 'none' }).length")
    equal("what moves", moving, 0)
    browser.media(forced_colors="active")
    fills = browser.js("return [...document.querySelectorAll('#time .shapes path')].slice(0, 2).map(p => "
                       "getComputedStyle(p).fill)")
    check(len(set(fills)) == 2, f"series cannot be told apart: {fills}")
    equal("marks of the key", browser.js("return getComputedStyle(document.querySelector('.key'), '::before')"
                                         ".forcedColorAdjust"), "none")
    browser.focus("summary")
    browser.key("\ue004")
    check(browser.js("return getComputedStyle(document.activeElement).outlineStyle") != "none", "focus is lost")


@page_case(part)
def accessible(browser, pages):
    """axe-core finds nothing: light, dark, narrow; with open folds, which show everything, and
    once with closed ones."""
    script = chromium.axe_core()
    for kind, scheme, width, folds in (
            ("rich", "light", 1280, "shut"), ("rich", "light", 1280, "open"), ("rich", "dark", 1280, "open"),
            ("rich", "light", 360, "open"), ("rich", "dark", 360, "open"), ("small", "light", 1280, "open"),
            ("small", "dark", 360, "open"), ("compare", "light", 1280, "open"), ("compare", "dark", 360, "open"),
            ("runs", "light", 1280, "open"), ("runs", "dark", 360, "open")):
        browser.media(prefers_color_scheme=scheme)
        browser.size(width)
        browser.open(pages[kind])
        if folds == "open":
            browser.open_folds()
        found = browser.axe(script)
        check(not found, f"{kind}, {scheme}, {width} px, folds {folds}: {len(found)}: {'; '.join(found[:5])}")


@page_case(part)
def a_million_files_and_a_day(browser, pages):
    """The database of scale/analysis.py: a page of at most 1 MB, opened within 2 s of the
    browser's own time."""
    from scale import analysis
    path = os.path.join(os.path.dirname(pages["rich"]), "scale.db")
    count = 1_000_000 if part.full else 50_000
    analysis.make(path, count, True)
    page = path[:-3] + ".html"
    with contextlib.ExitStack() as stack:
        stack.callback(os.unlink, path)
        before = os.times()
        subprocess.run([browser.cachemon, "report", "--db", path, "--format", "html", "-o", page], check=True)
        after = os.times()
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    size = os.path.getsize(page)
    check(cpu_s <= 2, f"{cpu_s:.2f} s of CPU time to write it")
    check(size <= 1_000_000, f"{size} bytes")
    browser.cdp("Performance.enable", timeDomain="threadTicks")
    browser.open(page)
    metrics = {m["name"]: m["value"] for m in browser.cdp("Performance.getMetrics")["metrics"]}
    waited_s = browser.js("return performance.getEntriesByType('navigation')[0].loadEventEnd / 1000")
    told = (f"{count} files: {cpu_s:.2f} s of CPU time, {size} bytes, opened in {waited_s:.2f} s, "
            f"{metrics['TaskDuration']:.2f} s of CPU time")
    check(max(metrics["TaskDuration"], waited_s) <= 2, told)
    part.note(told)


if __name__ == "__main__":
    chromium.with_selenium()
    sys.exit(part.main(Pages))
