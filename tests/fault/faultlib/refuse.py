# SPDX-License-Identifier: BSD-2-Clause
"""refuse.py NUMBER ERRNO PROGRAM [ARGUMENT...]: runs a program for which the kernel refuses a
system call, also in its children."""

import ctypes
import os
import struct
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38
SECCOMP_MODE_FILTER = 2
SECCOMP_RET_ERRNO, SECCOMP_RET_ALLOW = 0x00050000, 0x7fff0000
BPF_LOAD_WORD, BPF_JUMP_EQUAL, BPF_RETURN = 0x20, 0x15, 0x06


class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def refuse(number, error):
    """For native calls: struct seccomp_data begins with the number."""
    code = b"".join(struct.pack("=HBBI", *line) for line in (
        (BPF_LOAD_WORD, 0, 0, 0),
        (BPF_JUMP_EQUAL, 0, 1, number),
        (BPF_RETURN, 0, 0, SECCOMP_RET_ERRNO | error),
        (BPF_RETURN, 0, 0, SECCOMP_RET_ALLOW)))
    libc = ctypes.CDLL(None, use_errno=True)
    program = Program(len(code) // 8, code)
    if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or
            libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)):
        sys.exit(f"refuse: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    refuse(int(sys.argv[1]), int(sys.argv[2]))
    os.execvp(sys.argv[3], sys.argv[3:])
