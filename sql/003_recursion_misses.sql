-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 3. How often the kernel left out a run of one of the programs, or a kprobe's hit, because
-- the CPU was held to be inside of that program already. Of the whole machine: nobody can say whose
-- runs they were.

ALTER TABLE run ADD COLUMN loss_recursion_misses INTEGER
	CHECK (loss_recursion_misses >= 0);     -- NULL: this kernel does not count them
