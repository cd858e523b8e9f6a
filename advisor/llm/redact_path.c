/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/redact_path.h"

#include <stdio.h>
#include <string.h>

/*
 * Paths of the kernel or of cachemon that are the same on every machine: an answer needs them, and
 * they identify nobody. Excluded: /dev/mapper, /dev/disk (labels), /dev/shm and /sys/fs/cgroup
 * (jobs), /etc (files that an administrator names).
 */
static const struct {
	const char *path;
	enum { ALONE, WITH_ONE_BELOW, WITH_ALL_BELOW } how;
} of_system[] = {
	{"/proc", WITH_ALL_BELOW},
	{"/sys/block", WITH_ALL_BELOW},
	{"/sys/bus", WITH_ALL_BELOW},
	{"/sys/class", WITH_ALL_BELOW},
	{"/sys/devices", WITH_ALL_BELOW},
	{"/sys/kernel", WITH_ALL_BELOW},
	{"/sys/module", WITH_ALL_BELOW},
	{"/sys/fs/cgroup", ALONE},
	{"/sys", ALONE},
	{"/dev", WITH_ONE_BELOW},
	{"/etc/cachemon", ALONE},
	{"/etc/fstab", ALONE},
	{"/etc/sysctl.conf", ALONE},
	{"/etc/sysctl.d", ALONE},
	{"/etc/udev/rules.d", ALONE},
};

/* Endings that show the type of data; any other ending could be a name too. */
static const char endings[] =
	" .arrow .avi .bam .bin .bmp .bz2 .c .cache .conf .cpp .csv .dat .db .fits "
	".flac .gguf .gif .gz .h5 .hdf5 .html .idx .img .index .iso .jar .jpeg .jpg "
	".json .jsonl .lmdb .log .lz4 .md .mp3 .mp4 .nc .npy .npz .onnx .orc .ovf "
	".parquet .pb .pdf .pickle .pkl .png .pt .pth .py .pyc .qcow2 .rec .root "
	".sam .safetensors .sh .so .sql .sqlite .tar .tfrecord .tgz .tif .tiff .tmp "
	".tsv .txt .vcf .wav .webp .xml .xz .yaml .yml .zarr .zip .zst ";

enum { ENDINGS_KEPT = 2 /* .tar.gz */ };

/* Characters of an unquoted path component, and those that begin it. */
static bool is_path_char(char c)
{
	return (unsigned char)c > ' ' && c != 0x7f && !strchr("\"'<>|;,()[]{}*?`$&!", c);
}

bool redact_path_begins(const char *text, size_t len, size_t at)
{
	size_t slash = at;
	char before = at ? text[at - 1] : ' ';

	/* The next part of the same word, also after the end of an alias. */
	if (redact_path_word(before) || (before && strchr("./-~\\", before)) ||
	    (before == '>' && at > 1 && text[at - 2] >= '0' && text[at - 2] <= '9'))
		return false;
	if (text[at] == '~')
		for (slash++; slash < len && redact_path_word(text[slash]); slash++)
			;
	if (slash >= len || text[slash] != '/')
		return false;
	for (slash++; slash < len && text[slash] == '/'; slash++)
		;
	return slash < len && is_path_char(text[slash]);
}

/* A colon is part of a name, but not before a line number, another path or a word. */
static bool colon_ends(const char *text, size_t len, size_t at)
{
	return at + 1 >= len || !is_path_char(text[at + 1]) || text[at + 1] == '/' ||
	       (text[at + 1] >= '0' && text[at + 1] <= '9');
}

size_t redact_path_end(const char *text, size_t len, size_t at)
{
	size_t end = at;

	while (end < len && is_path_char(text[end]) &&
	       (text[end] != ':' || !colon_ends(text, len, end)))
		end++;
	while (end > at && strchr(".:/-", text[end - 1]))
		end--;
	return end;
}

/* Paths that every machine has and that contain no personal names. */
static bool is_of_system(const char *path, size_t len)
{
	/* The path leaves its directory through "..". */
	if (memmem(path, len, "/../", 4) || (len >= 3 && !memcmp(path + len - 3, "/..", 3)))
		return false;
	for (size_t i = 0; i < sizeof(of_system) / sizeof(of_system[0]); i++) {
		size_t n = strlen(of_system[i].path);

		if (len < n || memcmp(path, of_system[i].path, n) != 0)
			continue;
		if (len == n || (path[n] == '/' && (of_system[i].how == WITH_ALL_BELOW ||
						    (of_system[i].how == WITH_ONE_BELOW &&
						     !memchr(path + n + 1, '/', len - n - 1)))))
			return true;
	}
	return false;
}

size_t redact_path_ending(const char *base, size_t len)
{
	size_t kept = 0;

	for (int i = 0; i < ENDINGS_KEPT; i++) {
		const char *end = base + len - kept, *dot = memrchr(base, '.', len - kept);
		char ending[16];

		if (!dot || dot == base)
			break;
		snprintf(ending, sizeof(ending), " %.*s ", (int)(end - dot), dot);
		if (!strstr(endings, ending))
			break;
		kept += (size_t)(end - dot);
	}
	return kept;
}

bool redact_path_needs_alias(const char *path, size_t len)
{
	if (len < 2 || is_of_system(path, len))
		return false;
	for (size_t i = 0; i < len; i++)
		if (path[i] != '/')
			return true;
	return false;
}

size_t redact_path_system_end(const char *text, size_t len, size_t at)
{
	size_t end;

	if (text[at] != '/' || !redact_path_begins(text, len, at))
		return 0;
	end = redact_path_end(text, len, at);
	return is_of_system(text + at, end - at) ? end : 0;
}
