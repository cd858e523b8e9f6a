/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: cmd report account access */
/* The tables of the verbs: complete and consistent, and the help made from them. */
#include "fixtures/report/verb.h"

#include "cachemon/cmd/usage.h"
#include "cachemon/cmd/spec.h"

static size_t nr_verbs(void)
{
	size_t nr = 0;

	verbs_all(&nr);
	return nr;
}

static const struct verb_spec *verb(size_t i)
{
	size_t nr = 0;

	return verbs_all(&nr)[i];
}

static const struct option_spec *find(const struct verb_spec *v, const char *name, size_t len)
{
	for (const struct option_spec *o = v->options; !option_spec_end(o); o++)
		if (o->option.name && strlen(o->option.name) == len &&
		    !strncmp(o->option.name, name, len))
			return o;
	return NULL;
}

static void options_are_whole(void **state)
{
	for (size_t i = 0; i < nr_verbs(); i++) {
		const struct verb_spec *v = verb(i);

		assert_true(v->help && *v->help && v->run);
		assert_int_equal(v->operands != NULL, v->operand != VALUE_NONE);
		for (const struct option_spec *o = v->options; !option_spec_end(o); o++) {
			assert_true(o->option.doc && *o->option.doc);
			assert_true(o->value < VALUE_NR);
			assert_int_equal(o->option.arg != NULL, o->value != VALUE_NONE);
			if (o->value == VALUE_CHOICE)
				assert_non_null(strchr(o->option.arg, '|'));
			if (option_spec_heading(o))
				continue;
			assert_int_not_equal(o->option.key, 0);
			/* Every short option has a long form. */
			assert_ptr_equal(find(v, o->option.name, strlen(o->option.name)), o);
		}
	}
}

/* An option means the same in every verb: its value, its letter, and no letter for two options. */
static void of_one_mind(const struct option_spec *a, const struct option_spec *b)
{
	bool same = a->option.name && b->option.name && !strcmp(a->option.name, b->option.name);
	char letter = option_spec_letter(a);

	if (same) {
		assert_int_equal(a->value, b->value);
		assert_int_equal(letter, option_spec_letter(b));
		assert_int_equal(a->option.arg != NULL, b->option.arg != NULL);
		if (a->option.arg && a->value != VALUE_CHOICE)
			assert_string_equal(a->option.arg, b->option.arg);
	} else if (letter) {
		assert_int_not_equal(letter, option_spec_letter(b));
	}
}

static void one_meaning(void **state)
{
	for (size_t i = 0; i < nr_verbs(); i++)
		for (size_t j = 0; j < nr_verbs(); j++)
			for (const struct option_spec *a = verb(i)->options; !option_spec_end(a);
			     a++) {
				of_one_mind(a, option_spec_help());
				for (const struct option_spec *b = verb(j)->options;
				     !option_spec_end(b); b++)
					of_one_mind(a, b);
			}
}

/* External contract; see docs/json.md and docs/cli.md. */
static void promised_options(void **state)
{
	static const struct {
		const char *verb, *options;
	} promised[] = {
		{"watch",
		 "job pid cgroup level max-overhead advice interval duration db report rules"},
		{"report", "db run job format json files rules output"},
		{"advise", "db run job format json rules output"},
		{"compare", "db job format json per output"},
		{"whatif", "db run job format json output"},
		{"runs", "db json"},
		{"jobs", "json output socket"},
		{"doctor", "json"},
		{"selftest", "dir"},
		{"explain", "rules"},
		{"top", "db run replay pid cgroup job batch frames rows sort"},
	};

	for (size_t i = 0; i < sizeof(promised) / sizeof(promised[0]); i++) {
		const struct verb_spec *v = verb_find(promised[i].verb);

		assert_non_null(v);
		for (const char *o = promised[i].options; *o; o += strspn(o, " ")) {
			size_t len = strcspn(o, " ");

			if (!find(v, o, len))
				fail_msg("%s has no --%.*s", v->name, (int)len, o);
			o += len;
		}
	}
}

static void check_example(const struct verb_spec *v, const char *command)
{
	const char *word = command + (strncmp(command, "sudo ", 5) ? 0 : 5);
	char begin[64];

	snprintf(begin, sizeof(begin), "cachemon %s", v->name);
	if (strncmp(word, begin, strlen(begin)) != 0)
		fail_msg("not of %s: %s", v->name, command);
	while ((word = strstr(word, " --")) && word[3] != ' ') {
		word += 3;
		if (!find(v, word, strcspn(word, " =")))
			fail_msg("no such option: %s", command);
	}
}

static void examples_are_of_the_verb(void **state)
{
	for (size_t i = 0; i < nr_verbs(); i++) {
		const struct verb_spec *v = verb(i);

		if (v->hidden)
			continue;
		assert_non_null(v->examples[0].command);
		for (const struct example *e = v->examples; e->command; e++) {
			assert_true(e->why && *e->why);
			check_example(v, e->command);
		}
	}
	for (const struct example *e = program_examples(); e->command; e++) {
		const char *name = strstr(e->command, "cachemon ") + strlen("cachemon ");
		char word[32];

		snprintf(word, sizeof(word), "%.*s", (int)strcspn(name, " "), name);
		assert_non_null(verb_find(word));
		check_example(verb_find(word), e->command);
	}
}

static void assert_fits(char *text)
{
	const char *examples = strstr(text, "\nEXAMPLES\n");

	assert_non_null(examples);
	/* Examples come first, right after the summary. */
	assert_true(examples - text < 240);
	assert_true(examples < strstr(text, "\nUSAGE\n"));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (strlen(line) > 80)
			fail_msg("more than 80 columns: %s", line);
}

static void help_fits(void **state)
{
	for (size_t i = 0; i <= nr_verbs(); i++) {
		char *text = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&text, &len);

		assert_non_null(out);
		if (i == nr_verbs())
			help_program(out);
		else if (!verb(i)->hidden)
			help_verb(out, verb(i));
		fclose(out);
		if (len)
			assert_fits(text);
		free(text);
	}
}

static void choices(void **state)
{
	const char *word = NULL;

	assert_int_equal(choice_of("cold|full|auto", 0, &word), 4);
	assert_memory_equal(word, "cold", 4);
	assert_int_equal(choice_of("cold|full|auto", 2, &word), 4);
	assert_string_equal(word, "auto");
	assert_int_equal(choice_of("cold|full|auto", 3, &word), 0);
	assert_int_equal(choice_of("one", 0, &word), 3);
	assert_int_equal(choice_of("one", 1, &word), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_are_whole), cmocka_unit_test(one_meaning),
		cmocka_unit_test(promised_options),  cmocka_unit_test(examples_are_of_the_verb),
		cmocka_unit_test(help_fits),	     cmocka_unit_test(choices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
