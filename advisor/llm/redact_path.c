/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "advisor/llm/redact_impl.h"

/*
 * Paths that are the kernel's or the program's, and are the same on every machine: what they say is
 * needed in an answer, and they name nobody. Not here: /dev/mapper, /dev/disk (labels), /dev/shm
 * and /sys/fs/cgroup (jobs), /etc (files of an administrator's choice).
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

/* Endings that say what kind of data a file has; any other could be a name too. */
static const char *const endings[] = {
	".arrow",	".avi",	 ".bam",     ".bin",  ".bmp",	 ".bz2",    ".c",	 ".cache",
	".conf",	".cpp",	 ".csv",     ".dat",  ".db",	 ".fits",   ".flac",	 ".gguf",
	".gif",		".gz",	 ".h5",	     ".hdf5", ".html",	 ".idx",    ".img",	 ".index",
	".iso",		".jar",	 ".jpeg",    ".jpg",  ".json",	 ".jsonl",  ".lmdb",	 ".log",
	".lz4",		".md",	 ".mp3",     ".mp4",  ".nc",	 ".npy",    ".npz",	 ".onnx",
	".orc",		".ovf",	 ".parquet", ".pb",   ".pdf",	 ".pickle", ".pkl",	 ".png",
	".pt",		".pth",	 ".py",	     ".pyc",  ".qcow2",	 ".rec",    ".root",	 ".sam",
	".safetensors", ".sh",	 ".so",	     ".sql",  ".sqlite", ".tar",    ".tfrecord", ".tgz",
	".tif",		".tiff", ".tmp",     ".tsv",  ".txt",	 ".vcf",    ".wav",	 ".webp",
	".xml",		".xz",	 ".yaml",    ".yml",  ".zarr",	 ".zip",    ".zst",
};

enum { ENDINGS_KEPT = 2 /* .tar.gz */ };

bool redact_is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* What may stand in a component without quotes, and begin it. */
static bool is_path_char(char c)
{
	return (unsigned char)c > ' ' && c != 0x7f && !strchr("\"'<>|;,()[]{}*?`$&!", c);
}

/* Whether what stands before at is another part of the same thing; of an alias, its end. */
static bool is_middle(const char *text, size_t at)
{
	char before = text[at - 1];

	if (before == '>')
		return at > 1 && text[at - 2] >= '0' && text[at - 2] <= '9';
	return redact_is_word(before) || (before && strchr("./-~\\", before));
}

bool redact_path_begins(const char *text, size_t len, size_t at)
{
	size_t slash = at;

	if (at && is_middle(text, at))
		return false;
	if (text[at] == '~')
		for (slash++; slash < len && redact_is_word(text[slash]); slash++)
			;
	if (slash >= len || text[slash] != '/')
		return false;
	for (slash++; slash < len && text[slash] == '/'; slash++)
		;
	return slash < len && is_path_char(text[slash]);
}

/* A colon is part of a name, but not before a line's number, another path or a word. */
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

static bool leaves(const char *path, size_t len)
{
	for (size_t i = 0; i + 2 < len; i++)
		if (path[i] == '/' && path[i + 1] == '.' && path[i + 2] == '.' &&
		    (i + 3 == len || path[i + 3] == '/'))
			return true;
	return false;
}

bool redact_path_is_of_system(const char *path, size_t len)
{
	if (leaves(path, len))
		return false;
	for (size_t i = 0; i < sizeof(of_system) / sizeof(of_system[0]); i++) {
		size_t n = strlen(of_system[i].path);

		if (len < n || memcmp(path, of_system[i].path, n) != 0)
			continue;
		if (len == n)
			return true;
		if (path[n] != '/' || of_system[i].how == ALONE)
			continue;
		if (of_system[i].how == WITH_ALL_BELOW || !memchr(path + n + 1, '/', len - n - 1))
			return true;
	}
	return false;
}

static size_t one_ending(const char *base, size_t len)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t n = strlen(endings[i]);

		if (len > n && memcmp(base + len - n, endings[i], n) == 0)
			return n;
	}
	return 0;
}

size_t redact_path_ending(const char *base, size_t len)
{
	size_t kept = 0;

	for (int i = 0; i < ENDINGS_KEPT; i++)
		kept += one_ending(base, len - kept);
	return kept;
}
