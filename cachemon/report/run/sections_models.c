/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/sections.h"

#include "advisor/analysis/analysis.h"
#include "cachemon/report/whatif/whatif_cache.h"
#include "cachemon/report/whatif/whatif_readahead_show.h"

static const struct analysis_model *model_of(const struct model *m, const struct model_job *job)
{
	return m->analysis ? analysis_model_of(m->analysis, job->id) : NULL;
}

void sections_curve(struct doc *d, const struct model *m, const struct model_job *job)
{
	const struct analysis_model *a = model_of(m, job);

	if (!a)
		return;
	if (a->curve.there)
		whatif_cache_picture(d, &a->curve);
	else
		doc_para(d, "There is no miss-ratio curve: %s", a->curve.absent);
}

void sections_readahead(struct doc *d, const struct model *m, const struct model_job *job)
{
	const struct analysis_model *a = model_of(m, job);

	if (!a)
		return;
	if (!a->readahead.nr_files)
		doc_para(d, "Nothing can be said of other settings: %s.", a->readahead.absent);
	else if (!a->readahead.nr_judged)
		doc_para(d,
			 "Of none of the %zu files that were traced can be said what another "
			 "setting would do; cachemon whatif readahead says why.",
			 a->readahead.nr_files);
	else
		whatif_readahead_picture(d, &a->readahead);
}
