/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The prepared statements of a store. Owns the names of the statements; their
 * texts are made in store_statement.c, the counters in them from the table of counters.
 */
#ifndef STATEMENT_H
#define STATEMENT_H

struct store;

enum statement {
	S_BEGIN,
	S_RUN,
	S_JOB_UPDATE,
	S_DIRECTORY_INSERT,
	S_DIRECTORY_UPDATE,
	S_FILE_INSERT,
	S_FILE_UPDATE,
	S_FILE_DELETE,
	S_FILESYSTEM_INSERT,
	S_FILESYSTEM_UPDATE,
	S_ADVICE,
	S_ADVICE_FORGET,
	S_INTERVAL,
	S_JOB_INTERVAL,
	S_FILE_INTERVAL,
	S_MERGE_NEXT,
	S_MERGE_INTERVAL,
	S_MERGE_JOB,
	S_MERGE_FILE,
	S_MERGE_DELETE,
	S_MERGE_TRIM,
	S_REFERENCE_SAMPLE,
	S_REFERENCE_PAGE,
	S_REFERENCE_CHUNK,
	S_REFERENCE_DROP_PAGES,
	S_REFERENCE_DROP_CHUNKS,
	S_TRACED_INSERT,
	S_TRACED_UPDATE,
	S_TRACE_CHUNK,
	S_TRACE_ABSENT,
	S_MACHINE,
	S_MACHINE_INTERVAL,
	S_MERGE_MACHINE,
	S_DEVICE,
	S_DEVICE_CHANGE,
	S_JOB_LIMIT,
	S_INTERFERENCE,
	S_SHED,
	S_ESTIMATE,
	S_NR,
};

int statements_prepare(struct store *st);
void statements_finalize(struct store *st);

#endif
