# SPDX-License-Identifier: BSD-2-Clause
"""Output for programs, checked against the schemas of docs/schema."""

import os
import subprocess

from .part import check

SCHEMAS = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..", "docs", "schema"))
# Debian's validator belongs to Debian's own Python.
VALIDATOR = ["/usr/bin/python3", "-W", "ignore", "-m", "jsonschema"]


def refused(text, schema):
    """The error of the schema; None: valid."""
    path = os.path.join(SCHEMAS, f"{schema}.json")  # the referenced schemas are next to it
    done = subprocess.run([*VALIDATOR, "-i", "/dev/stdin", "--base-uri", f"file://{path}", path],
                          input=text, capture_output=True, text=True)
    # A message begins with the refused value, which may be long, and ends with the reason.
    return (done.stderr.strip()[-300:] or f"exit {done.returncode}") if done.returncode else None


def valid(text, schema):
    why = refused(text, schema)
    check(why is None, f"the schema {schema} refuses it: {why}")
