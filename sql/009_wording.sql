-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 9. Questions to a language model about a run, and the accepted part of each answer, one
-- row per question. API keys are never stored; of the prompt only a hash is stored.

CREATE TABLE wording (
	id INTEGER PRIMARY KEY,
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	job_id INTEGER REFERENCES job(id) ON DELETE CASCADE,
	asked_ns INTEGER NOT NULL,              -- CLOCK_REALTIME
	question TEXT,                          -- of 'cachemon ask'; NULL: words for the findings
	prompt_sha256 TEXT NOT NULL CHECK (length(prompt_sha256) = 64),
	                                        -- of the output of --llm-dry-run
	api TEXT NOT NULL CHECK (api IN ('openai', 'anthropic')),
	host TEXT NOT NULL,                     -- of the endpoint
	model TEXT NOT NULL,
	outcome TEXT NOT NULL,                  -- 'answered', or why there is no answer
	reason TEXT,                            -- one line; NULL: answered
	tokens_in INTEGER CHECK (tokens_in >= 0),   -- as reported by the server; NULL: not reported
	tokens_out INTEGER CHECK (tokens_out >= 0),
	attempts INTEGER NOT NULL CHECK (attempts >= 0),
	duration_ns INTEGER NOT NULL CHECK (duration_ns >= 0),
	redacted INTEGER NOT NULL CHECK (redacted IN (0, 1)),
	kept INTEGER NOT NULL CHECK (kept >= 0),    -- statements
	dropped INTEGER NOT NULL CHECK (dropped >= 0),
	answer TEXT NOT NULL                    -- JSON: "wording" as in a report
) STRICT;
CREATE INDEX wording_run ON wording (run_id);
