/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/access/publish.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cachemon/access/output.h"

int publish_written(const char *name, int ret, FILE *out, struct errtext *err)
{
	if (!ret && fflush(out) != 0)
		ret = -errno;
	/* A stream knows that it failed, not why: one more byte fails for the same reason. */
	if (ret == -EIO) {
		clearerr(out);
		if (fputc('\n', out) == EOF || fflush(out) != 0)
			ret = -errno;
	}
	if (ret < 0) {
		errtext_set(err, ret, "cannot write %s: %s.", name, strerror(-ret));
		output_forget(out);
	}
	return ret;
}

int publish_print(const struct publication *p, FILE *out, struct errtext *err)
{
	return publish_written(p->name, p->write(p->content, out), out, err);
}

int publish_write(const struct publication *p, const char *out_path, struct errtext *err)
{
	struct output o;
	int ret = output_open(out_path, &o, err);

	if (ret < 0)
		return ret;
	ret = publish_print(p, o.out, err);
	if (!ret)
		return output_commit(&o, err);
	output_abort(&o);
	return ret;
}

int publish(const struct publication *p, const char *out_path, FILE *out, struct errtext *err)
{
	return out_path ? publish_write(p, out_path, err) : publish_print(p, out, err);
}

int publish_place(const char *out_path, struct errtext *err)
{
	struct output o;
	struct stat st;
	int ret = 0;

	/* A pipe may have no reader yet. */
	if (stat(out_path, &st) < 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) {
		ret = output_open(out_path, &o, err);
		if (!ret)
			output_abort(&o);
	}
	return ret;
}

int publish_not_over(const char *name, const char *db, const char *out_path, struct errtext *err)
{
	struct stat a;
	struct stat b;

	if (!out_path || stat(db, &a) < 0 || stat(out_path, &b) < 0 || a.st_dev != b.st_dev ||
	    a.st_ino != b.st_ino)
		return 0;
	return errtext_set(err, -EINVAL,
			   "%s would replace its own database; name another file to write.", name);
}
