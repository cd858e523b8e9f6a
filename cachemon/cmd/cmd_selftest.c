/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/selftest/selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachemon/capture/probe_set.h"
#include "cachemon/capture/sampler.h"
#include "cachemon/cmd/cmd.h"
#include "cachemon/base/progress.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/capture/map_memory.h"
#include "cachemon/plan/machine_plan.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/access/access.h"

#define TRIES 5

/* The per-read hook: on, as at level full, or off, as at level cold and between slices. */
enum reads { READS_SEEN, READS_UNSEEN, READS_NR };

struct selftest {
	const char *dir;
	int fd;
	ino_t ino;
	struct probe_plan plan;
	struct kernel_caps caps;
	struct probe_set *set;
	struct sampler *sampler;
	struct progress_show *progress;
};

static int open_file(const char *dir, char ret_denied[ACCESS_DENIED_MAX])
{
	struct errtext ignored;
	struct access saved;
	struct invoker inv;
	int fd = invoker_current(&inv, &ignored);

	if (fd < 0)
		return fd;
	fd = access_enter(&inv, &saved);
	if (!fd) {
		fd = access_open(AT_FDCWD, dir, O_TMPFILE | O_RDWR, 0600, ACCESS_REGULAR);
		access_denied(dir, fd, ret_denied);
		access_leave(&saved);
	}
	invoker_free(&inv);
	return fd;
}

static int make_file(struct selftest *st, struct errtext *err)
{
	static char block[1 << 20];
	char denied[ACCESS_DENIED_MAX] = "";
	struct statfs fs;
	struct stat sb;

	st->fd = open_file(st->dir, denied);
	if (st->fd == -EOPNOTSUPP || st->fd == -EISDIR)
		return errtext_set(err, st->fd,
				   "%s does not support unnamed files (O_TMPFILE). Give a "
				   "directory on another filesystem with --dir",
				   st->dir);
	if (st->fd < 0)
		return errtext_set(err, st->fd, "cannot make a file in %s: %s%s", st->dir,
				   strerror(-st->fd), denied);
	if (fstatfs(st->fd, &fs))
		return errtext_set(err, -errno, "%s: %s", st->dir, strerror(errno));
	if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC)
		return errtext_set(err, -EOPNOTSUPP,
				   "%s is in memory, so its data never leaves the cache. Give a "
				   "directory on a disk with --dir",
				   st->dir);
	for (off_t at = 0; at < SELFTEST_BYTES; at += (off_t)sizeof(block)) {
		size_t n = SELFTEST_BYTES - at < (off_t)sizeof(block)
				   ? (size_t)(SELFTEST_BYTES - at)
				   : sizeof(block);

		if (pwrite(st->fd, block, n, at) != (ssize_t)n)
			return errtext_set(err, -errno, "cannot write 16 MiB in %s: %s", st->dir,
					   strerror(errno));
	}
	if (fsync(st->fd) || fstat(st->fd, &sb))
		return errtext_set(err, -errno, "%s: %s", st->dir, strerror(errno));
	st->ino = sb.st_ino;
	return 0;
}

static int open_probes(struct selftest *st, struct errtext *err)
{
	struct plan_request request = {.level = LEVEL_FULL};
	struct probe_set_config config = {};
	int r = machine_plan_viable(&request, &st->caps, &st->plan, err);

	if (r)
		return r;
	config.caps = &st->caps;
	config.ram_bytes = st->caps.ram_bytes;
	config.nr_cpus = st->caps.nr_cpus;
	r = map_memory_check(map_memory_bytes(config.ram_bytes, config.nr_cpus, 0, 0),
			     st->caps.memlock_binds == CAPS_YES, true, err);
	if (r)
		return r;
	r = probe_set_new(&config, &st->plan, &st->set, err);
	if (!r)
		r = sampler_new(st->set, &st->sampler, err);
	if (r)
		return r;
	probe_set_start(st->set);
	return 0;
}

/* The watched process: waits until it belongs to the job, runs the case, sends the true values. */
static void child_main(const struct selftest *st, const struct selftest_case *c, int go, int out)
{
	struct selftest_truth t = {.major_faults = -1};
	struct selftest_look look;
	char byte;
	int r;

	if (look_open(&look, st->fd, SELFTEST_BYTES) || read(go, &byte, 1) != 1)
		_exit(1);
	r = c->run(&look, &t);
	look_close(&look);
	if (r == -EBUSY) {
		t.disturbed = true;
		r = 0;
	}
	if (r || write(out, &t, sizeof(t)) != (ssize_t)sizeof(t))
		_exit(1);
	_exit(0);
}

