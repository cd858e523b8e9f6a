/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/preempt_mode.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "cachemon/base/file.h"

static enum caps_flag mode_named(const char *name, size_t len)
{
	static const struct {
		const char *name;
		enum caps_flag preempts;
	} modes[] = {
		{"none", CAPS_NO},
		{"voluntary", CAPS_NO},
		{"full", CAPS_YES},
		{"lazy", CAPS_YES},
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (len == strlen(modes[i].name) && !memcmp(name, modes[i].name, len))
			return modes[i].preempts;
	return CAPS_UNKNOWN;
}

/* "none voluntary (full)": the one in force. Only root sees it, and nobody in lockdown. */
static enum caps_flag in_force(const char *root)
{
	char line[128], *begin, *end;

	if (file_line(root, "/sys/kernel/debug/sched/preempt", line, sizeof(line)))
		return CAPS_UNKNOWN;
	begin = strchr(line, '(');
	end = begin ? strchr(begin, ')') : NULL;
	return end ? mode_named(begin + 1, (size_t)(end - begin - 1)) : CAPS_UNKNOWN;
}

/* The last preempt= of the command line. */
static enum caps_flag at_boot(const char *root)
{
	enum caps_flag last = CAPS_UNKNOWN;
	char line[4096], *save = NULL;

	if (file_line(root, "/proc/cmdline", line, sizeof(line)))
		return CAPS_UNKNOWN;
	for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save))
		if (!strncmp(word, "preempt=", 8))
			last = mode_named(word + 8, strlen(word + 8));
	return last;
}

/* What it was built to do when nobody says anything. gzopen() reads plain text too. */
static enum caps_flag built(const char *root, const char *path)
{
	enum caps_flag found = CAPS_UNKNOWN;
	char full[512], line[1024];
	gzFile f;

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
		return CAPS_UNKNOWN;
	f = gzopen(full, "re");
	if (!f)
		return CAPS_UNKNOWN;
	while (found == CAPS_UNKNOWN && gzgets(f, line, sizeof(line))) {
		if (!strcmp(line, "CONFIG_PREEMPT_NONE=y\n") ||
		    !strcmp(line, "CONFIG_PREEMPT_VOLUNTARY=y\n"))
			found = CAPS_NO;
		else if (!strcmp(line, "CONFIG_PREEMPT=y\n") ||
			 !strcmp(line, "CONFIG_PREEMPT_LAZY=y\n") ||
			 !strcmp(line, "CONFIG_PREEMPT_RT=y\n"))
			found = CAPS_YES;
	}
	gzclose(f);
	return found;
}

enum caps_flag preempt_mode_read(const char *root, const char *release)
{
	char version[256], config[128];
	enum caps_flag mode;

	if (file_line(root, "/proc/sys/kernel/version", version, sizeof(version)))
		return CAPS_UNKNOWN;
	if (!strstr(version, "PREEMPT"))
		return CAPS_NO;
	if (!strstr(version, "PREEMPT_DYNAMIC"))
		return CAPS_YES;
	snprintf(config, sizeof(config), "/boot/config-%s", release);
	mode = in_force(root);
	if (mode == CAPS_UNKNOWN)
		mode = at_boot(root);
	if (mode == CAPS_UNKNOWN)
		mode = built(root, "/proc/config.gz");
	if (mode == CAPS_UNKNOWN)
		mode = built(root, config);
	return mode;
}
