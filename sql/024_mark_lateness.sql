-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 24. How late a mark's moment may be: its writer may have gone on with its work before the
-- sample was taken. 0: the writer waited for the sample. NULL: not known, as in runs from before.
ALTER TABLE mark ADD COLUMN late_ns INTEGER CHECK (late_ns >= 0);