static int run_child(struct selftest *st, const struct selftest_case *c, struct selftest_truth *ret,
		     struct errtext *err)
{
	int go[2] = {-1, -1}, out[2] = {-1, -1}, status = 0, r;
	struct selftest_truth truth;
	ssize_t n;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return errtext_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		return errtext_set(err, -errno, "cannot fork: %s", strerror(errno));
	if (!pid) {
		/* With these open, the child would never notice that the parent gave up. */
		close(go[1]);
		close(out[0]);
		child_main(st, c, go[0], out[1]);
	}
	close(out[1]);
	r = probe_set_seed(st->set, &pid, 1, err);
	n = r ? 0 : write(go[1], "", 1);
	if (n == 1)
		n = read(out[0], &truth, sizeof(truth));
	close(go[0]);
	close(go[1]);
	close(out[0]);
	waitpid(pid, &status, 0);
	if (r)
		return r;
	if (n != (ssize_t)sizeof(truth) || status)
		return errtext_set(err, -EIO, "the reads of case '%s' failed", c->name);
	*ret = truth;
	return 0;
}

static int add_sample(struct selftest *st, struct counters *sum, struct errtext *err)
{
	struct sample s;
	int r = sampler_take(st->sampler, false, &s, err);

	for (size_t i = 0; !r && i < s.nr_files; i++)
		if (s.files[i].job == JOB_WATCHED && s.files[i].key.ino == st->ino)
			counters_add(sum, s.files[i].c);
	return r;
}

/* cachemon's counts for the file since the last sample. */
static int count_since(struct selftest *st, struct counters *ret, struct errtext *err)
{
	memset(ret, 0, sizeof(*ret));
	return add_sample(st, ret, err);
}

/* Printed as soon as it is known, because each case takes a while. */
static void __attribute__((format(printf, 2, 3)))
say_now(struct selftest *st, const char *format, ...)
{
	va_list args;

	progress_show_pause(st->progress);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	fflush(stdout);
}

static int64_t report_difference(const char *name, int64_t truth, int64_t got)
{
	if (truth < 0)
		return 0;
	if (truth != got)
		printf("          %-13s expected %lld, counted %lld\n", name, (long long)truth,
		       (long long)got);
	return truth > got ? truth - got : got - truth;
}

/* Error in pages; a wrong number of calls or bytes counts as at least one. While the per-read
 * hook is off, its counters are not checked. */
static int64_t compare_with_truth(const struct selftest_truth *t, const struct counters *c,
				  enum reads reads)
{
	int64_t error = 0, other;

	error += report_difference("misses", t->misses, c->c[C_misses]);
	error += report_difference("added pages", t->added,
				   counters_sum(c->c, SUM_OF(TERMS_brought_pages)));
	error += report_difference("major faults", t->major_faults, c->c[C_faults_major]);
	error += report_difference("law", 0, counters_law_error(c));
	if (reads == READS_UNSEEN)
		return error;
	error += report_difference("lookups", t->lookups, c->c[C_lookups]);
	other = report_difference("read calls", t->read_calls, c->c[C_read_calls]);
	other += report_difference("read bytes", t->read_bytes, c->c[C_read_bytes]);
	return error + (other ? 1 : 0);
}

/* 0 right, 1 wrong, < 0 failed; repeats a case that background reclaim disturbed before it
 * checks the figures. */
static int run_case(struct selftest *st, const struct selftest_case *c, enum reads reads,
		    struct errtext *err)
{
	struct selftest_truth t = {.disturbed = true};
	struct counters got;
	int64_t error;
	int r, nr;

	for (int i = 0; i < TRIES; i++) {
		r = run_child(st, c, &t, err);
		if (!r)
			r = count_since(st, &got, err);
		if (r)
			return r;
		if (t.disturbed && !strcmp(c->name, "warm") && i + 1 < TRIES) {
			/* Fills the cache again. */
			run_child(st, selftest_cases(&nr), &t, err);
			count_since(st, &got, err);
			continue;
		}
		if (!t.disturbed)
			break;
	}
	if (t.disturbed) {
		say_now(st, "%-8s  ?         disturbed by background reclaim %d times\n", c->name,
			TRIES);
		return 1;
	}
	progress_show_pause(st->progress);
	error = compare_with_truth(&t, &got, reads);
	say_now(st, "%-8s  %-8lld  %s\n", c->name, (long long)error, c->what);
	return error ? 1 : 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct selftest *st = state->input;

