/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/collector/machine_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/collector/job_limit.h"
#include "cachemon/collector/machine_parse.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"
#include "cachemon/base/vec.h"
#include "cachemon/job/proctree.h"

enum { DEVICES_MAX = 128 };
#define FILE_MAX (1U << 16)

struct machine_facts {
	char *root;
	uint64_t page_size;
	pid_t pid; /* whose cgroup is looked up again; 0: none, or it has ended */
	unsigned long long pid_started; /* another process may get the number */
	char *pid_cgroups;		/* its /proc/PID/cgroup when it was last looked up */
	bool has_cgroup;
	struct memory_cgroup cgroup;
	struct job_oom oom;
	char *reads_at_start; /* /proc/diskstats; NULL: unknown */
	struct sample_machine machine;
	struct sample_device *devices;
	size_t max_devices;
};

__attribute__((format(printf, 2, 3))) static char *machine_text(const struct machine_facts *f,
								const char *fmt, ...)
{
	char name[PATH_MAX], path[PATH_MAX];
	char *text = NULL;
	size_t len;
	va_list args;

	va_start(args, fmt);
	vsnprintf(name, sizeof(name), fmt, args);
	va_end(args);
	if (snprintf(path, sizeof(path), "%s%s", f->root, name) >= (int)sizeof(path))
		return NULL;
	return file_read(AT_FDCWD, path, FILE_MAX, &text, &len) ? NULL : text;
}

static int64_t parsed(char *text, int64_t (*parse)(const char *))
{
	int64_t n = text ? parse(text) : MACHINE_UNKNOWN;

	free(text);
	return n;
}

static bool is_there(const struct machine_facts *f, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", f->root, name);
	return !access(path, F_OK);
}

static void read_constants(struct machine_facts *f)
{
	struct sample_machine *m = &f->machine;
	_cleanup_free_ char *thp = machine_text(f, "/sys/kernel/mm/transparent_hugepage/enabled");

	m->nr_cpus = parsed(machine_text(f, "/sys/devices/system/cpu/online"), machine_parse_list);
	m->numa_nodes =
		parsed(machine_text(f, "/sys/devices/system/node/online"), machine_parse_list);
	m->mglru = parsed(machine_text(f, "/sys/kernel/mm/lru_gen/enabled"), machine_parse_mglru);
	/* A kernel with multi-gen LRU shows whether it is on. */
	if (m->mglru < 0 && is_there(f, "/sys/kernel/mm") && !is_there(f, "/sys/kernel/mm/lru_gen"))
		m->mglru = 0;
	if (thp)
		machine_parse_chosen(thp, m->thp, sizeof(m->thp));
}

int machine_facts_new(const char *root, uint64_t page_size, struct machine_facts **ret)
{
	struct machine_facts *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->root = strdup(root);
	if (!f->root) {
		free(f);
		return -ENOMEM;
	}
	f->page_size = page_size;
	read_constants(f);
	f->reads_at_start = machine_text(f, "/proc/diskstats");
	*ret = f;
	return 0;
}

void machine_facts_free(struct machine_facts *f)
{
	if (!f)
		return;
	free(f->root);
	free(f->pid_cgroups);
	free(f->reads_at_start);
	free(f->devices);
	free(f);
}

int machine_facts_of_cgroup(struct machine_facts *f, const struct mountinfo *mounts,
			    const struct cgroup_ref *cgroup)
{
	const struct mount *m = cgroup_mount(mounts, cgroup->kind);

	f->has_cgroup = m && strlen(cgroup->dir) < sizeof(f->cgroup.dir);
	if (f->has_cgroup) {
		f->cgroup.kind = cgroup->kind;
		snprintf(f->cgroup.dir, sizeof(f->cgroup.dir), "%s", cgroup->dir);
		snprintf(f->cgroup.top, sizeof(f->cgroup.top), "%s", m->point);
	}
	if (f->has_cgroup)
		job_oom_look(&f->oom, &f->cgroup);
	return f->has_cgroup ? 0 : -ENOENT;
}

static unsigned long long started(const struct machine_facts *f, pid_t pid)
{
	char proc[PATH_MAX];

	snprintf(proc, sizeof(proc), "%s/proc", f->root);
	return proctree_started(proc, pid);
}

/* Whether the process is in other cgroups than at the last call; true if that is unknown. */
static bool has_moved(struct machine_facts *f)
{
	char *now = machine_text(f, "/proc/%d/cgroup", (int)f->pid);
	bool moved = !now || !f->pid_cgroups || strcmp(now, f->pid_cgroups) != 0;

	free(f->pid_cgroups);
	f->pid_cgroups = now;
	return moved;
}

/* Tried again with the next sample. */
static int try_again(struct machine_facts *f, int r)
{
	free(f->pid_cgroups);
	f->pid_cgroups = NULL;
	return r;
}

