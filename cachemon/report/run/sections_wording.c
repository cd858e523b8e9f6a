/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "cachemon/base/text_builder.h"
#include "cachemon/figures/show.h"
#include "cachemon/report/run/wording.h"

size_t wording_dropped(const struct wording *w)
{
	size_t nr = 0;

	for (int i = 0; i < DROP_NR; i++)
		nr += w->checked.dropped[i];
	return nr;
}

/* " (states a number outside a placeholder: 2; ...)" */
static void say_dropped(FILE *out, const struct wording *w)
{
	bool any = false;

	for (int i = 0; i < DROP_NR; i++) {
		if (!w->checked.dropped[i])
			continue;
		fprintf(out, "%s%s: %zu", any ? "; " : " (", drop_reasons[i].text,
			w->checked.dropped[i]);
		any = true;
	}
	if (any)
		putc(')', out);
}

static void say_line(FILE *out, const struct wording *w, bool reasons)
{
	if (w->skipped) {
		fprintf(out, "No explanation by a model: %s", w->skipped);
		return;
	}
	fprintf(out, "Written by %s at %s and checked: %zu statement%s kept, %zu dropped", w->model,
		w->host, w->checked.nr_statements, w->checked.nr_statements == 1 ? "" : "s",
		wording_dropped(w));
	if (reasons)
		say_dropped(out, w);
}

const char *wording_line(struct wording *w)
{
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (out)
		say_line(out, w, false);
	return text_end_in(&b, &w->arena);
}

/* "[E1, E4; prefetch-waste]": the evidence of a statement. */
static void put_cited(FILE *out, const struct llm_statement *s)
{
	fputs(" [", out);
	for (size_t i = 0; i < s->nr_evidence; i++)
		fprintf(out, "%s%s", i ? ", " : "", s->evidence[i]->key);
	for (size_t i = 0; i < s->nr_notes; i++)
		fprintf(out, "%s%s", i ? ", " : "; ", s->notes[i]->id);
	fputs("]", out);
}

/* In the words of a note, whose code after a colon is elsewhere. */
static void put_action(struct doc *d, const struct pack_action *a)
{
	int len = (int)strlen(a->text);
	bool code = len && a->text[len - 1] == ':';

	doc_words(d, "What to do: %.*s%s cachemon explain %s", len - code, a->text,
		  code ? "; the code:" : " More:", a->note_id);
}

void sections_wording_statement(struct doc *d, const struct llm_statement *s)
{
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (out) {
		if (s->about)
			fprintf(out, "%s, %s: ", s->about->id, s->about->subject);
		fputs(s->text, out);
		put_cited(out, s);
		if (s->confidence == LLM_LOW)
			fputs(" (The model is not sure.)", out);
	}
	doc_para_text(d, text_end(&b));
	if (s->action)
		put_action(d, s->action);
}

static void put_evidence(struct doc *d, const struct wording *w)
{
	static const struct doc_column columns[] = {
		{"KEY", DOC_LEFT},
		{"EVIDENCE", DOC_LEFT},
		{"VALUE", DOC_RIGHT},
		{"OF", DOC_WRAP},
	};
	struct doc_table t = DOC_TABLE("Measured or computed by cachemon", columns);

	for (size_t i = 0; i < w->nr_evidence; i++) {
		const struct pack_evidence *e = w->evidence[i];

		doc_cell(&t, "%s", e->key);
		doc_cell(&t, "%s", e->metric);
		doc_cell(&t, "%s", e->shown);
		doc_cell(&t, "%s%s%s", e->scope, *e->quality ? "; " : "", e->quality);
	}
	doc_put_table(d, &t);
}

static void put_spent(struct doc *d, const struct wording *w)
{
	doc_para(d,
		 "Asked %s: %s tokens sent, %s received, in %s and %s attempt%s; SHA-256 of the "
		 "request: %s. %s",
		 w->asked_ns.known ? show_rfc3339(w->asked_ns.value).s : "-",
		 show_count(w->tokens_in, false).s, show_count(w->tokens_out, false).s,
		 show_ns(w->duration_ns).s, show_count(w->attempts, false).s,
		 show_plural(w->attempts, "", "s"), w->prompt_sha256 ? w->prompt_sha256 : "-",
		 w->redacted ? "Names of files, jobs, users and hosts were not sent."
			     : "Names were sent unchanged.");
}

void sections_wording_line(struct doc *d, const struct wording *w)
{
	size_t len = w->skipped ? strlen(w->skipped) : 0;
	bool ended = len && strchr(".?!", w->skipped[len - 1]);
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (out) {
		say_line(out, w, true);
		fputs(ended ? "" : ".", out);
	}
	doc_para_text(d, text_end(&b));
}

void sections_wording_end(struct doc *d, const struct wording *w)
{
	if (w->warning)
		doc_para(d, "Warning: %s", w->warning);
	doc_fold_begin(d, w->nr_evidence ? "Evidence for these statements" : "The request");
	put_evidence(d, w);
	put_spent(d, w);
	doc_fold_end(d);
}

void sections_wording(struct doc *d, const struct wording *w)
{
	if (!w)
		return;
	sections_wording_line(d, w);
	if (w->skipped)
		return;
	if (!w->checked.nr_statements)
		doc_para(d, "None of its statements passed the checks.");
	else
		doc_para(d, "Findings, severity and numbers come from cachemon; the sentences come "
			    "from the model.");
	for (size_t i = 0; i < w->checked.nr_statements; i++)
		sections_wording_statement(d, &w->checked.statements[i]);
	sections_wording_end(d, w);
}