	switch (key) {
	case 'd':
		if (!*arg)
			usage_error(state, "--dir: the name is empty");
		st->dir = arg;
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "unexpected '%s'", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct option_spec options[] = {
	OPTION("dir", 'd', "DIR", VALUE_DIRECTORY,
	       "Directory for the test file (default: the current one); must be on a disk"),
	OPTIONS_END,
};

static const struct example examples[] = {
	{"sudo cachemon selftest", "Test in this directory"},
	{"sudo cachemon selftest --dir /data", "Test on the filesystem that matters"},
	{0},
};

const struct verb_spec selftest_spec = {
	.name = "selftest",
	.help = "check the counters: read a test file and compare with what the kernel reports",
	.examples = examples,
	.options = options,
	.notes = "The test file has 16 MiB and no name, so nothing is left behind. Exit status: 0 "
		 "if all figures are exact to the page, else 1.",
	.run = cmd_selftest,
	.measures = true,
};

static int switch_reads(struct selftest *st, enum reads reads, struct errtext *err)
{
	struct counters before;
	int r = probe_set_reads(st->set, reads == READS_SEEN);

	if (r)
		return errtext_set(err, r, "cannot switch the per-read hook: %s", strerror(-r));
	/* Discards what the switch did to the previous case's pages. */
	return count_since(st, &before, err);
}

/* The number of wrong cases, or < 0. */
static int run_cases(struct selftest *st, enum reads reads, struct errtext *err)
{
	static const char *const headings[READS_NR] = {
		[READS_SEEN] = "with the per-read hook, as at level full",
		[READS_UNSEEN] = "without the per-read hook, as at level cold and between the "
				 "slices of level auto",
	};
	const struct progress_sink *progress = progress_show_sink(st->progress);
	const struct selftest_case *cases;
	int nr, wrong = 0, r = switch_reads(st, reads, err);

	if (r)
		return r;
	cases = selftest_cases(&nr);
	say_now(st, "%-8s  %-8s  %s\n", "case", "error", headings[reads]);
	for (int i = 0; i < nr; i++) {
		progress_at(progress, "cases", (uint64_t)reads * (uint64_t)nr + (uint64_t)i,
			    (uint64_t)nr * READS_NR);
		r = run_case(st, &cases[i], reads, err);
		if (r < 0)
			return r;
		wrong += r > 0;
	}
	return wrong;
}

/* With the hook on and off; the number of wrong cases, or < 0. */
static int run_both(struct selftest *st, struct errtext *err)
{
	int nr, wrong = 0;

	selftest_cases(&nr);
	say_now(st, "errors in pages; checked with %s\n",
		selftest_by_mincore() ? "mincore(2)" : "cachestat(2)");
	for (int reads = 0; reads < READS_NR; reads++) {
		int r = run_cases(st, (enum reads)reads, err);

		if (r < 0)
			return r;
		wrong += r;
	}
	progress_over(progress_show_sink(st->progress));
	if (wrong)
		printf("%d of %d cases are wrong or could not be judged: do not trust the figures "
		       "on this kernel\n",
		       wrong, nr * READS_NR);
	else
		printf("all figures are exact to the page. Without the per-read hook, hits, "
		       "lookups, read calls,\nbytes and the fate of prefetched pages are not "
		       "checked: they are unknown or estimated.\n");
	return wrong;
}

static int run_selftest(struct selftest *st, struct errtext *err)
{
	int r;

	st->progress = progress_show_begin();
	progress_at(progress_show_sink(st->progress), "writing a file", 0, 0);
	r = make_file(st, err);
	progress_at(progress_show_sink(st->progress), "loading the probes", 0, 0);
	if (!r)
		r = open_probes(st, err);
	if (!r)
		r = run_both(st, err);
	progress_show_end(st->progress);
	return r;
}

int cmd_selftest(int argc, char **argv)
{
	_cleanup_free_ struct selftest *st = calloc(1, sizeof(*st));
	struct errtext err = {"out of memory"};
	int r = -ENOMEM;

	if (st) {
		st->dir = ".";
		st->fd = -1;
		usage_parse(&selftest_spec, parse_option, argc, argv, 0, st);
		r = run_selftest(st, &err);
		sampler_free(st->sampler);
		probe_set_free(st->set);
		cleanup_close(&st->fd);
	}
	if (r < 0)
		fprintf(stderr, "cachemon: %s\n", err.text);
	return r ? EXIT_FAILED : EXIT_DONE;
}
