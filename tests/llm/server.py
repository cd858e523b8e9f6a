#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""An endpoint for both APIs that replies according to the first part of the path; for manual tests.
Prints its address, runs until the end of its input or SIGTERM, then prints the requests as JSON
lines."""

import argparse
import json
import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from llmlib import cases  # noqa: E402
from llmlib.server import Server  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", default="ok", choices=sorted(cases.CASES))
    parser.add_argument("--text", metavar="FILE", help="what the model says")
    args = parser.parse_args()
    text = None
    if args.text:
        with open(args.text, encoding="utf-8") as f:
            words = f.read()
        text = lambda _: words  # noqa: E731
    server = Server(text=text)
    print(server.url(args.case), flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.stdin.close())
    try:
        sys.stdin.read()
    except (ValueError, KeyboardInterrupt):
        pass
    server.stop()
    for x in server.exchanges:
        print(json.dumps({"name": x.name, "headers": x.request.headers, "errors": x.errors,
                          "status": x.status, "body": x.body}))
    return 1 if any(x.errors for x in server.exchanges) or server.troubles else 0


if __name__ == "__main__":
    sys.exit(main())
