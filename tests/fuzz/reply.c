/* SPDX-License-Identifier: BSD-2-Clause */
/* Any text as a model's answer: accepted statements may be shown, and all findings are there in
 * order of severity. */
#include "fuzz.h"

#include <errno.h>

#include "tests/unit/fixtures/llm_pack.h"

static void check_kept(const struct redact *names, const struct llm_statement *s)
{
	MUST(s->nr_evidence > 0 && *s->text);
	MUST(!strstr(s->text, "://") && !strstr(s->text, "www."));
	for (const char *at = s->text; *at; at++) {
		const char *end = *at == '<' ? strchr(at, '>') : NULL;

		MUST((unsigned char)*at >= ' ' && *at != 0x7f);
		MUST(!strchr("`|$\\{}@", *at));
		if (*at != '<' && *at != '>')
			continue;
		MUST(end &&
		     redact_alias_len(names, at, (size_t)(end - at) + 1) == (size_t)(end - at) + 1);
		at = end;
	}
}

static void check_ranking(const struct pack *pack, const struct llm_checked *c)
{
	MUST(c->nr_ranking == pack->nr_findings);
	for (size_t i = 0; i < c->nr_ranking; i++) {
		MUST(!i || c->ranking[i - 1]->severity >= c->ranking[i]->severity);
		for (size_t k = 0; k < i; k++)
			MUST(c->ranking[i] != c->ranking[k]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pack pack = pack_made();
	struct arena a = {0};
	struct redact *names = pack_names(&a);
	struct llm_checked c = {0};
	int e = llm_check(&pack, names, (const char *)data, size, &c, NULL);

	MUST(names && (e == 0 || e == -EBADMSG));
	if (!e) {
		MUST(c.nr_statements <= STATEMENTS_MAX);
		for (size_t i = 0; i < c.nr_statements; i++)
			check_kept(names, &c.statements[i]);
		check_ranking(&pack, &c);
		llm_checked_free(&c);
	}
	redact_free(names);
	arena_free(&a);
	return 0;
}
