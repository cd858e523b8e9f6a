/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks of a watched command: lines that it writes to a FIFO. Owns the FIFO, in a private directory
 * of the invoking user, the process that removes it, and the lines that were read and are not
 * stored yet. What the job writes is bounded here: the length of a line, and how many are kept.
 */
#ifndef MARKS_H
#define MARKS_H

#include "cachemon/access/invoker.h"
#include "cachemon/account/sample.h"

/* Names the FIFO for the command. */
#define MARKS_VARIABLE "CACHEMON_MARKS"

enum { MARKS_MAX = 4096 };

struct marks;

/* Forks: before anything is loaded, and in a process of one thread. The FIFO is removed by
 * marks_free(), or at once when this process is killed. */
int marks_new(const struct invoker *inv, struct marks **ret, struct errtext *err);
const char *marks_path(const struct marks *m);
/* Polls readable while something is to be read; -1 without marks. */
int marks_fd(const struct marks *m);
/* Bytes that wait now. What a writer did before it wrote them is done. */
size_t marks_waiting(const struct marks *m);
/* Reads so many of them. A full list counts the lines and keeps none. */
void marks_read(struct marks *m, size_t bytes);
bool marks_full(const struct marks *m);
/* A last line that was not ended. */
void marks_finish(struct marks *m);
/* Lines that have no moment yet get this one. */
void marks_set(struct marks *m, uint64_t at_ns, uint64_t read_on_ns, const struct counters *total,
	       uint64_t cpu_ns);
/* Those that are not stored yet, and how many were dropped so far. */
const struct sample_mark *marks_fresh(const struct marks *m, size_t *ret_nr);
uint64_t marks_dropped(const struct marks *m);
void marks_stored(struct marks *m);
void marks_free(struct marks *m);

/* Without a FIFO, for marks_take() alone: what it reads, as lines. */
int marks_new_list(struct marks **ret);
void marks_take(struct marks *m, const char *data, size_t len);

#endif
