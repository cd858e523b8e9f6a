/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/model/model_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cachemon/base/text_builder.h"
#include "cachemon/db/db_read.h"

int model_no_memory(struct errtext *err)
{
	return errtext_set(err, -ENOMEM, "not enough memory to read the run.");
}

bool model_has(sqlite3 *db, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(db, "main", table, column, NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

int model_rows_end(struct rows *r, struct errtext *err)
{
	const char *damage = r->damage;
	int ret = rows_finish(r);

	if (ret == -ENOMEM) {
		ret = model_no_memory(err);
	} else if (ret < 0 && damage) {
		db_read_damaged(r->db, damage, err);
	} else if (ret < 0) {
		/* The connection has the error of its last statement. */
		ret = db_read_error(r->db, err);
		if (!ret)
			ret = -EIO;
	}
	return ret;
}

void model_rows_counts(struct rows *r, struct counts *ret)
{
	*ret = (struct counts){0};
	for (int i = 0; i < C_NR; i++) {
		struct opt_i64 v = rows_i64(r);

		ret->known[i] = v.known;
		ret->c[i] = v.value;
	}
}

char *model_rows_sql(const char *before, const char *after)
{
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (!out)
		return NULL;
	fputs(before, out);
	for (int i = 0; i < C_NR; i++)
		fprintf(out, ", %s", counter_name(i));
	fprintf(out, " %s", after);
	return text_end(&b);
}
