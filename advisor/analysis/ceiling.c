/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/ceiling.h"

#include <stddef.h>

#include "advisor/analysis/grade.h"

/* Less than this many times through the data there is no second epoch to look at. */
static const double EPOCHS_MIN = 1.5;

static struct opt_f64 rest_of(struct opt_f64 share)
{
	return (struct opt_f64){1 - share.value, share.known};
}

/* The ceiling of the time behind the point at which the whole dataset had been read once. */
static struct opt_f64 after_first(const struct ceiling_input *in)
{
	struct opt_f64 stall = {0}, wall = {0}, cpu = {.known = true};
	double read = 0;

	for (size_t i = 0; i < in->nr_points; i++) {
		const struct ceiling_point *p = &in->points[i];

		if (!p->stall_ns.known || !p->read_bytes.known)
			return (struct opt_f64){0};
		if (read >= in->dataset_bytes.value) {
			stall = (struct opt_f64){stall.value + (double)p->stall_ns.value, true};
			wall = (struct opt_f64){wall.value + (double)p->duration_ns, true};
			cpu.value += (double)p->cpu_ns.value;
			cpu.known = cpu.known && p->cpu_ns.known;
		}
		read += (double)p->read_bytes.value;
	}
	return rest_of(grade_stall_share(stall, stall, wall, cpu));
}

static const char *line_of(double ceiling)
{
	if (ceiling >= CEILING_LINE_HIGH)
		return ">= 90 %";
	return ceiling >= CEILING_LINE_LOW ? ">= 70 %" : "< 70 %";
}

struct ceiling ceiling_of(const struct ceiling_input *in)
{
	struct ceiling c = {.overall = rest_of(grade_stall_share(in->stall_ns, in->stall_ns,
								 in->wall_ns, in->cpu_ns))};

	if (in->read_bytes.known && in->dataset_bytes.known && in->dataset_bytes.value > 0)
		c.epochs = (struct opt_f64){in->read_bytes.value / in->dataset_bytes.value, true};
	if (!c.overall.known)
		c.reason = "stalls or the job's time were not measured";
	else if (!c.epochs.known)
		c.reason = "how many distinct bytes were read is not known";
	else if (c.epochs.value < EPOCHS_MIN)
		c.reason = "less was read than the data one and a half times";
	else
		c.after_first_epoch = after_first(in);
	if (!c.reason && !c.after_first_epoch.known)
		c.reason = "the timeline does not show where the first epoch ended";
	if (c.overall.known)
		c.line = line_of(c.after_first_epoch.known ? c.after_first_epoch.value
							   : c.overall.value);
	return c;
}
