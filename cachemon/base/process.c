/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"

enum { STAT_MAX = 4096 };

int process_untraceable(void)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? -errno : 0;
}

int process_keep_only(const int fds[], size_t nr)
{
	int above[PROCESS_KEPT_MOST];

	if (nr > PROCESS_KEPT_MOST)
		return -EINVAL;
	/* Moves descriptors out of the way first, because one may occupy another's place. */
	for (size_t i = 0; i < nr; i++) {
		above[i] = fcntl(fds[i], F_DUPFD, (int)nr);
		if (above[i] < 0)
			return -errno;
	}
	for (size_t i = 0; i < nr; i++)
		if (dup2(above[i], (int)i) < 0)
			return -errno;
	return syscall(SYS_close_range, (unsigned int)nr, ~0U, 0) ? -errno : 0;
}

static void no_action(int signo)
{
	(void)signo;
}

void process_survive_file_limit(void)
{
	struct sigaction now, survive = {.sa_handler = no_action, .sa_flags = SA_RESTART};

	/* A handler, because execve() resets it; an ignored signal would stay ignored. */
	if (!sigaction(SIGXFSZ, NULL, &now) && now.sa_handler == SIG_DFL)
		sigaction(SIGXFSZ, &survive, NULL);
}

const char *process_stat_field(const char *stat, int number)
{
	const char *at = strrchr(stat, ')');

	for (int field = 3; at && field <= number; field++)
		at = strchr(at + 1, ' ');
	return at ? at + 1 : NULL;
}

/*
 * The place of the environment's strings in memory. The loader removes pointers from environ but
 * leaves the strings. /proc/self/environ has them too, but belongs to root in a process that is not
 * dumpable.
 */
static int find_strings(const char **ret_text, size_t *ret_len)
{
	_cleanup_free_ char *stat = NULL;
	uintptr_t start = 0, end = 0;
	const char *at, *strings;
	size_t len = 0;
	int r = file_read(AT_FDCWD, "/proc/self/stat", STAT_MAX, &stat, &len);

	if (r)
		return r;
	at = process_stat_field(stat, 50);
	if (!at || sscanf(at, "%" SCNuPTR " %" SCNuPTR, &start, &end) != 2 || !start ||
	    end <= start)
		return -ENODATA;
	memcpy(&strings, &start, sizeof(strings));
	if (strings[end - start - 1])
		return -ENODATA;
	*ret_text = strings;
	*ret_len = end - start;
	return 0;
}

static char **split_strings(const char *text, size_t len)
{
	size_t nr = 0;
	char **env;

	for (size_t at = 0; at < len; at += strlen(text + at) + 1)
		nr++;
	env = calloc(nr + 1, sizeof(*env));
	if (!env)
		return NULL;
	nr = 0;
	for (size_t at = 0; at < len; at += strlen(text + at) + 1)
		env[nr++] = (char *)text + at;
	return env;
}

char **process_environment(void)
{
	static char **whole;
	const char *text = NULL;
	size_t len = 0;

	if (whole || !getauxval(AT_SECURE))
		return whole ? whole : environ;
	if (!find_strings(&text, &len))
		whole = split_strings(text, len);
	return whole ? whole : environ;
}
