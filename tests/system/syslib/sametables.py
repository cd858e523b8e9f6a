# SPDX-License-Identifier: BSD-2-Clause
"""The same table in two formats, compared cell by cell, and the numbers of a picture with their
line of characters."""

import re

from .part import check, equal


def peak(column):
    """The largest value shown; None: nothing was measured."""
    there = [c for c in column if c != "-"]
    return max(there, key=figure) if there else None


SCALE = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "ns": 1e-9, "us": 1e-6, "ms": 1e-3}


def figure(cell):
    number = re.search(r"[\d.,]+", cell)
    unit = re.search(r"[A-Za-z]+$", cell)
    value = float(number[0].replace(",", "")) * SCALE.get(unit[0] if unit else "", 1) if number else 0
    cell = cell.removeprefix("~").removeprefix(">=")
    return value * {"<": 0.3, ">": 1.0001}.get(cell[0], 1)


def even(rows):
    """Whether all spans have one length, so that each has a character."""
    lengths = [figure(row[1]) - figure(row[0]) for row in rows]
    return max(lengths) < 1.02 * min(lengths)


def same_lines(table, lines):
    """The numbers of a picture, and the lines that Markdown draws of them."""
    head, *rows = table.rows
    first = 2 if head[1] == "to" else 1
    columns = [[row[i] for row in rows] for i in range(first, len(head)) if not head[i].startswith("at ")]
    names = [h for h in head[first:] if not h.startswith("at ")]
    equal("lines", [row[0] for row in lines.rows[1:]], names)
    for column, (name, line, top) in zip(columns, lines.rows[1:], strict=True):
        if peak(column) is None:
            equal(f"top of {name}", top, "not measured")
            equal(f"line of {name}", set(line), {"?"})
            continue
        equal(f"top of {name}", top, peak(column))
        check(len(line) <= 60, f"{name}: {len(line)} characters")
        if len(line) != len(column) or (first == 2 and not even(rows)):
            continue
        for cell, character in zip(column, line, strict=True):
            # Less than one may be printed as 0, but is drawn.
            check(character != "_" or figure(cell) == 0, f"{name}: none at {cell}")
            equal(f"{name}: not known at {cell}", character == "?", cell == "-")
            if cell == top and figure(cell):
                check(character == "█", f"{name}: {character} at its top {cell}")
    ends = f"{rows[0][0]} to {rows[-1][first - 1]}"
    check(lines.rows[0][1].endswith(ends), f"{lines.rows[0][1]!r}: not {ends}")


def plain_rows(table):
    """Cells without drawn parts."""
    return [[re.sub("^█+$", "", cell).strip() for cell in row] for row in table.rows]


def same_cells(table, other):
    equal(f"cells of {table.caption or table.head()}", plain_rows(other), plain_rows(table))
    for bars, row in zip(table.bars, other.rows, strict=False):
        for column, share in bars.items():
            check(abs(len(row[column]) - share * 20) <= 1.01, f"bar of {row}: {share}")
