/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verifier OBJECT: makes the running kernel verify all programs of an object, once for each
 * possible setting of the constants. Prints a line per program: its name and the largest number of
 * instructions that the verifier processed; "-" if there is nothing to attach it to, or "refused"
 * with the last words of the verifier.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/shared.h"

enum { ABSENT = -1, REFUSED = -2, PROGRAMS_MAX = 256, ENTRIES = 64 };
enum { LOG_STATS = 4, STATS_BYTES = 4096 }; /* BPF_LOG_STATS of the kernel's bpf_verifier.h */

struct program {
	const char *name, *section;
	long most;
	char *words; /* of the verifier that refused it */
	char stats[STATS_BYTES];
};

static char verifier_log[16 << 20];
/* The program that libbpf complained about last. */
static char complained[64];

/* Each is a possible run: by fork, by cgroup or of many jobs, with or without a tracepoint as the
 * per-read hook. */
static const struct config ways[] = {
	{},
	{.job_by_cgroup = JOB_BY_V2, .job_cgroup_level = 1, .job_cgroup_id = 7},
	{.job_by_cgroup = JOB_BY_MEMORY, .job_cgroup_level = 1, .job_cgroup_id = 7},
	{.job_by_cgroup = JOB_BY_FREEZER, .job_cgroup_level = 1, .job_cgroup_id = 7},
	{.reads_by_call = 1},
	{.reads_by_call = 1, .job_by_cgroup = JOB_BY_V2, .job_cgroup_level = 1, .job_cgroup_id = 7},
	{.job_hierarchies = 1 << JOB_BY_V2},
	{.job_hierarchies = 1 << JOB_BY_V2 | 1 << JOB_BY_MEMORY | 1 << JOB_BY_FREEZER},
	{.reads_by_call = 1, .job_hierarchies = 1 << JOB_BY_V2},
};
#define NR_WAYS (sizeof(ways) / sizeof(ways[0]))

static int listen(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char line[256];

	vsnprintf(line, sizeof(line), fmt, ap);
	if (level == LIBBPF_WARN)
		sscanf(line, "libbpf: prog '%63[^']'", complained);
	return 0;
}

static struct bpf_object *open_object(const char *path)
{
	struct bpf_object *o = bpf_object__open(path);

	if (!o) {
		fprintf(stderr, "verifier: %s: %s\n", path, strerror(errno));
		exit(2);
	}
	return o;
}

static void set_constants(struct bpf_object *o, const struct config *way)
{
	struct bpf_map *map = bpf_object__find_map_by_name(o, ".rodata.config");
	size_t size = 0;
	struct config *config = map ? (void *)bpf_map__initial_value(map, &size) : NULL;

	if (!config || size < sizeof(*config)) {
		fprintf(stderr, "verifier: the object has no constants\n");
		exit(2);
	}
	*config = *way;
	config->page_shift = 12;
	/* With none, 6.18 removes the step of a loop that it then looks for. */
	config->nr_cpus = 2;
	config->advice_by_calls = 1;
	/* The addresses do not exist; they only keep the verifier from removing the branch that
	 * uses them. */
	config->sym_fadvise[0] = config->sym_invalidate2[0] = config->sym_drop_caches[0] = 16;
	config->sym_fadvise[1] = config->sym_invalidate2[1] = config->sym_drop_caches[1] = 32;
	config->sym_fallocate[0] = config->sym_unmap[0] = 16;
	config->sym_fallocate[1] = config->sym_unmap[1] = 32;
}

static struct program *find(struct program *programs, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(programs[i].name, name))
			return &programs[i];
	return NULL;
}

/* The constants and the programs of a run, but small maps: full-sized ones take time. */
static void prepare(struct bpf_object *o, const struct config *way, struct program *programs,
		    size_t nr, bool counts)
{
	struct program *wanted;
	struct bpf_program *p;
	struct bpf_map *map;

	bpf_object__for_each_map(map, o)
	{
		if (bpf_map__type(map) == BPF_MAP_TYPE_HASH)
			bpf_map__set_max_entries(map, ENTRIES);
	}
	set_constants(o, way);
	bpf_object__for_each_program(p, o)
	{
		wanted = find(programs, nr, bpf_program__name(p));
		bpf_program__set_autoload(p, wanted && wanted->most >= 0);
		if (wanted && counts) {
			bpf_program__set_log_level(p, LOG_STATS);
			bpf_program__set_log_buf(p, wanted->stats, sizeof(wanted->stats));
		} else {
			bpf_program__set_log_buf(p, verifier_log, sizeof(verifier_log));
		}
	}
}

