/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/collector/machine_parse.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The digits at p, in that base; MACHINE_UNKNOWN for no digits or too many. */
static int64_t number_at(const char *p, int base, const char **ret_end)
{
	unsigned long long n;
	char *end;

	if (!isxdigit((unsigned char)*p))
		return MACHINE_UNKNOWN;
	errno = 0;
	n = strtoull(p, &end, base);
	if (errno || end == p || n > INT64_MAX)
		return MACHINE_UNKNOWN;
	if (ret_end)
		*ret_end = end;
	return (int64_t)n;
}

static const char *value_of_line(const char *text, const char *key, char after)
{
	size_t len = strlen(key);

	for (const char *p = text; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
		if (!strncmp(p, key, len) && p[len] == after)
			return p + len + 1;
	return NULL;
}

static int64_t meminfo_bytes(const char *text, const char *key)
{
	const char *p = value_of_line(text, key, ':'), *end;
	int64_t kb;

	if (!p)
		return MACHINE_UNKNOWN;
	kb = number_at(p + strspn(p, " "), 10, &end);
	if (kb < 0 || kb > INT64_MAX / 1024 || strncmp(end, " kB", 3) != 0)
		return MACHINE_UNKNOWN;
	return kb * 1024;
}

void machine_parse_meminfo(const char *text, struct sample_memory *ret, int64_t *ret_total,
			   int64_t *ret_swap)
{
	int64_t cached = meminfo_bytes(text, "Cached"), shared = meminfo_bytes(text, "Shmem");
	int64_t buffers = meminfo_bytes(text, "Buffers"), dirty = meminfo_bytes(text, "Dirty");
	int64_t writeback = meminfo_bytes(text, "Writeback");

	*ret_total = meminfo_bytes(text, "MemTotal");
	*ret_swap = meminfo_bytes(text, "SwapTotal");
	ret->free_bytes = meminfo_bytes(text, "MemFree");
	ret->available_bytes = meminfo_bytes(text, "MemAvailable");
	ret->swap_free_bytes = meminfo_bytes(text, "SwapFree");
	/* Buffers are the page cache of block devices. "Cached" includes shared memory. */
	ret->file_cached_bytes = MACHINE_UNKNOWN;
	if (cached >= 0 && shared >= 0 && buffers >= 0 && cached + buffers >= shared)
		ret->file_cached_bytes = cached + buffers - shared;
	ret->dirty_bytes = dirty >= 0 && writeback >= 0 ? dirty + writeback : MACHINE_UNKNOWN;
}

int64_t machine_parse_number(const char *text)
{
	const char *end;
	int64_t n = isdigit((unsigned char)*text) ? number_at(text, 10, &end) : MACHINE_UNKNOWN;

	return n >= 0 && (*end == '\n' || !*end) ? n : MACHINE_UNKNOWN;
}

int64_t machine_parse_list(const char *text)
{
	int64_t sum = 0;

	for (const char *p = text;; p++) {
		int64_t first = number_at(p, 10, &p), last = first;

		if (first >= 0 && *p == '-')
			last = number_at(p + 1, 10, &p);
		if (first < 0 || last < first || last > INT_MAX)
			return MACHINE_UNKNOWN;
		sum += last - first + 1;
		if (*p != ',')
			return *p == '\n' || !*p ? sum : MACHINE_UNKNOWN;
	}
}

int64_t machine_parse_mglru(const char *text)
{
	int64_t bits = number_at(text, 16, NULL);

	return bits < 0 ? MACHINE_UNKNOWN : bits & 1;
}

static void copy_word(const char *from, size_t len, char *ret, size_t size)
{
	if (len < size)
		snprintf(ret, size, "%.*s", (int)len, from);
}

void machine_parse_chosen(const char *text, char *ret, size_t size)
{
	const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	*ret = '\0';
	if (close)
		copy_word(open + 1, (size_t)(close - open - 1), ret, size);
}

void machine_parse_device_name(const char *text, char *ret, size_t size)
{
	const char *p = value_of_line(text, "DEVNAME", '=');

	*ret = '\0';
	if (p)
		copy_word(p, strcspn(p, "\n"), ret, size);
}

bool machine_parse_reads(const char *text, int64_t *ret_reads, int64_t *ret_ms)
{
	int64_t reads, ms;

	/* The fields between are merged requests and sectors. */
	if (sscanf(text, " %" SCNd64 " %*s %*s %" SCNd64, &reads, &ms) != 2)
		return false;
	*ret_reads = reads;
	*ret_ms = ms;
	return true;
}

bool machine_parse_diskstats(const char *text, unsigned int major, unsigned int minor,
			     int64_t *ret_reads, int64_t *ret_ms)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n'), line += !!line) {
		unsigned int at_major, at_minor;
		int name = 0;

		if (sscanf(line, " %u %u %*s%n", &at_major, &at_minor, &name) == 2 && name &&
		    at_major == major && at_minor == minor)
			return machine_parse_reads(line + name, ret_reads, ret_ms);
	}
	return false;
}

bool machine_is_network(const char *fstype)
{
	static const char *const types[] = {"nfs",
					    "nfs4",
					    "cifs",
					    "smb3",
					    "ceph",
					    "9p",
					    "lustre",
					    "afs",
					    "gpfs",
					    "beegfs",
					    "orangefs",
					    "fuse.sshfs",
					    "fuse.glusterfs",
					    "fuse.s3fs",
					    "fuse.juicefs",
					    "fuse.cephfs"};

	for (size_t i = 0; fstype && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(fstype, types[i]))
			return true;
	return false;
}
