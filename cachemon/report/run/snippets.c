/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/snippets.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/access/invoker.h"
#include "cachemon/base/quote.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/figures/counters.h"

enum { MIB = 1 << 20 };

/* Programs and libraries miss a few pages elsewhere. */
#define DATASET_SHARE 0.8

/* A word for a shell, quoted. 0, with *ret NULL if the bytes cannot be a word; -ENOMEM. */
static int word_of(const char *data, size_t len, const char *suffix, char **ret)
{
	char *word = NULL;
	int e;

	if (!data || !len || memchr(data, '\0', len))
		return 0;
	if (asprintf(&word, "%.*s%s", (int)len, data, suffix) < 0)
		return -ENOMEM;
	e = quote_word(word, ret);
	free(word);
	return e;
}

static int number_of(double value, char **ret)
{
	return value < 9e18 ? text_print(ret, "%lld", (long long)value) : 0;
}

/* A command needs a complete path; a deleted file, for example, has none. */
static int path_of(const struct bytes *path, size_t len, char **ret)
{
	return path->data && *path->data == '/' ? word_of(path->data, len, "", ret) : 0;
}

static size_t directory_len(const struct bytes *path)
{
	const char *slash = memrchr(path->data, '/', path->len);

	return !slash ? 0 : slash == path->data ? 1 : (size_t)(slash - path->data);
}

static bool is_below(const struct bytes *path, const struct bytes *directory)
{
	return path->data && directory_len(path) == directory->len &&
	       !memcmp(path->data, directory->data, directory->len);
}

static bool is_within(const struct bytes *path, const char *directory, size_t len)
{
	return path->data && path->len >= len && !memcmp(path->data, directory, len) &&
	       (path->len == len || path->data[len] == '/' || directory[len - 1] == '/');
}

/* The deepest directory below which the job has nearly all of its misses; if that is the root, the
 * directory with the most misses. */
static int fill_dataset(const struct model_job *job, char **ret)
{
	const struct bytes *most = &job->directories[0].path;
	int64_t all = 0;

	for (size_t i = 0; i < job->nr_directories; i++)
		all += job->directories[i].counts.c[C_misses];
	if (!most->data)
		return 0;
	for (size_t len = most->len; len > 1;
	     len = directory_len(&(struct bytes){most->data, len})) {
		int64_t within = 0;

		for (size_t i = 0; i < job->nr_directories; i++)
			if (is_within(&job->directories[i].path, most->data, len))
				within += job->directories[i].counts.c[C_misses];
		if ((double)within >= DATASET_SHARE * (double)all)
			return path_of(most, len, ret);
	}
	return path_of(most, most->len, ret);
}

/* The directory of the subject; for a job the one of its data. */
static int fill_directory(const struct snippet_of *of, char **ret)
{
	const struct bytes *subject = &of->finding->subject;

	switch (of->finding->kind) {
	case SUBJECT_FILE:
		return subject->data ? path_of(subject, directory_len(subject), ret) : 0;
	case SUBJECT_DIRECTORY:
	case SUBJECT_DEVICE: /* named by its mount point, else by its type */
		return path_of(subject, subject->len, ret);
	default:
		return of->job->nr_directories ? fill_dataset(of->job, ret) : 0;
	}
}

/* The subject; for a directory its file with the most misses. */
static int fill_file(const struct snippet_of *of, char **ret)
{
	const struct bytes *subject = &of->finding->subject;

	if (of->finding->kind == SUBJECT_FILE)
		return path_of(subject, subject->len, ret);
	for (size_t i = 0; i < of->job->nr_files; i++) {
		const struct bytes *path = &of->job->files[i].path;

		if (of->finding->kind == SUBJECT_DIRECTORY ? is_below(path, subject)
							   : path->data != NULL)
			return path_of(path, path->len, ret);
	}
	return 0;
}

/* The job's command line, quoted as it was recorded, if it is complete; the database may be
 * untrusted. */
