/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/access/process_user.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"

/* The values of a line of /proc/PID/status; NULL: it has none such. The name of the process, which
 * is in the first line, has no line breaks. */
static const char *values_of(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line ? line + strlen(name) : NULL;
}

/* Real, effective, saved, of the filesystem: whether they are one, *ret. */
static bool one_id(const char *values, unsigned int *ret)
{
	unsigned int id[4];

	if (!values || sscanf(values, "%u %u %u %u", &id[0], &id[1], &id[2], &id[3]) != 4)
		return false;
	*ret = id[0];
	return id[0] == id[1] && id[0] == id[2] && id[0] == id[3];
}

bool process_user_is(const char *proc, pid_t pid, uid_t uid)
{
	_cleanup_free_ char *status = NULL;
	unsigned int user, group;
	unsigned long long caps;
	const char *permitted;
	char path[256];
	size_t len;

	snprintf(path, sizeof(path), "%s/%d/status", proc, (int)pid);
	if (file_read(AT_FDCWD, path, 1 << 16, &status, &len))
		return false;
	permitted = values_of(status, "\nCapPrm:");
	return one_id(values_of(status, "\nUid:"), &user) && user == uid &&
	       one_id(values_of(status, "\nGid:"), &group) && permitted &&
	       sscanf(permitted, "%llx", &caps) == 1 && !caps;
}
