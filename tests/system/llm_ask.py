#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Questions about a run: answered from what was measured, statement by statement, or not at all."""

import json
import os
import re
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "llm"))

from llmlib.cases import CASES  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402
from syslib.schema import valid  # noqa: E402
from syslib.terminal import Terminal  # noqa: E402
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
    """The model says so, or nothing of what it says passes."""
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
    """Where the database cannot be written: no line of words that were not kept, as there are none."""
    server = world.server(stack, of_exchange(answer))
    os.chown(world.db, 0, 0)
    stack.callback(os.chown, world.db, NOBODY, NOBODY)
    os.chmod(world.db, 0o644)
    _, said = world.run("ask", "why?", status=1, **world.at(server, "s401"))
    equal(f"lines: {said!r}", said.count(b"\n"), 1)
    _, said = world.run("ask", "why?", **world.at(server))
    check(b"not kept" in said, f"says {said!r}")


@part.case
def statements_come_one_by_one(world, stack):
    """On a terminal, each as soon as it is whole and checked: the server holds back the rest until it is seen."""
    seen = threading.Event()
    server = world.server(stack)
    stack.callback(seen.set)

    def held(x):
        sent = Sent(x.request.body)
        hits, lookups = sent.key_of("hit_ratio", "job"), sent.key_of("lookups", "job")
        text = reply(("job", f"First {{{hits}}} hit.", [hits]), ("job", "Then 99 of them.", [hits]),
                     ("job", f"Last {{{lookups}}} were asked for.", [lookups]))
        cut = text.index('{"about": "job", "text": "Last')
        from llmlib import replies
        events = list(replies.stream(x.api, text, size=7))
        x.begin_stream()
        for i, event in enumerate(events):
            if i * 7 > cut:
                seen.wait(30)
            x.chunk(event)
        x.end_stream()

    CASES["held"] = held
    stack.callback(CASES.pop, "held")
    env = world.environment(**world.at(server, "held"))
    terminal = Terminal(stack, world.work, 100, 40, **env)
    command = " ".join(f"'{word}'" for word in world.argv("ask", "what happens?"))
    terminal.type(f"clear; {command}; echo status $?")
    shown = terminal.wait(lambda screen: re.search(r"First \d+\.\d % hit\.", screen), "the first statement", 30)
    check("Last" not in shown and "status 0" not in shown, f"it was not held: {shown}")
    seen.set()
    shown = terminal.wait(lambda screen: re.search(r"^status \d+$", screen, re.M), "the end", 30)
    check(re.search(r"Last 364,038 pages were asked for", shown), f"the last is not there: {shown}")
    check("Then 99" not in shown, f"what was dropped is there: {shown}")
    check("2 statements kept, 1 dropped" in shown, f"who said it is not there: {shown}")


if __name__ == "__main__":
    sys.exit(part.main(Asker))
