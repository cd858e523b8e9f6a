/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/mount_view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/clock.h"
#include "cachemon/base/file.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/access/mountinfo.h"
#include "cachemon/access/paths.h"

enum {
	VIEWS_MAX = 64, /* in addition to cachemon's own; the least recently used is dropped */
	/* Reads of one table per interval for a device that it lacks. The device may just have
	 * been mounted, but thousands of files may be on filesystems that are mounted nowhere. */
	RETRIES_MAX = 4,
	PLACES_MAX = 16, /* mounts of one table that are tried for one file */
};
#define MOUNTINFO_MAX (64U << 20)
/* Users make mounts in namespaces of their own, 100,000 at once: a larger table of another
 * namespace counts as empty, and after this CPU time in an interval none is used. */
#define OTHER_MAX     (1U << 20)
#define OTHERS_CPU_NS UINT64_C(100000000)

/* Processes of one namespace may be chrooted, with another mountinfo. */
struct view_id {
	char ns[64];
	dev_t root_dev;
	ino_t root_ino;
};

struct view {
	struct view_id id;
	struct mountinfo mounts;
	bool fresh;
	unsigned int retries;
	uint64_t last_use;
};

struct mount_views {
	char *proc_root;
	struct view own;
	int own_fd; /* mountinfo, polled for changes; -1: unreadable */
	struct view others[VIEWS_MAX];
	size_t nr_others;
	uint64_t clock;
	uint64_t others_cpu_ns; /* in this interval */
};

static int identify_view(const char *proc_root, const char *who, struct view_id *ret)
{
	_cleanup_free_ char *ns = NULL, *root = NULL;
	struct view_id id = {0};
	struct statx st;

	if (text_print(&ns, "%s/%s/ns/mnt", proc_root, who) ||
	    text_print(&root, "%s/%s/root", proc_root, who))
		return -ENOMEM;
	/* The root may be of a user's filesystem, whose server is not asked, because it may not
	 * answer. */
	if (readlink(ns, id.ns, sizeof(id.ns) - 1) < 0 ||
	    statx(AT_FDCWD, root, AT_STATX_DONT_SYNC, STATX_INO, &st))
		return -errno;
	id.root_dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	id.root_ino = st.stx_ino;
	*ret = id;
	return 0;
}

static bool same_id(const struct view_id *a, const struct view_id *b)
{
	return strcmp(a->ns, b->ns) == 0 && a->root_dev == b->root_dev &&
	       a->root_ino == b->root_ino;
}

int mount_views_new(const char *proc_root, struct mount_views **ret)
{
	_cleanup_free_ char *path = NULL;
	struct mount_views *views = calloc(1, sizeof(*views));

	if (!views)
		return -ENOMEM;
	views->own_fd = -1;
	views->proc_root = strdup(proc_root);
	if (!views->proc_root || text_print(&path, "%s/self/mountinfo", proc_root)) {
		mount_views_free(views);
		return -ENOMEM;
	}
	/* Without it names are incomplete, and marked so. */
	views->own_fd = open(path, O_RDONLY | O_CLOEXEC);
	identify_view(proc_root, "self", &views->own.id);
	*ret = views;
	return 0;
}

void mount_views_free(struct mount_views *views)
{
	if (!views)
		return;
	for (size_t i = 0; i < views->nr_others; i++)
		mountinfo_free(&views->others[i].mounts);
	mountinfo_free(&views->own.mounts);
	if (views->own_fd >= 0)
		close(views->own_fd);
	free(views->proc_root);
	free(views);
}

void mount_views_refresh(struct mount_views *views)
{
	views->others_cpu_ns = 0;
	for (size_t i = 0; i < views->nr_others; i++) {
		views->others[i].fresh = false;
		views->others[i].retries = 0;
	}
}

/* Replaces the table only by a completely read one. */
static int take_table(struct view *view, int err, const char *text, size_t len)
{
	struct mountinfo mounts;

	if (!err)
		err = mountinfo_parse(text, len, &mounts);
	if (err)
		return err;
	mountinfo_free(&view->mounts);
	view->mounts = mounts;
	view->fresh = true;
	return 0;
}

static int read_own(struct mount_views *views)
{
	_cleanup_free_ char *text = NULL;
	struct pollfd p = {.fd = views->own_fd, .events = POLLPRI};
	size_t len = 0;
	int err;

	if (views->own_fd < 0)
		return -ENOENT;
	/* Whether the namespace's mounts changed since the last poll. Polls before reading, so that
	 * the next poll shows a change in between. */
	if (poll(&p, 1, 0) > 0 && p.revents & POLLPRI)
		views->own.fresh = false;
	if (views->own.fresh)
		return 0;
	err = file_read_fd(views->own_fd, MOUNTINFO_MAX, &text, &len);
	return take_table(&views->own, err, text, len);
}

static int read_other(struct mount_views *views, const char *who, struct view *view)
{
	_cleanup_free_ char *text = NULL, *path = NULL;
	size_t len = 0;
	int err;

	if (text_print(&path, "%s/%s/mountinfo", views->proc_root, who))
		return -ENOMEM;
	err = file_read(AT_FDCWD, path, OTHER_MAX, &text, &len);
	if (err == -EFBIG)
		return take_table(view, 0, "", 0);
	return take_table(view, err, text, len);
}

static struct view *other_view(struct mount_views *views, const struct view_id *id)
{
	struct view *oldest = &views->others[0];