/* Loads all programs except those known to fail; if one of them fails, loads none. */
static int load(const char *path, const struct config *way, struct program *programs, size_t nr,
		bool counts)
{
	struct bpf_object *o = open_object(path);
	int err;

	prepare(o, way, programs, nr, counts);
	verifier_log[0] = complained[0] = 0;
	err = bpf_object__load(o);
	bpf_object__close(o);
	return err;
}

/* From the verifier's log: kernels before 5.16 report it in no other way. */
static int count(struct program *programs, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const char *at = strstr(programs[i].stats, "processed ");
		long processed;

		if (programs[i].most < 0)
			continue;
		if (!at || sscanf(at, "processed %ld insns", &processed) != 1 || processed <= 0) {
			fprintf(stderr, "verifier: %s: no figure\n", programs[i].name);
			return -1;
		}
		if (processed > programs[i].most)
			programs[i].most = processed;
	}
	return 0;
}

/* The verifier's text before its count of processed instructions. */
static const char *last_words(char *log)
{
	const char *last = "", *next = NULL;

	for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n")) {
		last = strncmp(line, "processed ", 10) ? line : last;
		next = line;
	}
	return *last ? last : next;
}

/* A type that a program reads belongs to a module; before 5.11, kernels have no BTF of modules. */
static bool is_without_type(void)
{
	static const char unresolved[] = "failed to resolve CO-RE relocation";
	const char *at = strstr(verifier_log, unresolved);
	char name[64];
	struct btf *btf;
	bool without;

	if (!at || sscanf(at + strlen(unresolved), " <%*[^>]> [%*u] struct %63[^.: ]", name) != 1)
		return false;
	btf = btf__load_vmlinux_btf();
	without = btf && btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT) < 0;
	btf__free(btf);
	return without;
}

/* The hook has that name but fewer arguments: the program is for another version of it. */
static bool is_refused(void)
{
	return verifier_log[0] && !strstr(verifier_log, "-th argument") && !is_without_type();
}

/* Programs are loaded in order: those before one that fails can be loaded. */
static int sort_out(const char *path, struct program *programs, size_t nr)
{
	struct program *bad;
	size_t from = 0;

	while (from < nr && load(path, &ways[0], programs + from, nr - from, false)) {
		bad = find(programs + from, nr - from, complained);
		if (!bad) {
			fprintf(stderr, "verifier: nothing loads, and no program is named\n");
			return -1;
		}
		bad->most = is_refused() ? REFUSED : ABSENT;
		if (bad->most == REFUSED)
			bad->words = strdup(last_words(verifier_log));
		from = (size_t)(bad - programs) + 1;
	}
	return 0;
}

/* Programs for the same hook are each for another prototype: one of them must fit, the others
 * need not. Programs without a hook, called by user space, are independent. */
static bool has_a_twin(const struct program *programs, size_t nr, const struct program *p)
{
	if (!strchr(p->section, '/'))
		return false;
	for (size_t i = 0; i < nr; i++)
		if (programs[i].most >= 0 && !strcmp(programs[i].section, p->section))
			return true;
	return false;
}

static void print(const struct program *programs, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct program *p = &programs[i];

		if (p->most >= 0)
			printf("%s %ld\n", p->name, p->most);
		else if (p->most == REFUSED && !has_a_twin(programs, nr, p))
			printf("%s refused %s\n", p->name, p->words);
		else
			printf("%s -\n", p->name);
	}
}

int main(int argc, char **argv)
{
	static struct program programs[PROGRAMS_MAX];
	struct bpf_program *p;
	struct bpf_object *o;
	size_t nr = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: verifier OBJECT\n");
		return 2;
	}
	libbpf_set_print(listen);
	o = open_object(argv[1]);
	bpf_object__for_each_program(p, o)
	{
		if (nr == PROGRAMS_MAX)
			break;
		programs[nr].section = bpf_program__section_name(p);
		programs[nr++].name = bpf_program__name(p);
	}
	if (sort_out(argv[1], programs, nr))
		return 1;
	for (size_t w = 0; w < NR_WAYS; w++) {
		if (load(argv[1], &ways[w], programs, nr, true)) {
			struct program *bad = find(programs, nr, complained);

			printf("%s refused when constants are set in way %zu: %s\n", complained, w,
			       bad ? last_words(bad->stats) : "(nothing)");
			return 0;
		}
		if (count(programs, nr))
			return 1;
	}
	print(programs, nr);
	bpf_object__close(o);
	return 0;
}
