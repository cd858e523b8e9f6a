/* SPDX-License-Identifier: BSD-2-Clause */
#include "tool.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

static char *read_all(int fd)
{
	size_t len = 0, size = 0;
	char *text = NULL;
	ssize_t n;

	do {
		if (size - len < 4096) {
			size = size ? 2 * size : 65536;
			text = realloc(text, size);
			if (!text)
				bench_fail("out of memory");
		}
		n = read(fd, text + len, size - len - 1);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	text[len] = 0;
	return text;
}

int tool_run(const char *const *argv, char **ret_out)
{
	int fds[2], status;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		bench_fail("no pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		bench_fail("cannot fork: %s", strerror(errno));
	if (!pid) {
		dup2(fds[1], STDOUT_FILENO);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(fds[1]);
	if (ret_out)
		*ret_out = read_all(fds[0]);
	else
		free(read_all(fds[0]));
	close(fds[0]);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

struct cJSON *tool_json(const char *const *argv)
{
	char *text;
	int status = tool_run(argv, &text);
	struct cJSON *json = cJSON_Parse(text);

	if (status || !json)
		bench_fail("%s %s: exit status %d, %s", argv[0], argv[1], status,
			   json ? "JSON" : "no JSON");
	free(text);
	return json;
}

double tool_number(const struct cJSON *json, const char *const *path)
{
	const char *last = "";

	for (; *path; path++) {
		last = *path;
		json = cJSON_GetObjectItemCaseSensitive(json, last);
	}
	if (!cJSON_IsNumber(json))
		bench_fail("no number '%s' in cachemon's answer", last);
	return json->valuedouble;
}
