// SPDX-License-Identifier: BSD-2-Clause
/*
 * train_loader DIR: reads the dataset in DIR like a training job, in ways that differ for the page
 * cache: forked workers over shuffled files, random records with and without advice, a mapped
 * table, shards prefetched with WILLNEED, a validation file that is dropped after each epoch
 * although the next one reads it again, and checkpoints in between.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dataset.h"

#define NR_EPOCHS     6
#define NR_WORKERS    4
#define QUEUED	      2 /* samples that a worker may be ahead of the training, as in loaders */
#define BATCH	      8
#define STEP_NS	      30000000 /* a training step on the accelerator */
#define SAMPLE_NS     5000000  /* CPU time to decode and augment a sample */
#define BLOCK_NS      4000000  /* CPU time for 1 MiB of anything else */
#define READ_BYTES    ((size_t)256 << 10)
#define RECORD_BYTES  ((size_t)24 << 10)
#define RECORDS	      6 /* per feature file and sample */
#define TOKEN_TOUCHES 12

static unsigned char buffer[MIB];

struct worker {
	uint64_t random;
	int features;
	int advised;
	const unsigned char *tokens;
	int queue_in;  /* a byte read here permits a sample */
	int queue_out; /* a byte written here reports a finished sample */
};

static void die(const char *what, const char *path)
{
	fprintf(stderr, "train_loader: cannot %s %s: %s\n", what, path, strerror(errno));
	exit(1);
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Uses that much CPU time on the buffer, whatever the machine. */
static void compute(uint64_t ns)
{
	static volatile uint64_t sink;
	uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns, sum = sink;

	do {
		for (size_t i = 0; i < sizeof(buffer); i += 16)
			sum = sum * 31 + buffer[i];
	} while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until);
	sink = sum;
}

static int open_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die("open", path);
	return fd;
}

/* Reads the first bytes of a file in order, computing on each MiB. */
static void read_in_order(int fd, const char *path, size_t bytes, uint64_t ns_per_mib)
{
	for (size_t at = 0; at < bytes; at += READ_BYTES) {
		if (read(fd, buffer + at % MIB, READ_BYTES) != (ssize_t)READ_BYTES)
			die("read", path);
		if (ns_per_mib && (at + READ_BYTES) % MIB == 0)
			compute(ns_per_mib);
	}
}

static void read_records(struct worker *w, int fd, const char *path)
{
	for (int i = 0; i < RECORDS; i++) {
		off_t at = (off_t)(random_next(&w->random) % (FEATURES_BYTES - RECORD_BYTES));

		if (pread(fd, buffer, RECORD_BYTES, at) < 0)
			die("read", path);
	}
}

static void load_sample(struct worker *w, int sample)
{
	char path[PATH_MAX_BYTES];
	int fd;

	snprintf(path, sizeof(path), SAMPLE_PATH, sample % NR_CLASSES, sample / NR_CLASSES);
	fd = open_read(path);
	read_in_order(fd, path, SAMPLE_BYTES, 0);
	close(fd);
	read_records(w, w->features, FEATURES_PATH);
	read_records(w, w->advised, ADVISED_PATH);
	for (int i = 0; i < TOKEN_TOUCHES; i++)
		buffer[i] ^= w->tokens[random_next(&w->random) % TOKENS_BYTES];
	compute(SAMPLE_NS);
}