int machine_facts_of_process(struct machine_facts *f, const struct mountinfo *mounts, pid_t pid)
{
	int r;

	if (f->pid != pid) {
		f->pid = pid;
		f->pid_started = started(f, pid);
		has_moved(f);
	}
	r = job_limit_cgroup(f->root, mounts, pid, &f->cgroup);
	f->has_cgroup = !r;
	if (!r)
		job_oom_look(&f->oom, &f->cgroup);
	return r ? try_again(f, r) : 0;
}

/* A partition uses the queue of its disk. */
static int64_t queue_number(const struct machine_facts *f, unsigned int major, unsigned int minor,
			    const char *name)
{
	int64_t n = parsed(machine_text(f, "/sys/dev/block/%u:%u/queue/%s", major, minor, name),
			   machine_parse_number);

	if (n >= 0)
		return n;
	return parsed(machine_text(f, "/sys/dev/block/%u:%u/../queue/%s", major, minor, name),
		      machine_parse_number);
}

/* For a block device; NFS and FUSE have a bdi with the filesystem's own device number. */
static int64_t read_ahead_kb(const struct machine_facts *f, unsigned int major, unsigned int minor)
{
	int64_t n = parsed(machine_text(f, "/sys/class/bdi/%u:%u/read_ahead_kb", major, minor),
			   machine_parse_number);

	return n >= 0 ? n : queue_number(f, major, minor, "read_ahead_kb");
}

/* For a device that was added after the start, all reads are counted. Major 0 is not a block
 * device. */
static void device_reads(const struct machine_facts *f, struct sample_device *d)
{
	unsigned int major = d->dev >> 20, minor = d->dev & 0xfffff;
	int64_t reads, ms, reads_before = 0, ms_before = 0;
	_cleanup_free_ char *now = NULL;

	d->reads = d->read_ms = MACHINE_UNKNOWN;
	if (!major || !f->reads_at_start)
		return;
	now = machine_text(f, "/sys/dev/block/%u:%u/stat", major, minor);
	if (!now || !machine_parse_reads(now, &reads, &ms))
		return;
	machine_parse_diskstats(f->reads_at_start, major, minor, &reads_before, &ms_before);
	/* Less than before: another device has the number now. */
	if (reads < reads_before || ms < ms_before)
		return;
	d->reads = reads - reads_before;
	d->read_ms = ms - ms_before;
}

static void device_read(const struct machine_facts *f, const struct sample_filesystem *fs,
			struct sample_device *d)
{
	unsigned int major = fs->dev >> 20, minor = fs->dev & 0xfffff;
	_cleanup_free_ char *uevent = machine_text(f, "/sys/dev/block/%u:%u/uevent", major, minor);

	*d = (struct sample_device){.dev = fs->dev, .network = machine_is_network(fs->type)};
	if (uevent)
		machine_parse_device_name(uevent, d->name, sizeof(d->name));
	d->rotational = queue_number(f, major, minor, "rotational");
	d->max_sectors_kb = queue_number(f, major, minor, "max_sectors_kb");
	d->read_ahead_kb = read_ahead_kb(f, major, minor);
	d->io_pages = d->max_sectors_kb < 0 ? MACHINE_UNKNOWN
					    : d->max_sectors_kb * 1024 / (int64_t)f->page_size;
}

/* In a cgroup that may have been mounted since. */
static void follow_process(struct machine_facts *f)
{
	struct mountinfo mounts;
	char path[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", f->root);
	r = mountinfo_read(path, &mounts);
	if (r) {
		try_again(f, r);
		return;
	}
	machine_facts_of_process(f, &mounts, f->pid);
	mountinfo_free(&mounts);
}

const struct sample_machine *
machine_facts_take(struct machine_facts *f, const struct sample_filesystem *filesystems, size_t nr)
{
	_cleanup_free_ char *text = machine_text(f, "/proc/meminfo");
	struct sample_machine *m = &f->machine;

	machine_parse_meminfo(text ? text : "", &m->memory, &m->total_bytes, &m->swap_bytes);
	m->limit = (struct sample_limit){MACHINE_UNKNOWN, MACHINE_UNKNOWN, MACHINE_UNKNOWN,
					 MACHINE_UNKNOWN, ""};
	/* The process may have been moved; if it has ended, its last cgroup stays. */
	if (f->pid && started(f, f->pid) != f->pid_started)
		f->pid = 0;
	if (f->pid && has_moved(f))
		follow_process(f);
	if (f->has_cgroup || *f->cgroup.dir)
		job_limit_read(&f->cgroup, &m->limit);
	if (*f->cgroup.dir) {
		job_oom_look(&f->oom, &f->cgroup);
		m->limit.oom_kills = f->oom.failed ? f->oom.kills : 0;
	}
	m->nr_devices = nr < DEVICES_MAX ? nr : DEVICES_MAX;
	/* Without memory they are not measured. */
	if (vec_reserve(f->devices, f->max_devices, m->nr_devices))
		m->nr_devices = 0;
	m->devices = f->devices;
	for (size_t i = 0; i < m->nr_devices; i++) {
		device_read(f, &filesystems[i], &f->devices[i]);
		device_reads(f, &f->devices[i]);
	}
	return m;
}
