/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What rules found, merged by cause and in the order of what it gains. Owns the types, the merging
 * and the order: pure, no database.
 */
#ifndef FINDING_H
#define FINDING_H

#include "advisor/rules/rule.h"

enum severity { SEVERITY_INFO, SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH, SEVERITY_NR };
enum subject_kind { SUBJECT_JOB, SUBJECT_FILE, SUBJECT_DIRECTORY, SUBJECT_DEVICE, SUBJECT_NR };
enum gain_unit { GAIN_SECONDS, GAIN_BYTES, GAIN_UNIT_NR };
enum gain_method { GAIN_MEASURED, GAIN_MODEL, GAIN_BOUND, GAIN_METHOD_NR };

extern const char *const severity_names[SEVERITY_NR];
extern const char *const subject_names[SUBJECT_NR];
extern const char *const gain_unit_names[GAIN_UNIT_NR];
extern const char *const gain_method_names[GAIN_METHOD_NR];

/* A figure that a finding rests on. */
struct evidence {
	const char *metric, *unit, *scope;
	const char *value; /* as JSON has a number or true, false; text when is_text; NULL: null */
	bool is_text;
};

/* What measured and foretold gains of the examples differ by at most, in most of them
 * (docs/advisor.md). */
#define GAIN_FACTOR 1.5

struct gain {
	bool known;
	double value;
	enum gain_unit unit;
	enum gain_method method;
};

struct finding {
	int64_t job_id;
	const struct rule *rule;
	const struct note *note; /* NULL: absent */
	enum severity severity;
	double confidence;
	enum subject_kind kind;
	struct bytes subject;
	const char *summary;
	struct evidence *evidence;
	size_t nr_evidence;
	struct gain gain;
	const char *cause; /* NULL: its own */
	double order_s;	   /* seconds of gain, from bytes too, times confidence; < 0: unknown */
	struct finding *merged; /* the lesser one of the same cause; and its next, ... */
};

/* How bytes become seconds, for ordering only. */
struct gain_rate {
	double bytes_per_s;
	const char *method; /* a sentence */
};

/* The job's own: what it brought in in the time it slept for it, else a rate that is said. */
struct gain_rate gain_rate_of(bool known, double brought_bytes, double stall_s);

/* Sets order_s, merges those of a job with one cause, orders the rest; how many are left. */
size_t findings_rank(struct finding *list, size_t nr, const struct gain_rate *rate);

#endif
