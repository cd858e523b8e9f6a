# SPDX-License-Identifier: BSD-2-Clause
"""What a program printed against the schemas of docs/schema."""

import os
import subprocess

from .part import check

SCHEMAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "schema")
# Debian's validator belongs to Debian's own Python.
VALIDATOR = ["/usr/bin/python3", "-W", "ignore", "-m", "jsonschema"]


def refused(text, schema):
    """Why the schema refuses it; None: it does not."""
    done = subprocess.run([*VALIDATOR, "-i", "/dev/stdin", os.path.join(SCHEMAS, f"{schema}.json")],
                          input=text, capture_output=True, text=True)
    return (done.stderr.strip()[:300] or f"exit {done.returncode}") if done.returncode else None


def valid(text, schema):
    why = refused(text, schema)
    check(why is None, f"the schema {schema} refuses it: {why}")
