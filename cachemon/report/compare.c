/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/compare.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "report/compare_model.h"
#include "report/db.h"
#include "report/output.h"
#include "util/invoker.h"

bool compare_has_format(enum report_format format)
{
	return format == REPORT_TEXT || format == REPORT_MARKDOWN || format == REPORT_HTML ||
	       format == REPORT_JSON;
}

static int write_comparison(const struct compare_model *m, enum report_format format, FILE *out)
{
	struct doc d;
	struct tree t;
	int ret = 0;

	if (format == REPORT_JSON) {
		ret = tree_json_begin(&t, out);
		if (ret < 0)
			return ret;
		compare_data(&t, m);
		return tree_finish(&t);
	}
	if (format == REPORT_MARKDOWN)
		d = doc_markdown(out);
	else if (format == REPORT_HTML)
		d = doc_html(out);
	else
		d = doc_text(out);
	compare_sections(&d, m);
	return doc_end(&d);
}

static int load(const struct compare_options *options, struct compare_model *ret_model, char *err,
		size_t errlen)
{
	sqlite3 *db = NULL;
	int ret = report_db_open(options->db, &db, err, errlen);

	*ret_model = (struct compare_model){0};
	if (!ret)
		ret = compare_model_load(db, options, ret_model, err, errlen);
	sqlite3_close(db);
	return ret;
}

static int written(int ret, FILE *out, char *err, size_t errlen)
{
	if ((!ret || ret == -EIO) && fflush(out) != 0)
		ret = -errno;
	if (ret < 0) {
		snprintf(err, errlen, "cannot write the comparison: %s.", strerror(-ret));
		output_forget(out);
	}
	return ret;
}

int compare_print(const struct compare_options *options, FILE *out, char *err, size_t errlen)
{
	struct compare_model m;
	int ret = load(options, &m, err, errlen);

	if (!ret)
		ret = written(write_comparison(&m, options->format, out), out, err, errlen);
	compare_model_free(&m);
	return ret;
}

static int write_file(const struct compare_model *m, enum report_format format, const char *path,
		      char *err, size_t errlen)
{
	struct output o;
	int ret = output_open(path, &o, err, errlen);

	if (ret < 0)
		return ret;
	ret = written(write_comparison(m, format, o.out), o.out, err, errlen);
	if (!ret)
		return output_commit(&o, err, errlen);
	output_abort(&o);
	return ret;
}

static bool same_file(const char *a, const char *b)
{
	struct stat sa;
	struct stat sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

int compare_write(const struct compare_options *options, const char *out_path,
		  const struct invoker *as, char *err, size_t errlen)
{
	struct invoker_fs saved = {0};
	struct compare_model m;
	int ret;

	if (same_file(options->db, out_path)) {
		snprintf(err, errlen,
			 "the comparison would replace its own database; name another "
			 "file to write.");
		return -EINVAL;
	}
	ret = load(options, &m, err, errlen);
	if (!ret && as) {
		ret = invoker_fs_enter(as, &saved);
		if (ret < 0)
			snprintf(err, errlen, "cannot write files as the invoking user: %s.",
				 strerror(-ret));
	}
	if (!ret)
		ret = write_file(&m, options->format, out_path, err, errlen);
	if (saved.entered)
		invoker_fs_leave(&saved);
	compare_model_free(&m);
	return ret;
}
