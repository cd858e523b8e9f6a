/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drain DIR: a process of the job reads files while samples are taken, first while memory is
 * refused, and then again. Every read is in exactly one sample. At the end the page state agrees
 * with the counters on the number of pages with an open fate, and a page that is only in the page
 * state is detected.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampled.h"

enum { FILES = 300, PAGES = 64, STRAY_PAGES = 3 };

void *__real_realloc(void *old, size_t size);

static size_t refuse_above = SIZE_MAX;

/* Only allocations that grow with the files of a sample. */
void *__wrap_realloc(void *old, size_t size)
{
	return size > refuse_above ? NULL : __real_realloc(old, size);
}

int __real_probe_set_sweep_names(struct probe_set *set, uint32_t which);
int __wrap_probe_set_sweep_names(struct probe_set *set, uint32_t which);

static bool refuse_names;

int __wrap_probe_set_sweep_names(struct probe_set *set, uint32_t which)
{
	return refuse_names ? -EIO : __real_probe_set_sweep_names(set, which);
}

static void make_files(void)
{
	static char page[4096];
	char name[32];

	for (int i = 0; i < FILES; i++) {
		int fd;

		snprintf(name, sizeof(name), "drained%d", i);
		fd = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
		for (int n = 0; n < PAGES; n++)
			if (write(fd, page, sizeof(page)) != (ssize_t)sizeof(page))
				fail("cannot write");
		fsync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		close(fd);
	}
}

/* Only the first page of each file: the prefetched ones stay unused. */
static void read_files(int go)
{
	char name[32], byte;

	if (read(go, &byte, 1) != 1)
		_exit(1);
	for (int i = 0; i < FILES; i++) {
		int fd;

		snprintf(name, sizeof(name), "drained%d", i);
		fd = open(name, O_RDONLY | O_CLOEXEC);
		if (pread(fd, &byte, 1, 0) != 1)
			_exit(1);
		close(fd);
	}
	_exit(0);
}

static void run_job(struct probe_set *set)
{
	int go[2], status;
	struct errtext err;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC))
		fail("no pipe");
	pid = fork();
	if (!pid)
		read_files(go[0]);
	if (probe_set_seed(set, &pid, 1, &err))
		fail(err.text);
	if (write(go[1], "", 1) != 1 || waitpid(pid, &status, 0) != pid || status)
		fail("the job failed");
	close(go[0]);
	close(go[1]);
}

/* Pages with an open fate that no counter includes. */
static void add_stray(struct probe_set *set)
{
	struct block_key key = {.file = {.ino = 1}, .block = JOB_WATCHED};
	struct block block = {.chunks[0].outstanding = (1 << STRAY_PAGES) - 1};
	int fd = bpf_map__fd(probe_set_skeleton(set)->maps.blocks);

	if (bpf_map_update_elem(fd, &key, &block, BPF_NOEXIST))
		fail("cannot write the page state");
}

static void one_run(bool stray)
{
	struct sampler *sampler = NULL;
	struct probe_set *set = NULL;
	struct sums sums = {};
	int64_t error;

	make_files();
	open_probes(&set, &sampler);
	run_job(set);
	refuse_above = sizeof(struct sample_file) - 1;
	take_all(sampler, false, &sums, &error);
	expect("files without memory for them", (int64_t)sums.files, 0);
	refuse_above = SIZE_MAX;
	/* Both generations come round again. */
	for (int i = 0; i < 3; i++)
		take_all(sampler, false, &sums, &error);
	refuse_names = true;
	expect("a sample that could not look for names", take(sampler, false, &sums, &error), -EIO);
	refuse_names = false;
	if (stray)
		add_stray(set);
	probe_set_detach(set);
	take_all(sampler, true, &sums, &error);
	expect("read calls", sums.c[C_read_calls], FILES);
	expect("lookups", sums.c[C_lookups], FILES);
	expect("misses", sums.c[C_misses], FILES);
	if (sums.c[C_resident_unused] <= 0)
		fail("no page has an open fate: this test tests nothing");
	expect("pages of open fate, page state less counters", error, stray ? STRAY_PAGES : 0);
	printf("%lld pages of open fate%s", (long long)sums.c[C_resident_unused],
	       stray ? "\n" : ", ");
	sampler_free(sampler);
	probe_set_free(set);
}

int main(int argc, char **argv)
{
	if (argc != 2 || chdir(argv[1])) {
		fprintf(stderr, "usage: drain DIR\n");
		return 2;
	}
	one_run(false);
	one_run(true);
	return 0;
}
