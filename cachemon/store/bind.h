/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of a statement, from left to right. The first that fails is remembered. */
#ifndef STORE_BIND_H
#define STORE_BIND_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "cachemon/figures/counters.h"
#include "cachemon/store/store_statement.h"

struct binder {
	sqlite3_stmt *stmt;
	int column;
	int rc; /* the first that failed */
};

struct binder bind_first(struct store *st, enum statement s);
void bind_int(struct binder *b, int64_t v);
void bind_known(struct binder *b, bool known, int64_t v);
void bind_real(struct binder *b, double v);	    /* < 0: not known */
void bind_text(struct binder *b, const char *text); /* NULL: NULL */
void bind_bytes(struct binder *b, const char *bytes);
void bind_blob(struct binder *b, const void *data, size_t len); /* there until it has run */
void bind_counters(struct binder *b, const struct counters *c, const bool *measured);
/* Steps a statement that gives no rows. */
int bind_run(struct binder *b);

#endif
