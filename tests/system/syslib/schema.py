# SPDX-License-Identifier: BSD-2-Clause
"""What a program printed against the schemas of docs/schema."""

import os
import subprocess

from .part import check

SCHEMAS = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..", "docs", "schema"))
# Debian's validator belongs to Debian's own Python.
VALIDATOR = ["/usr/bin/python3", "-W", "ignore", "-m", "jsonschema"]


def refused(text, schema):
    """Why the schema refuses it; None: it does not."""
    path = os.path.join(SCHEMAS, f"{schema}.json")  # what it refers to is beside it
    done = subprocess.run([*VALIDATOR, "-i", "/dev/stdin", "--base-uri", f"file://{path}", path],
                          input=text, capture_output=True, text=True)
    # A message begins with the value that is refused, which may be long, and ends with the reason.
    return (done.stderr.strip()[-300:] or f"exit {done.returncode}") if done.returncode else None


def valid(text, schema):
    why = refused(text, schema)
    check(why is None, f"the schema {schema} refuses it: {why}")
