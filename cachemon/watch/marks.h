/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks of a watched command: lines that it writes to a FIFO. Owns the FIFO in a private directory
 * of the invoking user, the process that removes it, and the unstored lines. Limits the job's
 * input: the length of a line, and the number of kept lines.
 */
#ifndef MARKS_H
#define MARKS_H

#include "cachemon/access/invoker.h"
#include "cachemon/account/sample.h"

/* Names the FIFO for the command. */
#define MARKS_VARIABLE "CACHEMON_MARKS"

/* The first byte (ENQ) of a line whose writer waits until the line is read, but not longer than
 * this. */
enum { MARKS_MAX = 4096, MARK_ASKS = '\5' };
#define MARK_WAIT_NS UINT64_C(1000000000)

struct marks;

/* Forks; call it before anything is loaded, in a single-threaded process. marks_free() removes
 * the FIFO, or the guard does at once if this process is killed. */
int marks_new(const struct invoker *inv, struct marks **ret, struct errtext *err);
const char *marks_path(const struct marks *m);
/* Readable while there is input; -1 without marks. */
int marks_fd(const struct marks *m);
/* Bytes waiting now. The work that a writer did before it wrote them is done. The more often it is
 * called, the better is known when they were written. */
size_t marks_waiting(struct marks *m);
/* Reads this many of them. A full list only counts the lines. */
void marks_read(struct marks *m, size_t bytes);
bool marks_full(const struct marks *m);
/* Takes a last line without a newline. */
void marks_finish(struct marks *m);
/* Lines without a moment get the end of this sample. */
void marks_set(struct marks *m, const struct sample *s, uint64_t read_on_ns,
	       const struct counters *total, uint64_t cpu_ns);
/* The unstored marks, and the number dropped so far. */
const struct sample_mark *marks_fresh(const struct marks *m, size_t *ret_nr);
uint64_t marks_dropped(const struct marks *m);
void marks_stored(struct marks *m);
void marks_free(struct marks *m);

/* Without a FIFO, for marks_take() only: splits input into lines. */
int marks_new_list(struct marks **ret);
void marks_take(struct marks *m, const char *data, size_t len);

#endif
