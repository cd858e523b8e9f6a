/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *program(void)
{
	return program_invocation_short_name;
}

void bench_fail(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s: ", program());
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

static long number(const char *name, const char *text, long least)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || *end || end == text || n < least)
		bench_fail("--%s: '%s' is not a whole number of at least %ld", name, text, least);
	return n;
}

static void usage(const struct bench_options *o)
{
	fprintf(stderr,
		"usage: %s --cachemon FILE [--also FILE] [--dir DIR] [--rounds N] [--blocks N]\n"
		"       [--ops N] [--file-mib N] [--patience SECONDS]\n"
		"defaults: --dir %s --rounds %d --blocks %d --ops %ld --file-mib %lu --patience "
		"%d\n",
		program(), o->dir, o->rounds, o->blocks, o->ops,
		(unsigned long)(o->file_bytes >> 20), o->patience_s);
	exit(2);
}

void bench_options(int argc, char **argv, struct bench_options *o)
{
	static const struct option longs[] = {
		{"cachemon", required_argument, NULL, 'c'},
		{"also", required_argument, NULL, 'a'},
		{"dir", required_argument, NULL, 'd'},
		{"rounds", required_argument, NULL, 'r'},
		{"blocks", required_argument, NULL, 'b'},
		{"ops", required_argument, NULL, 'o'},
		{"file-mib", required_argument, NULL, 'f'},
		{"patience", required_argument, NULL, 'p'},
		{0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) >= 0) {
		if (c == 'c')
			o->cachemon = optarg;
		else if (c == 'a')
			o->also = optarg;
		else if (c == 'd')
			o->dir = optarg;
		else if (c == 'r')
			o->rounds = (int)number("rounds", optarg, 1);
		else if (c == 'b')
			o->blocks = (int)number("blocks", optarg, 1);
		else if (c == 'o')
			o->ops = number("ops", optarg, 1);
		else if (c == 'f')
			o->file_bytes = (uint64_t)number("file-mib", optarg, 1) << 20;
		else if (c == 'p')
			o->patience_s = (int)number("patience", optarg, 0);
		else
			usage(o);
	}
	if (optind < argc || !o->cachemon)
		usage(o);
	if (geteuid())
		bench_fail("needs root, as cachemon itself does");
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* A reader of the output may end first; the mounts must be undone anyway. */
	signal(SIGPIPE, SIG_IGN);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_quantile(double *v, int nr, double q)
{
	double at = q * (nr - 1);
	int low = (int)at;

	qsort(v, (size_t)nr, sizeof(*v), by_value);
	if (low + 1 >= nr)
		return v[nr - 1];
	return v[low] + (at - low) * (v[low + 1] - v[low]);
}

void bench_print(const char *name, double *v, int nr, const char *unit)
{
	double median = bench_quantile(v, nr, 0.5);

	printf("%-34s %10.3f  (quartiles %.3f to %.3f, %d rounds) %s\n", name, median,
	       bench_quantile(v, nr, 0.25), bench_quantile(v, nr, 0.75), nr, unit);
}

void bench_goal(const char *name, double value, double want, bool at_least)
{
	bool met = at_least ? value >= want : value <= want;

	printf("goal: %s %s %g, is %.3f: %s\n", name, at_least ? "at least" : "at most", want,
	       value, met ? "met" : "not met");
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t bench_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t bench_thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
