/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/own_root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachemon/base/cleanup.h"

/* The kernel names what is outside of the asking process's root by its whole path, so whoever asks
 * goes into another root first. */
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

static ssize_t read_all(int fd, char *buf, size_t size)
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
	len = read_all(pipe_fds[0], path, sizeof(path) - 1);
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
