# SPDX-License-Identifier: BSD-2-Clause
"""The output of tests/vm/run: the table, the reasons, the hooks, and the errors."""

from . import results

SHOWN = 6
COUNTED = {"exact": "passed", "off": "failed", "failed": "failed", "absent": "skipped"}
ROWS = (*results.GROUPS, results.MOUNTSTATS, results.HOME, results.REST)


class Table:
    def __init__(self):
        self.columns = []  # (kernel, filesystem, {group: verdict})
        self.skips = []
        self.states = {}

    def count_in(self, state):
        self.states[state] = self.states.get(state, 0) + 1

    def add(self, kernel, fs, verdicts):
        self.columns.append((kernel, fs, verdicts))
        for verdict in verdicts.values():
            self.count_in(verdict.state)

    def skip(self, text):
        """Something that did not run at all."""
        self.skips.append(text)
        self.count_in("skipped")

    def show(self):
        if self.columns:
            self.show_matrix()
        for kernel, fs, verdicts in self.columns:
            reasons = {}
            for group, verdict in verdicts.items():
                if verdict.why:
                    reasons.setdefault(f"{verdict}: {verdict.why}", []).append(group)
            for reason, groups in reasons.items():
                who = "all" if len(groups) == len(verdicts) else ", ".join(groups)
                print(f"{kernel} {fs}, {who}: {reason}")
        for text in self.skips:
            print(f"skipped: {text}")

    def show_matrix(self):
        for part, name in (0, ""), (1, "figures"):
            print(f"{name:14}" + "".join(f"{c[part]:>14}" for c in self.columns))
        for group in ROWS:
            cells = (str(c[2].get(group, "-")) for c in self.columns)
            print(f"{group:14}" + "".join(f"{cell:>14}" for cell in cells))

    def counts(self):
        count = {"passed": 0, "failed": 0, "skipped": self.states.get("skipped", 0)}
        for state, n in self.states.items():
            if state in COUNTED:
                count[COUNTED[state]] += n
        return count


def show_hooks(guests):
    """For each role, the hook on each kernel. guests: {kernel: results.Guest}."""
    roles = {}
    for kernel, guest in guests.items():
        for role in guest.doctor.get("roles", []):
            state = role["hook"] if role["state"] == "live" else f"absent: {role['reason']}"
            roles.setdefault(role["role"], {}).setdefault(state, []).append(kernel)
    for role, states in roles.items():
        for state, kernels in states.items():
            where = "everywhere" if len(kernels) == len(guests) else ", ".join(kernels)
            print(f"{role:21} {where}: {state}")


def show_wrong(kernel, fs, cells):
    for cell in cells:
        wrong = [w for w in cell["wrong"]
                 if cell["counters"].get(w["counter"], {}).get("state") != "absent"]
        notes = results.notes_of(cell)
        if wrong or notes:
            print(f"\n{kernel} {fs} {cell['pattern']}")
        for note in notes[:SHOWN]:
            print(f"    {note}")
        for w in wrong[:SHOWN]:
            print(f"    {w['file']} {w['counter']}: expected {w['expected']}, got {w['got']}")
        if len(wrong) > SHOWN:
            print(f"    ... {len(wrong) - SHOWN} more figures")
