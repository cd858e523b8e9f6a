# SPDX-License-Identifier: BSD-2-Clause
"""Cases of a page: each gets the browser in its initial state, and the reports."""

from . import chromium, reportwork
from .part import Skipped, equal
from .world import World


class Pages(World):
    """The reports, and a browser for all cases."""

    def __init__(self, args, work, stack):
        self.missing = None
        try:
            self.browser = chromium.Browser(stack, work)
        except Skipped as e:
            self.missing = str(e)
            return
        super().__init__(args, work, stack)
        self.browser.cachemon = args.cachemon
        self.pages = reportwork.pages(self, stack)


def page_case(part):
    def add(function):
        def case(world, _):
            if world.missing:
                raise Skipped(world.missing)
            world.browser.fresh()
            function(world.browser, world.pages)
        case.__name__ = function.__name__
        part.case(case)
        return function
    return add


def quiet(browser, path):
    """Opens it: it requests only itself, without errors."""
    browser.open(path)
    equal("what it complains of", browser.complaints(), [])
    asked = [url for url in browser.requests() if not url.startswith("data:")]
    equal("what it asks for", asked, ["file://" + path])
