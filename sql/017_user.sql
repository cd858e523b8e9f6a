-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 17. The user that the job ran as.

-- The account name, else 'uid N', of the user who started the command, or of the first process of a
-- job that was already running. NULL: not known, as in older runs.
ALTER TABLE run ADD COLUMN user TEXT;
