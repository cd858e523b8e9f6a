/* SPDX-License-Identifier: BSD-2-Clause */
#include "scan.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static bool traces(uint32_t type)
{
	switch (type) {
	case BPF_PROG_TYPE_KPROBE:
	case BPF_PROG_TYPE_TRACEPOINT:
	case BPF_PROG_TYPE_PERF_EVENT:
	case BPF_PROG_TYPE_RAW_TRACEPOINT:
	case BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE:
	case BPF_PROG_TYPE_TRACING:
	case BPF_PROG_TYPE_LSM:
		return true;
	default:
		return false;
	}
}

/* The typedef of a tracepoint is named btf_trace_NAME; iterators are bpf_iter_NAME. */
static bool is_tracepoint(uint32_t btf_id)
{
	static struct btf *kernel;
	const struct btf_type *t;

	if (!kernel)
		kernel = btf__load_vmlinux_btf();
	t = kernel && btf_id ? btf__type_by_id(kernel, btf_id) : NULL;
	return t && !strncmp(btf__name_by_offset(kernel, t->name_off), "btf_trace_", 10);
}

void scan_progs(struct scan *ret)
{
	uint32_t id = 0;

	ret->nr = 0;
	while (!bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info = {};
		struct scan_prog *p = &ret->progs[ret->nr];
		uint32_t len = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id), r;

		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0)
			bench_fail("cannot look at BPF program %u: %s", id, strerror(errno));
		r = bpf_obj_get_info_by_fd(fd, &info, &len);
		close(fd);
		if (r || !traces(info.type))
			continue;
		if (ret->nr == SCAN_MAX)
			bench_fail("more than %d tracing programs are loaded", SCAN_MAX);
		p->id = id;
		p->btf_id = info.attach_btf_id;
		p->tp_btf = info.type == BPF_PROG_TYPE_TRACING && is_tracepoint(p->btf_id);
		memcpy(p->name, info.name, sizeof(p->name));
		p->run_ns = info.run_time_ns;
		p->run_cnt = info.run_cnt;
		ret->nr++;
	}
}

const struct scan_prog *scan_find(const struct scan *s, const char *name)
{
	for (int i = 0; i < s->nr; i++)
		if (!strcmp(s->progs[i].name, name))
			return &s->progs[i];
	return NULL;
}

static bool holds(const uint32_t *ids, int nr, uint32_t id)
{
	for (int i = 0; i < nr; i++)
		if (ids[i] == id)
			return true;
	return false;
}

/* "prog_id: N" in the fdinfo of a program or a link. */
static uint32_t prog_id_of_fd(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	char text[2048], *at;
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	at = strstr(text, "prog_id:");
	return at ? (uint32_t)strtoul(at + 8, NULL, 10) : 0;
}

void scan_of_process(const struct scan *all, pid_t pid, struct scan *ret)
{
	uint32_t ids[2 * SCAN_MAX];
	struct dirent *d;
	char path[64];
	int nr = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	dir = opendir(path);
	if (!dir)
		bench_fail("cannot read %s: %s", path, strerror(errno));
	while ((d = readdir(dir)) && nr < 2 * SCAN_MAX) {
		ids[nr] = prog_id_of_fd(dirfd(dir), d->d_name);
		nr += ids[nr] != 0;
	}
	closedir(dir);
	ret->nr = 0;
	for (int i = 0; i < all->nr; i++)
		if (holds(ids, nr, all->progs[i].id))
			ret->progs[ret->nr++] = all->progs[i];
}

/* Ids are in ascending order and never reused. */
bool scan_same(const struct scan *a, const struct scan *b)
{
	if (a->nr != b->nr)
		return false;
	for (int i = 0; i < a->nr; i++)
		if (a->progs[i].id != b->progs[i].id)
			return false;
	return true;
}

bool scan_silent(const struct scan *a, const struct scan *b)
{
	for (int i = 0; i < a->nr; i++)
		if (a->progs[i].run_cnt != b->progs[i].run_cnt)
			return false;
	return true;
}

static const struct scan_prog *stranger(const struct scan *now, const struct scan *expected)
{
	for (int i = 0; i < now->nr; i++) {
		bool known = false;

		for (int j = 0; j < expected->nr; j++)
			known |= now->progs[i].id == expected->progs[j].id;
		if (!known)
			return &now->progs[i];
	}
	return NULL;
}

void scan_wait(const struct scan *expected, int patience_s, struct scan *ret)
{
	uint64_t end = bench_now_ns() + (uint64_t)patience_s * 1000000000;
	const struct scan_prog *other;

	for (;;) {
		scan_progs(ret);
		other = stranger(ret, expected);
		if (!other)
			break;
		if (bench_now_ns() > end)
			bench_fail(
				"another tracer is at work: program %u, %s, is still loaded after "
				"%d s. Stop it, or give more --patience",
				other->id, other->name, patience_s);
		poll(NULL, 0, 1);
	}
	other = stranger(expected, ret);
	if (other)
		bench_fail("program %u, %s, of the phase is gone", other->id, other->name);
}
