-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 3. How often the kernel skipped a BPF program or a kprobe because one was already running
-- on that CPU. These counts are for the whole machine: they cannot be split by program.

ALTER TABLE run ADD COLUMN loss_recursion_misses INTEGER
	CHECK (loss_recursion_misses >= 0);     -- NULL: this kernel does not count them