static int fill_command(const struct snippet_of *of, char **ret)
{
	static const char before[] = "command: ";
	const struct bytes *selector = &of->job->selector;
	size_t skip = sizeof(before) - 1;
	char *text;

	if (!selector->data || selector->len <= skip || memcmp(selector->data, before, skip) ||
	    (selector->len > 4 && !memcmp(selector->data + selector->len - 4, " ...", 4)))
		return 0;
	text = strndup(selector->data + skip, selector->len - skip);
	if (!text)
		return -ENOMEM;
	if (quote_is_words(text))
		*ret = text;
	else
		free(text);
	return 0;
}

static bool ends_with(const struct bytes *text, const char *end)
{
	size_t len = strlen(end);

	return text->len > len && !memcmp(text->data + text->len - len, end, len);
}

static bool begins_with(const struct bytes *text, const char *start)
{
	size_t len = strlen(start);

	return text->len > len && !memcmp(text->data, start, len);
}

/* A systemd unit by its cgroup's directory. */
struct unit {
	struct bytes name;  /* empty: systemd does not manage the cgroup */
	struct opt_i64 uid; /* user whose manager has the unit; unknown: the system manager */
};

/* "user@1000.service" */
static struct opt_i64 uid_of_manager(const struct bytes *name)
{
	static const char start[] = "user@";
	static const char end[] = ".service";
	size_t len = name->len - (sizeof(end) - 1);
	struct opt_i64 ret = {0};

	if (!begins_with(name, start) || !ends_with(name, end) || len > sizeof(start) - 1 + 10)
		return ret;
	for (size_t i = sizeof(start) - 1; i < len; i++) {
		if (!isdigit((unsigned char)name->data[i]))
			return (struct opt_i64){0};
		ret.value = ret.value * 10 + (name->data[i] - '0');
		ret.known = true;
	}
	return ret;
}

/* A unit is below slices only. Below anything else, a directory with such a name belongs to a
 * container or to the unit's program, and no systemctl of this machine reaches it. */
static struct unit unit_of(const struct bytes *at)
{
	static const char *const roots[] = {"/sys/fs/cgroup/memory/", "/sys/fs/cgroup/unified/",
					    "/sys/fs/cgroup/"};
	struct unit ret = {0};
	struct bytes left = *at;
	size_t i = 0;

	while (i < 3 && !(at->data && begins_with(at, roots[i])))
		i++;
	if (i == 3)
		return ret;
	left.data += strlen(roots[i]);
	left.len -= strlen(roots[i]);
	for (;;) {
		const char *slash = memchr(left.data, '/', left.len);
		struct bytes name = {left.data, slash ? (size_t)(slash - left.data) : left.len};
		struct opt_i64 uid = uid_of_manager(&name);

		if (!slash) {
			if (ends_with(&name, ".service") || ends_with(&name, ".scope") ||
			    ends_with(&name, ".slice"))
				ret.name = name;
			return ret;
		}
		if (uid.known && !ret.uid.known)
			ret.uid = uid;
		else if (!ends_with(&name, ".slice"))
			return ret;
		left.len -= name.len + 1;
		left.data = slash + 1;
	}
}

static int fill_unit(const struct snippet_of *of, char **ret)
{
	struct unit unit = unit_of(&of->job->limit_at);

	return word_of(unit.name.data, unit.name.len, "", ret);
}

/* Only the user's own processes reach the user's manager. */
static int fill_systemctl(const struct snippet_of *of, char **ret)
{
	struct unit unit = unit_of(&of->job->limit_at);
	unsigned int uid = (unsigned int)unit.uid.value;
	char name[256];

	if (!unit.name.len)
		return 0;
	if (!unit.uid.known)
		return text_print(ret, "sudo systemctl");
	invoker_user_name(uid, name, sizeof(name));
	if (bytes_equal(&of->model->run.user, &(struct bytes){name, strlen(name)}))
		return text_print(ret, "systemctl --user");
	return text_print(ret, "sudo -u '#%u' XDG_RUNTIME_DIR=/run/user/%u systemctl --user", uid,
			  uid);
}

