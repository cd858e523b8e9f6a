/* SPDX-License-Identifier: BSD-2-Clause */
/* Any text as a model's answer: what is kept may be shown, findings are all there in the order of
 * their severity, and pieces give the statements that the whole answer gives. */
#include "fuzz.h"
#include "tests/unit/fixtures/llm_pack.h"

struct stream {
	const struct pack *pack;
	const struct redact *names;
	const struct llm_checked *whole;
	struct arena arena;
	size_t nr, kept;
};

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
		MUST(end && redact_knows(names, at, (size_t)(end - at) + 1));
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

static void take(void *arg, const char *object, size_t len)
{
	struct stream *s = arg;
	struct llm_statement one;
	enum drop_reason reason = DROP_NR;
	int kept = llm_check_statement(s->pack, s->names, object, len, &s->arena, &one, &reason);

	MUST(kept == 1 || (kept == 0 && reason < DROP_NR));
	if (!kept || s->nr++ >= STATEMENTS_MAX)
		return;
	check_kept(s->names, &one);
	if (!s->whole)
		return;
	MUST(s->kept < s->whole->nr_statements);
	MUST(!strcmp(s->whole->statements[s->kept].text, one.text));
	MUST(s->whole->statements[s->kept++].about == one.about);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pack pack = pack_made();
	struct arena a = {0};
	struct redact *names = pack_names(&a);
	struct llm_split *split = llm_split_new();
	struct llm_checked c = {0};
	const char *reply = (const char *)data;
	bool whole = llm_check(&pack, names, reply, size, &c, NULL) == 0;
	struct stream s = {&pack, names, whole ? &c : NULL, {0}, 0, 0};
	uint64_t seed = size;

	MUST(names && split);
	for (size_t at = 0, piece; at < size; at += piece) {
		piece = piece_of(&seed, size - at);
		MUST(!llm_split_feed(split, reply + at, piece, take, &s));
	}
	if (whole) {
		/* The 64 first are of all that came, kept or not; here of those that are kept. */
		MUST(s.kept == c.nr_statements || c.dropped[DROP_TOO_MANY]);
		check_ranking(&pack, &c);
		llm_checked_free(&c);
	}
	llm_split_free(split);
	redact_free(names);
	arena_free(&s.arena);
	arena_free(&a);
	return 0;
}
