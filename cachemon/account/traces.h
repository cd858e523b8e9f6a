/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The traces of a run, in memory and bounded: turns records of the probes into the encoded events
 * that the store writes. Owns the numbers of open files, tasks and mappings, the unwritten events,
 * and how many files each traced file represents. Knows no probe and no SQL. An incomplete trace is
 * marked broken with the reason; nothing is left out silently.
 */
#ifndef TRACES_H
#define TRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachemon/account/sample.h"
#include "cachemon/figures/trace_code.h"
#include "bpf/trace.h"

struct traces;

/* Other files may read key, live, by_hash and events; capture/trace_ring sets released. Unknown
 * values are -1 or NULL. */
struct traced_file {
	struct file_key key;
	uint32_t number;
	uint32_t hash, stratum;
	bool by_hash; /* chosen by the probes, not by traces_add_warm() */
	bool warm, live, broken;
	bool released;	       /* the probes have noticed its end */
	uint64_t cached_pages; /* time at which it was chosen */
	const char *reason;    /* a constant */
	char *path;
	char fstype[16];
	int64_t size_bytes, ra_pages, io_pages, max_order;
	uint64_t traced_size_bytes; /* as of the last event */
	double stands_for;
	int64_t db_id;
	bool fresh, dirty;

	struct description *descriptions;
	size_t nr_descriptions, max_descriptions, last_description;
	uint32_t opened;
	struct mapping *mappings;
	size_t nr_mappings, max_mappings;
	uint32_t *actors; /* tids by number */
	size_t nr_actors, max_actors, last_actor;

	uint64_t events;
	struct trace_coder coder;
	uint32_t seq, chunk_events;
	uint8_t *data;
	size_t data_bytes, data_max;
};

struct traces_config {
	uint64_t start_ns; /* CLOCK_MONOTONIC when the run began */
	unsigned int page_shift;
	uint64_t events_max;  /* of all files; 0: the default */
	size_t unwritten_max; /* bytes of one file; 0: the default */
};

int traces_new(const struct traces_config *config, struct traces **ret);
void traces_free(struct traces *t);

/* A record of the ring, of size bytes. -ENOENT: of an unknown file; -EMSGSIZE, -ENOMEM. */
int traces_take(struct traces *t, const struct trace_record *rec, size_t size);
/* Starts the trace of a file that was read before. */
int traces_add_warm(struct traces *t, uint32_t number, const struct file_key *key);
/* Names of files that are traced. */
void traces_see_sample(struct traces *t, const struct sample *s);
/* A name that came before the file was traced. */
void traces_see_name(struct traces *t, const struct file_key *key, const char *path,
		     const char *fstype);
/* The present thresholds, which show how many files each one represents. */
void traces_see_thresholds(struct traces *t, const uint32_t threshold[NR_STRATA]);

/* Ends the events of this file. reason NULL: it is complete. The first reason stays. */
void traces_end(struct traced_file *f, const char *reason);

/* All files of the run, by number. */
size_t traces_nr(const struct traces *t);
struct traced_file *traces_at(const struct traces *t, size_t i);
struct traced_file *traces_find(const struct traces *t, const struct file_key *key);
/* The number of events of all files since the start. */
uint64_t traces_events(const struct traces *t);
/* The run has recorded too much to start another file. */
bool traces_full(const struct traces *t);

/* As the store writes it; < 0 and NULL: unknown. */
struct traced_row {
	int64_t db_id; /* 0: none yet */
	const struct file_key *key;
	const char *path;
	const char *fstype;
	int64_t size_bytes, ra_pages, io_pages, max_order, stratum;
	double stands_for;
	const char *state, *reason, *began;
	bool dirty;
	uint32_t seq; /* of the unwritten chunk: */
	uint32_t events;
	const uint8_t *data;
	size_t data_bytes;
};

void traces_row(const struct traced_file *f, struct traced_row *ret);
/* The file's row was inserted in an uncommitted transaction. */
void traces_set_db_id(struct traced_file *f, int64_t id);
/* The database has what traces_row() returned, or the transaction was rolled back. */
void traces_written(struct traces *t);
void traces_unwritten(struct traces *t);

#endif