static bool is_of_v1(const struct bytes *at)
{
	return begins_with(at, "/sys/fs/cgroup/memory/");
}

/* The root of a hierarchy has no file with a protection or a limit. */
static bool is_root_cgroup(const struct bytes *at)
{
	static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/memory",
					    "/sys/fs/cgroup/unified"};

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		if (bytes_equal(at, &(struct bytes){roots[i], strlen(roots[i])}))
			return true;
	return false;
}

/* The limit file of a cgroup that systemd does not manage. */
static int fill_limit_file(const struct snippet_of *of, char **ret)
{
	const struct bytes *at = &of->job->limit_at;

	if (!of->job->limit_bytes.known || unit_of(at).name.len)
		return 0;
	return word_of(at->data, at->len, is_of_v1(at) ? "/memory.limit_in_bytes" : "/memory.max",
		       ret);
}

static int fill_low_file(const struct snippet_of *of, char **ret)
{
	const struct bytes *at = &of->job->limit_at;

	if (unit_of(at).name.len || is_root_cgroup(at))
		return 0;
	return word_of(at->data, at->len, "/memory.low", ret);
}

static int fill_cgroup(const struct snippet_of *of, char **ret)
{
	return word_of(of->job->limit_at.data, of->job->limit_at.len, "", ret);
}

/* Slurm's directories are .../job_ID/...; the ID has digits only. */
static int fill_slurm_job(const struct snippet_of *of, char **ret)
{
	const struct bytes *at = &of->job->limit_at;
	const char *slurm = at->data ? memmem(at->data, at->len, "/slurm", 6) : NULL;
	size_t left = slurm ? at->len - (size_t)(slurm - at->data) : 0;
	const char *id = slurm ? memmem(slurm, left, "/job_", 5) : NULL;
	size_t len = 0;

	while (id && id + 5 + len < at->data + at->len && isdigit((unsigned char)id[5 + len]))
		len++;
	return len ? word_of(id + 5, len, "", ret) : 0;
}

/* The distinct pages that the job read, without those that it wrote. Pages that came back may be
 * pages that were written again, at most as many as were written: the value is then an upper
 * bound. */
static double data_bytes(const struct snippet_of *of)
{
	const struct counts *c = &of->job->counts;
	struct opt_i64 brought = counts_sum(c, SUM_OF(TERMS_brought_pages));
	struct opt_i64 added = counts_sum(c, SUM_OF(TERMS_added_pages));
	struct opt_i64 refaults = counts_get(c, C_refaults);
	int64_t again;

	if (!brought.known || !added.known || !refaults.known ||
	    !of->model->run.page_size_bytes.known)
		return 0;
	again = refaults.value - (added.value - brought.value);
	return (double)(brought.value - (again > 0 ? again : 0)) *
	       (double)of->model->run.page_size_bytes.value;
}

/* The additional memory for everything that the job reads, in whole MiB, if the machine has it. */
static double wanted_limit(const struct snippet_of *of)
{
	const struct opt_i64 *limit = &of->job->limit_bytes;
	double more = data_bytes(of);
	double wanted = (double)limit->value + more;

	if (!limit->known || more <= 0 || !of->model->run.memory_bytes.known ||
	    wanted > (double)of->model->run.memory_bytes.value)
		return 0;
	return (double)((int64_t)(wanted / MIB) + 1) * MIB;
}

static int fill_limit(const struct snippet_of *of, char **ret)
{
	double wanted = wanted_limit(of);

	return wanted > 0 ? number_of(wanted, ret) : 0;
}

static int fill_limit_mib(const struct snippet_of *of, char **ret)
{
	double wanted = wanted_limit(of);

	return wanted > 0 ? number_of(wanted / MIB, ret) : 0;
}

