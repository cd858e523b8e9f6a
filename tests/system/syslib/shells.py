# SPDX-License-Identifier: BSD-2-Clause
"""Interactive shells on their own terminals: the effect of a completion on a line."""

import contextlib
import os
import pty
import select
import shutil
import subprocess
import time

from .part import Failed, Skipped

BOUND_S = 30
# Each binds two keys: one inserts all completions into the line, quoted as by the shell; the other
# writes the line to the file @KEPT@, whole or not at all.
BASH = r"""
PS1='$ '; PS2=; HISTFILE=
set +o history
source @COMPLETIONS@
keep() { printf %s "$READLINE_LINE" >@KEPT@.new; mv @KEPT@.new @KEPT@; }
bind '"\C-t": insert-completions'
bind '"\C-i": complete'
bind -x '"\C-g": keep'
bind 'set bell-style none'
bind 'set show-all-if-ambiguous off'
"""
ZSH = r"""
PS1='$ '; unsetopt beep prompt_cr prompt_sp; HISTFILE=
fpath=(@FOLDER@ $fpath)
autoload -Uz compinit
compinit -u -D
zstyle ':completion:*' verbose yes
zle -C every complete-word _generic
zstyle ':completion:every::::' completer _all_matches _complete
zstyle ':completion:every:*' insert yes
bindkey '^T' every
bindkey '^I' complete-word
keep() { print -rn -- "$BUFFER" >@KEPT@.new; mv @KEPT@.new @KEPT@ }
zle -N keep
bindkey '^G' keep
"""


def need(shell):
    if not shutil.which(shell):
        raise Skipped(f"no {shell} here")


class Shell:
    """bash or zsh. Its terminal output is discarded: the line it writes to the file is the
    result."""

    def __init__(self, stack, folder, argv, init, environment):
        self.line = os.path.join(folder, "line")
        self.folder = folder
        master, slave = pty.openpty()
        self.process = subprocess.Popen(
            argv, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": folder, "TERM": "dumb", "LC_ALL": "C.UTF-8",
                 **environment})
        os.close(slave)
        self.master = master
        self.said = b""
        stack.callback(self.close)
        name = os.path.join(folder, "init")
        with open(name, "w", encoding="utf-8") as f:
            f.write(init.replace("@KEPT@", self.line))
        self.type(f". {name}; : >{self.line}.ready\n")
        self.wait(self.line + ".ready")

    def close(self):
        with contextlib.suppress(OSError):
            os.close(self.master)
        self.process.kill()
        self.process.wait()

    def type(self, text):
        os.write(self.master, text.encode())

    def wait(self, path):
        end = time.monotonic() + BOUND_S
        while not os.path.exists(path):
            if select.select([self.master], [], [], 0.01)[0]:
                with contextlib.suppress(OSError):
                    self.said += os.read(self.master, 65536)
            if time.monotonic() > end:
                raise Failed(f"no answer of the shell; it said {self.said[-300:]!r}")
        with open(path, encoding="utf-8", errors="surrogateescape") as f:
            text = f.read()
        os.unlink(path)
        return text

    def keys(self, text, key):
        """The line after a key was pressed at the end of some text."""
        self.type(f"{text}{key}\x07")
        line = self.wait(self.line)
        self.type("\x01\x0b")  # moves to the beginning and erases the rest
        return line

    def every(self, text):
        """The candidates after some text: that part of the line, with all candidates in it."""
        line = self.keys(text, "\x14")
        return line

    def tab(self, text):
        return self.keys(text, "\t")


def bash(stack, folder, completions, **environment):
    need("bash")
    return Shell(stack, folder, ["bash", "--norc", "--noprofile", "-i"],
                 BASH.replace("@COMPLETIONS@", completions), environment)


def zsh(stack, folder, completions, **environment):
    need("zsh")
    return Shell(stack, folder, ["zsh", "-f", "-i"],
                 ZSH.replace("@FOLDER@", os.path.dirname(completions)), environment)
