/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What rules found, merged by cause and in the order of what a fix gains. Owns the types, the
 * merging and the order: pure, no database.
 */
#ifndef FINDING_H
#define FINDING_H

#include "advisor/rules/rule.h"
#include "cachemon/base/optional.h"

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
/* Findings are ordered as if a fix gained this part of a bound: the wait for a device is a bound
 * of many findings, and only few fixes remove most of it. */
#define GAIN_BOUND_PART 0.2

struct gain {
	bool known;
	double value;
	enum gain_unit unit;
	enum gain_method method;
};

struct finding {
	int64_t job_id;
	const struct rule *rule;
	const struct note *note; /* NULL: there is none */
	enum severity severity;
	double confidence;
	enum subject_kind kind;
	struct bytes subject;
	const char *summary;
	struct evidence *evidence;
	size_t nr_evidence;
	struct gain gain;
	const char *cause;		   /* NULL: its own */
	double order_s;			   /* seconds that it is ordered by; < 0: unknown */
	struct finding *merged;		   /* the next one that was merged into the same one */
	const struct finding *merged_into; /* NULL: into none */
};

/* How bytes become seconds, for ordering only. */
struct gain_rate {
	double bytes_per_s;
	bool measured;
	const char *method; /* a sentence */
};

/* The job's own: what it brought in in the time it slept for it, else a rate that is said. */
struct gain_rate gain_rate_of(bool known, double brought_bytes, double stall_s);

/* What the gains of a job's findings are held against. */
struct gain_scale {
	struct gain_rate rate;
	struct opt_f64 wall_s;
	double floor_share; /* of wall_s: what gains less is worth knowing, and no more */
};

/* The part of the job's time that a fix may gain; unknown also of bytes at no measured rate. */
struct opt_f64 gain_share(const struct gain *g, const struct gain_scale *scale);

/* The severity of a finding that gains less than the floor is info. */
void finding_apply_floor(struct finding *f, const struct gain_scale *scale);

/*
 * Sets order_s, merges the findings of a job with one cause into the one with the most direct
 * lever, and orders them. Returns how many were not merged; the others stand behind these, in the
 * same order.
 */
size_t findings_rank(struct finding *list, size_t nr, const struct gain_scale *scale);

#endif