static int fill_limit_now(const struct snippet_of *of, char **ret)
{
	const struct opt_i64 *limit = &of->job->limit_bytes;

	return limit->known ? number_of((double)limit->value, ret) : 0;
}

/* cgroup v1 cannot protect memory. */
static int fill_low(const struct snippet_of *of, char **ret)
{
	double bytes = data_bytes(of);

	return bytes > 0 && !is_of_v1(&of->job->limit_at) ? number_of(bytes, ret) : 0;
}

static int fill_run(const struct snippet_of *of, char **ret)
{
	return text_print(ret, "%" PRId64, of->model->run.id);
}

/* Left out with the default database. */
#define DB_OPTION " --db %DB%"

static int fill_db(const struct snippet_of *of, char **ret)
{
	return of->model->db ? word_of(of->model->db, strlen(of->model->db), "", ret) : 0;
}

/* The filesystem of a path: the one whose mount point is the longest that contains it. */
static const struct model_filesystem *filesystem_of(const struct model_job *job,
						    const struct bytes *path)
{
	const struct model_filesystem *ret = NULL;

	for (size_t i = 0; i < job->nr_filesystems; i++) {
		const struct model_filesystem *f = &job->filesystems[i];
		size_t len = f->mount.len;

		if (!f->mount.data || len > path->len || memcmp(f->mount.data, path->data, len) ||
		    (len > 1 && len < path->len && path->data[len] != '/'))
			continue;
		if (!ret || len > ret->mount.len)
			ret = f;
	}
	return ret;
}

/* The path whose device the command sets; see fill_directory(). */
static struct bytes device_path(const struct snippet_of *of)
{
	if (of->finding->kind != SUBJECT_JOB)
		return of->finding->subject;
	return of->job->nr_directories ? of->job->directories[0].path : (struct bytes){0};
}

static const struct model_filesystem *filesystem_of_device(const struct snippet_of *of)
{
	struct bytes path = device_path(of);

	return path.data ? filesystem_of(of->job, &path) : NULL;
}

static int fill_device(const struct snippet_of *of, char **ret)
{
	const struct model_filesystem *f = filesystem_of_device(of);

	return f ? word_of(f->device.data, f->device.len, "", ret) : 0;
}

/* The mount point, if it is NFS. */
static int fill_nfs_mount(const struct snippet_of *of, char **ret)
{
	const struct model_filesystem *f = filesystem_of_device(of);

	return f && f->type.len >= 3 && !memcmp(f->type.data, "nfs", 3)
		       ? path_of(&f->mount, f->mount.len, ret)
		       : 0;
}

/* The subject, if its name is that of an HDF5 file. */
static int fill_hdf_file(const struct snippet_of *of, char **ret)
{
	static const char *const ends[] = {".h5", ".hdf5", ".he5", ".nc"};
	const struct bytes *subject = &of->finding->subject;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (of->finding->kind == SUBJECT_FILE && subject->data &&
		    ends_with(subject, ends[i]))
			return path_of(subject, subject->len, ret);
	return 0;
}

static const struct placeholder {
	const char *name;
	int (*fill)(const struct snippet_of *of, char **ret);
	const char *word; /* where there is no run; one that a reader replaces */
} placeholders[] = {
	{"%DIRECTORY%", fill_directory, "DIRECTORY"},
	{"%FILE%", fill_file, "FILE"},
	{"%HDF_FILE%", fill_hdf_file, "FILE.h5"},
	{"%DEVICE%", fill_device, "DEVICE"},
	{"%NFS_MOUNT%", fill_nfs_mount, "DIRECTORY"},
	{"%COMMAND%", fill_command, "COMMAND"},
	{"%SYSTEMCTL%", fill_systemctl, "sudo systemctl"},
	{"%UNIT%", fill_unit, "UNIT.service"},
	{"%CGROUP%", fill_cgroup, "/sys/fs/cgroup/GROUP"},
	{"%LIMIT_FILE%", fill_limit_file, "/sys/fs/cgroup/GROUP/memory.max"},
	{"%SLURM_JOB%", fill_slurm_job, "JOBID"},
	{"%LIMIT_BYTES%", fill_limit, "BYTES"},
	{"%LIMIT_MIB%", fill_limit_mib, "MIB"},
	{"%LIMIT_NOW%", fill_limit_now, "BYTES_BEFORE"},
	{"%LOW_FILE%", fill_low_file, "/sys/fs/cgroup/GROUP/memory.low"},
	{"%LOW_BYTES%", fill_low, "BYTES"},
	{"%RUN%", fill_run, "last"},
	{"%DB%", fill_db, "cachemon.db"},
};

