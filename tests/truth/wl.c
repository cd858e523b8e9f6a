// SPDX-License-Identifier: BSD-2-Clause
/*
 * wl list                          patterns and the setup each needs
 * wl prepare SETUP PATH            makes the files
 * wl run PATTERN PATH OUT [SEED] [join=CGROUP]... [ready=FILE go=FIFO]
 *                                  performs the pattern, writes the expected report to OUT
 * wl scan PATH...                  cached pages of each file
 * wl plain PATH                    reads the file, without any look
 * wl looks                         how it detects cached pages; WL_ORACLE selects another way
 *
 * Exits with 77 and a reason if the kernel lacks a feature that the pattern needs.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wl.h"

#define PLAIN_STEP 20000
#define SEED	   88172645463325252ULL

static const char *const setup_names[SETUP_NR] = {
#define X(name) #name,
	WL_SETUPS(X)
#undef X
};

static const struct pattern *const tables[] = {patterns_read,	 patterns_calls, patterns_short,
					       patterns_advice,	 patterns_mmap,	 patterns_file,
					       patterns_process, patterns_load};

uint64_t wl_random(struct wl *w, uint64_t below)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random % below;
}

void wl_value(struct wl *w, const char *name, uint64_t value)
{
	if (w->nr_values == VALUES_MAX)
		errx(1, "too many values");
	w->values[w->nr_values].name = name;
	w->values[w->nr_values++].value = value;
}

void wl_file_name(const struct wl *w, unsigned int n, char *ret_name, size_t size)
{
	if (n)
		snprintf(ret_name, size, "%s.%u", w->path, n);
	else
		snprintf(ret_name, size, "%s", w->path);
}

static struct oracle *add_oracle(struct wl *w, const char *path, uint64_t max_bytes)
{
	w->files = realloc(w->files, (w->nr_files + 1) * sizeof(*w->files));
	if (!w->files)
		err(1, "files");
	w->files[w->nr_files] = oracle_new(path, max_bytes);
	return w->files[w->nr_files++];
}

struct oracle *wl_oracle_path(struct wl *w, const char *path)
{
	return add_oracle(w, path, 0);
}

struct oracle *wl_oracle(struct wl *w, unsigned int n, uint64_t max_bytes)
{
	char name[512];

	wl_file_name(w, n, name, sizeof(name));
	return add_oracle(w, name, max_bytes);
}

struct opener wl_open(struct wl *w, unsigned int n)
{
	return opener_open(wl_oracle(w, n, 0), O_RDONLY);
}

void wl_drop(struct opener *s)
{
	op_dontneed(s, 0, 0);
}

static void print_result(struct wl *w, const char *pattern, const char *out)
{
	FILE *f = fopen(out, "we");

	if (!f)
		err(1, "%s", out);
	fprintf(f, "{\"pattern\": \"%s\", \"looks\": \"%s\", \"values\": {", pattern, looks_name());
	for (size_t i = 0; i < w->nr_values; i++)
		fprintf(f, "%s\"%s\": %" PRIu64, i ? ", " : "", w->values[i].name,
			w->values[i].value);
	fprintf(f, "},\n \"files\": [\n");
	for (size_t i = 0; i < w->nr_files; i++) {
		oracle_print(w->files[i], f);
		fprintf(f, "%s\n", i + 1 < w->nr_files ? "," : "");
	}
	fprintf(f, "]}\n");
	if (fclose(f))
		err(1, "%s", out);
}

static const struct pattern *find_pattern(const char *name)
{
	for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++)
		for (const struct pattern *p = tables[t]; p->name; p++)
			if (!strcmp(p->name, name))
				return p;
	errx(2, "%s: no such pattern; see wl list", name);
}

static void join_cgroup(const char *dir)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		err(1, "%s", path);
	close(fd);
}

/* Reports that it is ready, and waits until the FIFO has no writer any more. It opens its own
 * end before that: a reader that opens a FIFO too late would wait for a second release. */
static void wait_for_go(const char *ready, const char *go)
{
	int fd = open(go, O_RDONLY | O_CLOEXEC), said;
	char byte;

	if (fd < 0)
		err(1, "%s", go);
	said = open(ready, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (said < 0)
		err(1, "%s", ready);
	close(said);
	if (read(fd, &byte, 1) != 0)
		err(1, "%s", go);
	close(fd);
}

static int run(int argc, char **argv)
{
	struct wl w = {.self = "/proc/self/exe", .random = SEED};
	const struct pattern *p;
	const char *ready = NULL;

	if (argc < 5)
		errx(2, "usage: wl run PATTERN PATH OUT [SEED] [join=CGROUP]... [ready=F go=FIFO]");
	p = find_pattern(argv[2]);
	looks();
	w.path = argv[3];
	/* So that its own faults and evictions are not mistaken for those of the file. */
	if (!oracle_may_go_on(mlockall(MCL_CURRENT)))
		err(1, "mlockall");
	/* Newer kernels (seen on 7.2) make huge pages of mapped files, and khugepaged reads the
	 * missing parts: pages outside of the pattern. */
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		err(1, "PR_SET_THP_DISABLE");
	for (int i = 5; i < argc; i++) {
		if (!strncmp(argv[i], "join=", 5))
			join_cgroup(argv[i] + 5);
		else if (!strncmp(argv[i], "ready=", 6))
			ready = argv[i] + 6;
		else if (!strncmp(argv[i], "go=", 3) && ready)
			wait_for_go(ready, argv[i] + 3);
		else
			w.random = SEED + strtoull(argv[i], NULL, 10) * 2654435761ULL;
	}
	p->run(&w);
	for (size_t i = 0; i < w.nr_files; i++)
		if (w.files[i]->fd >= 0)
			oracle_finish(w.files[i]);
	print_result(&w, p->name, argv[4]);
	return 0;
}

static int list(void)
{
	for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++)
		for (const struct pattern *p = tables[t]; p->name; p++)
			printf("%s %s\n", p->name, setup_names[p->setup]);
	return 0;
}

static void scan(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		err(1, "%s", path);
	if (!looks_see_flight())
		(void)settle_device(st.st_dev);
	printf("%" PRIu64 "\n",
	       st.st_size ? scan_count(fd, ((uint64_t)st.st_size + PAGE_BYTES - 1) / PAGE_BYTES)
			  : 0);
	close(fd);
}

static int plain(const char *path)
{
	static char buf[PLAIN_STEP];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	if (fd < 0)
		err(1, "%s", path);
	while (n > 0)
		n = read(fd, buf, sizeof(buf));
	if (n < 0)
		err(1, "%s", path);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 2 && !strcmp(argv[1], "list"))
		return list();
	if (argc >= 3 && !strcmp(argv[1], "scan")) {
		for (int i = 2; i < argc; i++)
			scan(argv[i]);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "looks")) {
		printf("%s\n", looks_name());
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "plain"))
		return plain(argv[2]);
	if (argc >= 2 && !strcmp(argv[1], "run"))
		return run(argc, argv);
	if (argc == 4 && !strcmp(argv[1], "prepare")) {
		for (int i = 0; i < SETUP_NR; i++)
			if (!strcmp(setup_names[i], argv[2])) {
				prepare((enum setup)i, argv[3]);
				return 0;
			}
		errx(2, "%s: no such setup", argv[2]);
	}
	errx(2, "usage: wl list | prepare SETUP PATH | run PATTERN PATH OUT ... | scan PATH... | "
		"plain PATH | looks");
}