	for (size_t i = 0; i < views->nr_others; i++) {
		struct view *v = &views->others[i];

		if (same_id(&v->id, id)) {
			v->last_use = ++views->clock;
			return v;
		}
		if (v->last_use < oldest->last_use)
			oldest = v;
	}
	if (views->nr_others < VIEWS_MAX)
		oldest = &views->others[views->nr_others++];
	mountinfo_free(&oldest->mounts);
	memset(oldest, 0, sizeof(*oldest));
	oldest->id = *id;
	oldest->last_use = ++views->clock;
	return oldest;
}

static int place_in(const struct mountinfo *mi, uint32_t dev, const char *inside, bool *ret_known,
		    char **ret_path)
{
	_cleanup_free_ char *best = NULL;
	size_t best_len = 0, places = 0;

	for (size_t i = 0; i < mi->nr && places < PLACES_MAX; i++) {
		const struct mount *m = &mi->mounts[i];
		_cleanup_free_ char *path = NULL;
		const char *rest;

		if (m->dev != dev)
			continue;
		*ret_known = true;
		rest = paths_below(inside, m->root);
		if (!rest || (best && strlen(m->point) >= best_len))
			continue;
		if (text_print(&path, "%s%s%s", strcmp(m->point, "/") == 0 ? "" : m->point,
			       *rest ? "/" : "", rest))
			return -ENOMEM;
		places++;
		/* Another mount covers it: that path would name another file. */
		if (mountinfo_serving(mi, path) != m)
			continue;
		free(best);
		best = TAKE_PTR(path);
		best_len = strlen(m->point);
	}
	if (!best)
		return -ENOENT;
	*ret_path = TAKE_PTR(best);
	return 0;
}

static int place_own(struct mount_views *views, uint32_t dev, const char *inside, char **ret_path)
{
	bool known = false;
	int err = read_own(views);

	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	return place_in(&views->own.mounts, dev, inside, &known, ret_path);
}

static int place_other(struct mount_views *views, const char *who, const struct view_id *id,
		       uint32_t dev, const char *inside, char **ret_path)
{
	struct view *view = other_view(views, id);
	bool was_fresh = view->fresh, known = false;
	int err = was_fresh ? 0 : read_other(views, who, view);

	/* An old table that cannot be read again may be outdated, so it is not used. */
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	err = place_in(&view->mounts, dev, inside, &known, ret_path);
	if (err != -ENOENT || known || !was_fresh || view->retries >= RETRIES_MAX)
		return err;
	view->retries++;
	err = read_other(views, who, view);
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	return place_in(&view->mounts, dev, inside, &known, ret_path);
}

bool mount_views_shared(const struct mount_views *views, pid_t pid)
{
	struct view_id id = {0};
	char who[16];

	snprintf(who, sizeof(who), "%d", pid);
	return identify_view(views->proc_root, who, &id) || !strcmp(id.ns, views->own.id.ns);
}

int mount_views_place(struct mount_views *views, pid_t pid, uint32_t dev, const char *inside,
		      char **ret_path)
{
	struct view_id id = {0};
	char who[16];
	int err;

	snprintf(who, sizeof(who), "%d", pid);
	err = identify_view(views->proc_root, who, &id);
	if (err == -ENOMEM)
		return err;
	if (!err && !same_id(&id, &views->own.id) && views->others_cpu_ns < OTHERS_CPU_NS) {
		uint64_t from_ns = clock_own_cpu_ns();

		err = place_other(views, who, &id, dev, inside, ret_path);
		views->others_cpu_ns += clock_own_cpu_ns() - from_ns;
		if (err != -ENOENT)
			return err;
	}
	return place_own(views, dev, inside, ret_path);
}

/* The kernel shows the whole path of anything outside the asking process's root, so the reader
 * enters another root first. */
static void __attribute__((noreturn)) ask_elsewhere(const char *elsewhere, int answer)
{
	char path[PATH_MAX], link[32];
	int proc = open(elsewhere, O_PATH | O_DIRECTORY);
	int root = open("/", O_PATH | O_DIRECTORY);
	ssize_t n;

	snprintf(link, sizeof(link), "self/fd/%d", root);
	if (proc < 0 || root < 0 || chroot(elsewhere))
		_exit(1);
	n = readlinkat(proc, link, path, sizeof(path));
	if (n <= 0 || n >= (ssize_t)sizeof(path) || write(answer, path, (size_t)n) != n)
		_exit(1);
	_exit(0);
}

static ssize_t read_answer(int fd, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;

	do {
		n = read(fd, buf + len, size - len);
		if (n > 0)
			len += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? n : (ssize_t)len;
}

char *own_root(const char *proc_root)
{
	char path[PATH_MAX + 1];
	int pipe_fds[2], status;
	ssize_t len;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return strdup("");
	pid = fork();
	if (pid == 0)
		ask_elsewhere(proc_root, pipe_fds[1]);
	close(pipe_fds[1]);
	len = read_answer(pipe_fds[0], path, sizeof(path) - 1);
	close(pipe_fds[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status || len <= 1 || path[0] != '/')
		return strdup("");
	path[len] = '\0';
	return strdup(path);
}

const char *own_root_strip(const char *root, const char *path)
{
	size_t len = strlen(root);

	if (strncmp(path, root, len) != 0 || path[len] != '/')
		return NULL;
	return path + len;
}