/*
 * "%KIB_BELOW_4096%", "%KIB_ABOVE_128%": the readahead window of the device during the run. Known
 * only if it is below or above that number, so a command that raises a window never lowers it.
 */
static const char *end_of_window(const char *text, bool *ret_below, long *ret_kib)
{
	char *end;

	if (strncmp(text, "%KIB_BELOW_", 11) && strncmp(text, "%KIB_ABOVE_", 11))
		return NULL;
	*ret_below = text[5] == 'B';
	*ret_kib = strtol(text + 11, &end, 10);
	return *end == '%' ? end + 1 : NULL;
}

static int fill_window(const struct snippet_of *of, bool below, long kib, char **ret)
{
	const struct model_filesystem *f = filesystem_of_device(of);

	if (!f || !f->read_ahead_kb.known ||
	    (below ? f->read_ahead_kb.value >= kib : f->read_ahead_kb.value <= kib))
		return 0;
	return text_print(ret, "%" PRId64, f->read_ahead_kb.value);
}

static const struct placeholder *placeholder_at(const char *text)
{
	for (size_t i = 0; i < sizeof(placeholders) / sizeof(placeholders[0]); i++)
		if (!strncmp(text, placeholders[i].name, strlen(placeholders[i].name)))
			return &placeholders[i];
	return NULL;
}

/* 0 with *ret_known false: a value is unknown. */
static int write_filled(FILE *out, const struct snippet_of *of, const char *code, bool *ret_known)
{
	for (const char *at = code; *at;) {
		const struct placeholder *p = *at == '%' ? placeholder_at(at) : NULL;
		bool below;
		long kib;
		const char *end = end_of_window(at, &below, &kib);
		char *value = NULL;
		int e;

		if (!of->model->db && !strncmp(at, DB_OPTION, strlen(DB_OPTION))) {
			at += strlen(DB_OPTION);
			continue;
		}
		if (!p && !end) {
			putc(*at++, out);
			continue;
		}
		e = p ? p->fill(of, &value) : fill_window(of, below, kib, &value);
		if (e || !value) {
			*ret_known = false;
			return e;
		}
		fputs(value, out);
		free(value);
		at = p ? at + strlen(p->name) : end;
	}
	*ret_known = true;
	return 0;
}

int snippet_fill(const struct snippet_of *of, const struct note_snippet *snippet, char **ret_code)
{
	bool shell = snippet->language && !strcmp(snippet->language, "shell");
	struct text_builder b;
	FILE *out = text_begin(&b);
	bool known = true;
	char *text;
	int e = 0;

	if (out && shell)
		e = write_filled(out, of, snippet->code, &known);
	else if (out)
		fputs(snippet->code, out);
	text = text_end(&b);
	if (e || !text || !known) {
		free(text);
		text = NULL;
	}
	if (!e && known && !text)
		return -ENOMEM;
	*ret_code = text;
	return e;
}

void snippet_words(FILE *out, const char *code)
{
	while (*code) {
		const struct placeholder *p = *code == '%' ? placeholder_at(code) : NULL;
		bool below;
		long kib;
		const char *end = end_of_window(code, &below, &kib);

		if (p)
			fputs(p->word, out);
		else if (end)
			fputs("KIB", out);
		else
			putc(*code, out);
		code = p ? code + strlen(p->name) : end ? end : code + 1;
	}
}
