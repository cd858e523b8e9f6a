/* SPDX-License-Identifier: BSD-2-Clause */
/* Any text as a note: it is complete, with everything that a report shows, or there is a
 * one-line error. */
#include "fuzz.h"

#include <errno.h>

#include "advisor/rules/embedded.h"
#include "advisor/rules/rule.h"

/* The shared texts of this fuzzer. */
bool embedded_shared(size_t i, const char **ret_name, const char **ret_text)
{
	static const char *const texts[][2] = {
		{"plain", "Two lines\nof prose.\n"},
		{"valued", "\tint @name@ = @value@; @ @@ @name\n@value@\n"},
	};

	if (i >= sizeof(texts) / sizeof(texts[0]))
		return false;
	*ret_name = texts[i][0];
	*ret_text = texts[i][1];
	return true;
}

typedef int (*parse)(struct arena *a, const char *file, const char *id, const char *text,
		     struct note *ret, struct errtext *err);

/* A user's notes, which are read in another way. */
int note_parse_lenient(struct arena *a, const char *file, const char *id, const char *text,
		       struct note *ret, struct errtext *err) __attribute__((weak));

static void check(parse parse, const char *text, bool strict)
{
	struct arena a = {0};
	struct errtext err = {""};
	struct note n;
	int e = parse(&a, "note.md", "n", text, &n, &err);

	MUST(e == 0 || e == -EINVAL || e == -ENOMEM);
	if (e == -EINVAL)
		MUST(!strncmp(err.text, "note.md:", 8) && !strpbrk(err.text, "\n\r\x1b"));
	if (!e) {
		MUST(n.id && n.title && n.body);
		MUST(!strstr(n.body, "\n@plain@\n"));
		MUST(!strict || (n.risk && n.undo && n.verify && n.action && *n.action));
		for (size_t i = 0; i < n.nr_snippets; i++)
			MUST(n.snippets[i].language && n.snippets[i].code);
	}
	arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	MUST(text);
	memcpy(text, data, size);
	text[size] = '\0';
	check(note_parse, text, true);
	if (note_parse_lenient)
		check(note_parse_lenient, text, false);
	free(text);
	return 0;
}
