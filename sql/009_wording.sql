-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 9. What a language model was asked about a run, and what of its answer was kept. Keys of an
-- endpoint are never here; what was sent is told by its hash alone. One row a question.

CREATE TABLE wording (
	id INTEGER PRIMARY KEY,
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	job_id INTEGER REFERENCES job(id) ON DELETE CASCADE,
	asked_ns INTEGER NOT NULL,              -- CLOCK_REALTIME
	question TEXT,                          -- of 'cachemon ask'; NULL: words for the findings
	prompt_sha256 TEXT NOT NULL CHECK (length(prompt_sha256) = 64),
	                                        -- of what --llm-dry-run prints
	api TEXT NOT NULL CHECK (api IN ('openai', 'anthropic')),
	host TEXT NOT NULL,                     -- of the endpoint
	model TEXT NOT NULL,
	outcome TEXT NOT NULL,                  -- 'answered', or why there is no answer
	reason TEXT,                            -- a line; NULL: answered
	tokens_in INTEGER CHECK (tokens_in >= 0),   -- as the server says; NULL: it does not
	tokens_out INTEGER CHECK (tokens_out >= 0),
	attempts INTEGER NOT NULL CHECK (attempts >= 0),
	duration_ns INTEGER NOT NULL CHECK (duration_ns >= 0),
	redacted INTEGER NOT NULL CHECK (redacted IN (0, 1)),
	kept INTEGER NOT NULL CHECK (kept >= 0),    -- statements
	dropped INTEGER NOT NULL CHECK (dropped >= 0),
	answer TEXT NOT NULL                    -- JSON: "wording" as in a report
) STRICT;
CREATE INDEX wording_run ON wording (run_id);
