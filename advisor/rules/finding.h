/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Findings of rules, merged by cause and sorted by severity and gain. Owns the types, the
 * merging and the order. Pure, no database.
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

/* A figure that supports a finding. */
struct evidence {
	const char *metric, *unit, *scope;
	const char *value; /* a JSON number, true or false; a text if is_text; NULL: null */
	bool is_text;
};

/* The largest ratio of measured to predicted gains in most examples (docs/advisor.md). */
#define GAIN_FACTOR 1.5
/* The order assumes that a fix gains this share of a bound: many findings have the wait for a
 * device as their bound, and few fixes remove most of it. */
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
	const struct note *note; /* NULL: absent */
	enum severity severity;
	double confidence;
	enum subject_kind kind;
	struct bytes subject;
	const char *summary;
	struct evidence *evidence;
	size_t nr_evidence;
	struct gain gain;
	const char *cause;		   /* NULL: its own cause */
	double order_s;			   /* seconds by which it is sorted; < 0: unknown */
	struct finding *merged;		   /* the next finding merged into the same one */
	const struct finding *merged_into; /* NULL: not merged */
};

/* How bytes become seconds, for ordering only. */
struct gain_rate {
	double bytes_per_s;
	bool measured;
	const char *method; /* a sentence */
};

/* The job's own rate (bytes brought in / time slept for them), else a stated default. */
struct gain_rate gain_rate_of(bool known, double brought_bytes, double stall_s);

/* The job's values that findings are compared with. */
struct gain_scale {
	struct gain_rate rate;
	struct opt_f64 wall_s;
	double floor_share; /* share of wall_s: a finding with a smaller gain is only worth knowing
			     */
};

/* The share of the job's time that a fix may gain; unknown if it is in bytes and no rate was
 * measured. */
struct opt_f64 gain_share(const struct gain *g, const struct gain_scale *scale);

/* A finding that gains less than the floor gets severity info. */
void finding_apply_floor(struct finding *f, const struct gain_scale *scale);

/*
 * Sets order_s, merges a job's findings with the same cause into the one with the most direct
 * lever, and sorts them. Returns the number of findings that stay; the merged ones follow in the
 * same order.
 */
size_t findings_rank(struct finding *list, size_t nr, const struct gain_scale *scale);

#endif
