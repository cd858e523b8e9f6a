#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Questions about a run: answered from measured values, statement by statement, or not at all."""

import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "llm"))

from syslib.part import Part, check, equal  # noqa: E402
from syslib.schema import valid  # noqa: E402
from syslib.worded import NOBODY, Asker, Sent, as_people_see, of_exchange, reply  # noqa: E402


part = Part(__doc__)


def answer(sent):
    hits = sent.key_of("hit_ratio", "job")
    return reply(("job", f"Yes: {{{hits}}} of the lookups hit.", [hits]))


@part.case
def a_question_is_answered(world, stack):
    server = world.server(stack, of_exchange(answer))
    question = "does the cache help /data/train/shards?"
    out, _ = world.run("ask", question, **world.at(server))
    hits = f"{(1 - world.job['misses'] / world.job['lookups']) * 100:.1f} %"
    check(f"Yes: {hits} of the lookups hit." in as_people_see(out), f"no answer: {out!r}")
    check(question in as_people_see(out), f"no question: {out!r}")
    sent = Sent(server.of("ok")[0].request.body)
    check("# Question\ndoes the cache help <dir-" in sent.user, f"the question was not sent so: {sent.user[-200:]}")
    for form in ("json", "yaml", "md", "html"):
        out, _ = world.run("ask", question, "--format", form, **world.at(server))
        check(hits in out.decode(), f"{form} has no answer")
        if form == "json":
            valid(out.decode(), "ask")
            equal("answered", json.loads(out)["wording"]["answered"], True)
    equal("kept question", world.rows()[-1]["question"], question)


@part.case
def the_data_does_not_say(world, stack):
    """The model refuses, or none of its statements is accepted."""
    for text in (reply(answered=False), reply(("job", "It was 42 % on Tuesday.", ["E1"])),
                 reply(("job", "It is so.", ["E999"]))):
        server = world.server(stack, lambda x, text=text: text)
        out, _ = world.run("ask", "how warm was it?", **world.at(server))
        check("The data does not say." in as_people_see(out), f"says {out!r}")
        check(b"Tuesday" not in out and b"It is so" not in out, f"shows what was dropped: {out!r}")


@part.case
def a_question_without_an_answer_fails(world, stack):
    server = world.server(stack)
    _, said = world.run("ask", "why?", status=1, **world.at(server, "s401"))
    equal(f"lines: {said!r}", said.count(b"\n"), 1)
    _, said = world.run("ask", "why?", status=1, as_root=True, **world.at(server, "ok"))
    check(b"root" in said, f"says {said!r}")
    equal("connections", server.connections, 1)


@part.case
def a_question_without_an_answer_is_not_missed(world, stack):
    """If the database cannot be written: no message about words that were not stored, since
    there are none."""
    server = world.server(stack, of_exchange(answer))
    os.chown(world.db, 0, 0)
    stack.callback(os.chown, world.db, NOBODY, NOBODY)
    os.chmod(world.db, 0o644)
    _, said = world.run("ask", "why?", status=1, **world.at(server, "s401"))
    equal(f"lines: {said!r}", said.count(b"\n"), 1)
    _, said = world.run("ask", "why?", **world.at(server))
    check(b"not saved" in said, f"says {said!r}")


if __name__ == "__main__":
    sys.exit(part.main(Asker))
