/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "advisor/llm/tokens.h"
#include "cachemon/figures/counters.h"
#include "cachemon/wording/pack_impl.h"

enum { ACTION_BYTES = 110 };

static const char *subject_of(struct packer *k, const struct finding *f)
{
	if (f->kind == SUBJECT_JOB)
		return "job";
	return packer_text(k,
			   packer_format(k, "%s %s", subject_names[f->kind],
					 f->subject.data ?: "without a name"),
			   0);
}

static void put_evidence(struct packer *k, const struct finding *f, struct pack_finding *to)
{
	size_t last = k->p->nr_evidence + k->bounds->evidence_each;
	struct opt_f64 gain = {f->gain.value, f->gain.known};

	to->evidence = k->p->nr_evidence;
	packer_real(k, "gain", gain, gain_unit_names[f->gain.unit], to->key,
		    f->gain.method == GAIN_BOUND   ? "at most"
		    : f->gain.method == GAIN_MODEL ? "computed"
						   : "measured");
	for (size_t i = 0; i < f->nr_evidence && k->p->nr_evidence < last; i++) {
		const struct evidence *e = &f->evidence[i];

		/* Not truncated, because half of a name would not be recognised. A rule's texts
		 * are exact. */
		packer_add(k, &(struct pack_evidence){
				      .metric = e->metric,
				      .value = e->value,
				      .unit = e->unit,
				      .scope = packer_format(k, "%s: %s", to->key, e->scope),
				      .is_text = e->is_text,
			      });
	}
	to->nr_evidence = k->p->nr_evidence - to->evidence;
}

static const char *put_action(struct packer *k, const struct note *n)
{
	struct pack_action *a;

	if (!n)
		return NULL;
	for (size_t i = 0; i < k->p->nr_actions; i++)
		if (strcmp(k->p->actions[i].note_id, n->id) == 0)
			return k->p->actions[i].key;
	a = &k->p->actions[k->p->nr_actions++];
	a->key = packer_format(k, "A%zu", k->p->nr_actions);
	a->note_id = n->id;
	a->text = packer_text(k, n->action, ACTION_BYTES);
	return a->key;
}

void pack_findings(struct packer *k)
{
	for (size_t i = 0; k->a && i < k->a->nr_findings && i < k->bounds->findings; i++) {
		const struct finding *f = &k->a->findings[i];
		struct pack_finding *to = &k->p->findings[k->p->nr_findings++];

		*to = (struct pack_finding){
			.key = packer_format(k, "F%zu", k->p->nr_findings),
			.id = f->rule->id,
			.severity = f->severity,
			.confidence = f->confidence,
			.title = packer_text(k, f->rule->title, 0),
			.subject = subject_of(k, f),
			.summary = packer_text(k, f->summary, k->bounds->summary_bytes),
		};
		put_evidence(k, f, to);
		to->action = put_action(k, f->note);
	}
}

static void put_note(struct packer *k, const struct kb_hit *hit)
{
	struct pack_note *n = &k->p->notes[k->p->nr_notes++];

	n->key = packer_format(k, "N%zu", k->p->nr_notes);
	n->id = packer_text(k, hit->note->id, 0);
	n->text = packer_text(k, hit->text, 0);
	n->of_user = hit->of_user;
	if (!hit->of_user)
		put_action(k, hit->note);
}

/* By the directory of its memory limit; NULL: not known. */
static const char *cgroup_version(const struct bytes *at)
{
	static const char root[] = "/sys/fs/cgroup/", v1[] = "/sys/fs/cgroup/memory/";

	if (!at->data || at->len < strlen(root) || memcmp(at->data, root, strlen(root)) != 0)
		return NULL;
	return at->len >= strlen(v1) && !memcmp(at->data, v1, strlen(v1)) ? "v1" : "v2";
}

/* "network", "rotational", "ssd"; NULL: not known. */
static const char *device_kind(const struct model_filesystem *f)
{
	if (f->network.known && f->network.value)
		return "network";
	return !f->rotational.known ? NULL : f->rotational.value ? "rotational" : "ssd";
}

/* The kinds of the devices that the job's pages came from. Returns their number; 0 if one of them
 * is not known: no kind can be excluded. */
static size_t device_kinds(const struct model_job *job, const char **ret)
{
	size_t nr = 0;

	for (size_t i = 0; i < job->nr_filesystems; i++) {
		const struct model_filesystem *f = &job->filesystems[i];
		struct opt_i64 brought = counts_sum(&f->counts, SUM_OF(TERMS_brought_pages));

		if (brought.known && !brought.value)
			continue;
		ret[nr] = device_kind(f);
		if (!ret[nr++])
			return 0;
	}
	return nr;
}

int pack_notes(struct packer *k, struct errtext *err)
{
	const struct model_job *job = k->job;
	const char **types = arena_alloc(&k->p->arena, (job->nr_filesystems + 1) * sizeof(*types));
	const char **kinds = arena_alloc(&k->p->arena, (job->nr_filesystems + 1) * sizeof(*kinds));
	const char *ids[64], *words = "";
	struct kb_hit hits[LLM_NOTES_MAX];
	struct kb_facts facts = {
		.filesystems = types,
		.devices = kinds,
		.nr_devices = kinds ? device_kinds(job, kinds) : 0,
		.kernel = k->from->model->run.kernel.data,
		.cgroup = cgroup_version(&job->limit_at),
	};
	struct kb_query query = {.findings = ids,
				 .facts = &facts,
				 .question = k->from->question,
				 .max_notes = k->bounds->notes,
				 .max_tokens = LLM_TOKENS_NOTES};
	size_t nr = 0;
	int ret = 0;

	if (!k->from->kb || !k->bounds->notes)
		return 0;
	for (size_t i = 0; types && i < job->nr_filesystems; i++)
		if (job->filesystems[i].type.len)
			types[facts.nr_filesystems++] = job->filesystems[i].type.data;
	for (size_t i = 0; i < k->p->nr_findings; i++) {
		words = packer_format(k, "%s%s\n", words, k->p->findings[i].title);
		if (i < sizeof(ids) / sizeof(ids[0]))
			ids[query.nr_findings++] = k->p->findings[i].id;
	}
	query.words = words;
	ret = kb_find(k->from->kb, &query, &k->p->arena, hits, &nr, err);
	for (size_t i = 0; i < nr && !ret; i++)
		put_note(k, &hits[i]);
	return ret;
}
