# SPDX-License-Identifier: BSD-2-Clause
"""A report as its readers see it: the tables and the words of a page, and of Markdown that a
CommonMark renderer turned into a page."""

import html.parser
import re
import subprocess

# Debian's renderer belongs to Debian's own Python. Markup in the text is kept, so that it is found.
RENDER = """
import sys
from markdown_it import MarkdownIt
md = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
sys.stdout.write(md.render(sys.stdin.read()))
"""
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?: (?:[KMGTPE]i)?B\b| [num]?s\b| %)?")
VOID = {"meta", "br", "hr", "img", "link", "rect", "path", "line", "wbr"}


def numbers(text):
    """With their units, in order."""
    return [n.rstrip(",") for n in NUMBER.findall(text)]


class Table:
    def __init__(self, kind):
        self.kind = kind  # "plain", "numbers" behind a picture, "strips" of a map, "parts" behind these
        self.caption = ""
        self.rows = []
        self.bars = []  # for each row, {column: share of the bar, 0 to 1}

    def head(self):
        return self.rows[0]


class Page(html.parser.HTMLParser):
    """tables; maps: the tables with the numbers of strips, each with the name of its map as
    caption; words: the other text; elements: [(name, attributes)] of the body."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.stack, self.elements = [], []
        self.tables, self.maps, self.words = [], [], []
        self.table = None
        self.map_name = ""
        # The space before a unit, which does not end a line.
        self.feed(text.replace("&nbsp;", " "))
        self.close()

    def inside(self, *names):
        return any(name in names for name, _ in self.stack)

    def handle_starttag(self, name, attrs):
        attrs = dict(attrs)
        self.elements.append((name, attrs))
        sort = attrs.get("class") or ""
        if name == "table":
            numbers_ = any((a.get("class") or "") == "numbers" for _, a in self.stack)
            self.table = Table("numbers" if numbers_ else "strips" if sort == "strips" else "plain")
            # Tables of maps hold the numbers of strips, which other formats only draw.
            if numbers_ and self.of_map():
                self.table.kind, self.table.caption = "parts", self.map_name
                self.maps.append(self.table)
            else:
                self.tables.append(self.table)
        elif name == "figcaption":
            self.map_name = ""
        elif name == "ul" and sort == "grades":
            self.table = Table("plain")
            self.table.rows.append(["GRADE", "", "SCORE", "HOW"])
            self.tables.append(self.table)
        elif name == "tr" or name == "li" and self.table:
            self.table.rows.append([])
            self.table.bars.append({})
        elif name in ("td", "th"):
            self.table.rows[-1].append("")
        elif name == "rect" and self.table and self.inside("td"):
            self.table.bars[-1][len(self.table.rows[-1]) - 1] = float(attrs["width"].rstrip("%")) / 100
        elif name in ("span", "b", "p") and self.inside("li") and self.table:
            self.table.rows[-1].append("")
        elif name == "small" and self.inside("li") and self.table:
            self.table.rows[-1].append("")
        if name not in VOID:
            self.stack.append((name, attrs))

    def handle_endtag(self, name):
        if name in VOID:
            return
        while self.stack and self.stack.pop()[0] != name:
            pass
        if name == "table" or name == "ul" and self.table:
            if name == "ul":
                self.table.rows = [self.grade(row) for row in self.table.rows]
            self.table = None

    def of_map(self):
        return any((a.get("class") or "") == "map" for _, a in self.stack)

    def of_scale(self):
        """A word at an axis of a picture; marked words there are not part of a scale."""
        sorts = [a.get("class") for _, a in self.stack]
        return "picture" in sorts and "marks" not in sorts

    @staticmethod
    def grade(row):
        """As a row of the table in other formats."""
        if len(row) == 3:  # no grade
            return [row[0], "-", "-", row[2]]
        return [row[0], row[1].strip(), *row[2:]]

    def handle_data(self, data):
        if self.inside("style", "script", "svg", "nav", "head", "title") or self.of_scale():
            return
        if self.inside("figcaption") and self.inside("b"):
            self.map_name += data
        if self.table is None:
            self.words.append(data)
        elif self.inside("caption"):
            self.table.caption += data
        elif self.inside("summary") and self.inside("li"):
            pass
        elif self.table.rows and self.table.rows[-1] and (self.inside("td", "th") or
                                                          self.inside("li")):
            self.table.rows[-1][-1] += data

    def numbers(self):
        """Text that is not in a table."""
        return numbers(" ".join(w for w in "".join(self.words).split("\n")))


def rendered(markdown):
    """The page that a renderer makes of it."""
    return subprocess.run(["/usr/bin/python3", "-c", RENDER], input=markdown, capture_output=True,
                          text=True, check=True).stdout


def rendered_as_hosts_do(markdown):
    """With the renderer of a large code host, addresses become links; markup is kept here too."""
    argv = ["cmark-gfm", "--unsafe", "-e", "table", "-e", "strikethrough", "-e", "autolink"]
    return subprocess.run(argv, input=markdown, capture_output=True, text=True, check=True).stdout