static void worker_run(struct worker *w, int id, const int *order)
{
	int fd = open_read(TOKENS_PATH);
	char byte = 0;

	w->tokens = mmap(NULL, TOKENS_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (w->tokens == MAP_FAILED)
		die("map", TOKENS_PATH);
	close(fd);
	w->features = open_read(FEATURES_PATH);
	w->advised = open_read(ADVISED_PATH);
	posix_fadvise(w->advised, 0, 0, POSIX_FADV_RANDOM);
	for (int i = id; i < NR_SAMPLES; i += NR_WORKERS) {
		if (read(w->queue_in, &byte, 1) != 1)
			exit(1);
		load_sample(w, order[i]);
		if (write(w->queue_out, &byte, 1) != 1)
			exit(1);
	}
	exit(0);
}

static void checkpoint(void)
{
	const char *temporary = CHECKPOINT_PATH ".new";
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		die("create", temporary);
	for (size_t at = 0; at < CHECKPOINT_BYTES; at += sizeof(buffer))
		if (write(fd, buffer, sizeof(buffer)) != (ssize_t)sizeof(buffer))
			die("write", temporary);
	if (fsync(fd) || close(fd) || rename(temporary, CHECKPOINT_PATH))
		die("finish", temporary);
}

/* Takes the samples that are ready; one step per batch. */
static void train(int queue_out, int queue_in)
{
	const struct timespec step = {.tv_nsec = STEP_NS};
	char ready[BATCH];

	for (int i = 0; i < NR_SAMPLES; i += BATCH) {
		for (size_t have = 0; have < sizeof(ready);) {
			ssize_t n = read(queue_out, ready + have, sizeof(ready) - have);

			if (n <= 0) {
				fputs("train_loader: a worker has died\n", stderr);
				exit(1);
			}
			have += (size_t)n;
		}
		nanosleep(&step, NULL);
		if (write(queue_in, ready, sizeof(ready)) != (ssize_t)sizeof(ready))
			die("write to", "the queue");
		if ((i / BATCH + 1) % (NR_SAMPLES / BATCH / 2) == 0)
			checkpoint();
	}
}

/* Workers live for one epoch, as in the usual loaders. */
static void train_epoch(const int *order, uint64_t seed)
{
	static const char start[NR_WORKERS * QUEUED];
	struct worker w = {.random = seed};
	int in[2], out[2];

	if (pipe(in) || pipe(out) || write(in[1], start, sizeof(start)) != (ssize_t)sizeof(start))
		die("make", "the queue");
	for (int id = 0; id < NR_WORKERS; id++) {
		pid_t pid = fork();

		if (pid < 0)
			die("start", "a worker");
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(in[1]);
			close(out[0]);
			w.random += (uint64_t)id + 1;
			w.queue_in = in[0];
			w.queue_out = out[1];
			worker_run(&w, id, order);
		}
	}
	close(out[1]);
	train(out[0], in[1]);
	for (int id = 0; id < NR_WORKERS; id++)
		wait(NULL);
	close(in[0]);
	close(in[1]);
	close(out[0]);
}

/* Prefetches the next shard while this one is read. */
static void read_shards(void)
{
	char path[PATH_MAX_BYTES];
	int fd, next = -1;

	for (int i = 0; i < NR_SHARDS; i++) {
		snprintf(path, sizeof(path), SHARD_PATH, i);
		fd = next >= 0 ? next : open_read(path);
		next = -1;
		if (i + 1 < NR_SHARDS) {
			char ahead[PATH_MAX_BYTES];

			snprintf(ahead, sizeof(ahead), SHARD_PATH, i + 1);
			next = open_read(ahead);
			posix_fadvise(next, 0, 0, POSIX_FADV_WILLNEED);
		}
		read_in_order(fd, path, SHARD_BYTES, BLOCK_NS);
		close(fd);
	}
}

static void validate(void)
{
	int fd = open_read(VALIDATION_PATH);

	read_in_order(fd, VALIDATION_PATH, VALIDATED_BYTES, BLOCK_NS);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

int main(int argc, char **argv)
{
	uint64_t seed = 42, start = clock_ns(CLOCK_MONOTONIC);
	int order[NR_SAMPLES];

	if (argc != 2) {
		fputs("usage: train_loader DIR\n", stderr);
		return 2;
	}
	if (chdir(argv[1]))
		die("enter", argv[1]);
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < NR_SAMPLES; i++)
		order[i] = i;
	for (int epoch = 1; epoch <= NR_EPOCHS; epoch++) {
		for (int i = NR_SAMPLES - 1; i > 0; i--) {
			int j = (int)(random_next(&seed) % (uint64_t)(i + 1)), t = order[i];

			order[i] = order[j];
			order[j] = t;
		}
		read_shards();
		train_epoch(order, seed);
		validate();
		printf("epoch %d of %d done, %.1f s\n", epoch, NR_EPOCHS,
		       (double)(clock_ns(CLOCK_MONOTONIC) - start) / 1e9);
	}
	return 0;
}
