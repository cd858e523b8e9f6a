#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A site's rules in the report that watch writes at the end of a run: found in the same places
as by advise."""

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from syslib.part import Part, check, equal  # noqa: E402
from syslib.tool import Tool  # noqa: E402

part = Part(__doc__)

RULE = """-- id: {0}
-- title: a rule of a site
-- version: 1
-- severity: always medium
SELECT job_id, 'job' AS subject_kind, name AS subject, 'medium' AS severity, 1.0 AS confidence,
	'seen' AS summary, json_array(json_object('metric', 'misses', 'value', misses, 'unit', 'pages',
	'scope', 'job')) AS evidence, NULL AS gain_value, NULL AS gain_unit, NULL AS gain_method,
	NULL AS gain_cause FROM {1}
"""


class World:
    def __init__(self, args, work, _):
        self.tool = Tool(args.cachemon, work)
        self.work = work

    def rules(self, name, view="v_job"):
        directory = os.path.join(self.work, name)
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, f"{name}.sql"), "w", encoding="ascii") as f:
            f.write(RULE.format(name, view))
        return directory

    def watch(self, command, *options, **environment):
        """(ids of the findings in the report, status, messages, the database)"""
        db, report = self.tool.fresh(".db"), self.tool.fresh(".json")
        done = subprocess.run([self.tool.cachemon, "watch", "--db", db, "--report", report, *options, "--",
                               *command], env={**os.environ, **environment}, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        with open(report, encoding="utf-8") as f:
            job = json.load(f)["jobs"][0]
        return {f["id"] for f in job["findings"]}, done.returncode, done.stderr, db


@part.case
def of_the_environment(world, _):
    rules = world.rules("site-a")
    found, status, _, db = world.watch(["true"], CACHEMON_RULES=rules)
    equal("status", status, 0)
    check("site-a" in found, f"the report has {sorted(found)} alone")
    advised = subprocess.run([world.tool.cachemon, "advise", "--db", db, "--format", "json"], text=True,
                             env={**os.environ, "CACHEMON_RULES": rules}, capture_output=True)
    equal("findings of advise", {f["id"] for f in json.loads(advised.stdout)["jobs"][0]["findings"]}, found)


@part.case
def of_the_user(world, _):
    """The user's own directory, and the named one in addition."""
    home = os.path.join(world.work, "config")
    os.makedirs(os.path.join(home, "cachemon"), exist_ok=True)
    os.rename(world.rules("site-b"), os.path.join(home, "cachemon", "rules"))
    found, *_ = world.watch(["true"], "--rules", world.rules("site-c"), XDG_CONFIG_HOME=home)
    check({"site-b", "site-c"} <= found, f"the report has {sorted(found)} alone")


@part.case
def with_a_mistake(world, _):
    """Reported on stderr, and the others are used. The status is the command's."""
    both = world.rules("site-d")
    os.rename(os.path.join(world.rules("site-e", "no_such_view"), "site-e.sql"),
              os.path.join(both, "site-e.sql"))
    found, status, said, _ = world.watch(["sh", "-c", "exit 3"], "--rules", both)
    equal("status", status, 3)
    check("site-d" in found and "site-e" not in found, f"the report has {sorted(found)}")
    check("site-e.sql" in said, f"nothing is said of the mistake: {said[-300:]}")


@part.case
def named_and_not_there(world, _):
    """Before the command starts, not at the end of a long run."""
    ran = os.path.join(world.work, "ran")
    done = subprocess.run([world.tool.cachemon, "watch", "--db", world.tool.fresh(".db"), "--report",
                           world.tool.fresh(".json"), "--rules", "", "--", "touch", ran],
                          capture_output=True, text=True)
    equal("status", done.returncode, 2)
    check(not os.path.exists(ran), "the command ran")


if __name__ == "__main__":
    sys.exit(part.main(World))
