// SPDX-License-Identifier: BSD-2-Clause
/*
 * workload DIR STEP...: does the steps in DIR, in their order. A step is VERB:FILE:NUMBER..., as
 * steps.c has them, or
 *   repeat:N ... end      the steps between, N times
 *   process ... end       the steps between in a process of their own, waited for
 *   crowd:N ... end       the same in N processes at once, each at random places of its own
 *   forever ... end       until the process is killed
 * First joins the control groups of CACHEMON_JOIN, which are separated by colons.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "steps.h"

static void join_group(const char *directory)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		err(1, "%s", path);
	close(fd);
}

static void join_groups(void)
{
	const char *env = getenv("CACHEMON_JOIN");
	char *groups = strdup(env ? env : ""), *rest = groups, *group;

	while (rest && (group = strsep(&rest, ":")))
		if (*group)
			join_group(group);
	free(groups);
}

static void perform(const char *word)
{
	char *text = strdup(word), *rest = text, *part;
	struct step s = {0};
	int nr = 0;

	s.verb = strsep(&rest, ":");
	s.file = rest ? strsep(&rest, ":") : "";
	while (rest && (part = strsep(&rest, ":"))) {
		if (nr == ARGS_MAX)
			errx(2, "%s: too many numbers", word);
		s.number[nr++] = strtoull(part, NULL, 10);
	}
	step_perform(&s);
	free(text);
}

static int is_block(const char *word)
{
	return !strncmp(word, "repeat:", 7) || !strncmp(word, "crowd:", 6) ||
	       !strcmp(word, "process") || !strcmp(word, "forever");
}

/* The end of the block that begins at words[at]. */
static int block_end(char **words, int nr, int at)
{
	int depth = 0;

	for (int i = at; i < nr; i++) {
		depth += is_block(words[i]);
		if (!strcmp(words[i], "end") && !--depth)
			return i;
	}
	errx(2, "%s: no end", words[at]);
}

static void perform_all(char **words, int nr);

static void start_process(char **words, int nr, int number)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		step_places(number);
		perform_all(words, nr);
		_exit(0);
	}
}

static void perform_block(char **words, int nr)
{
	int all = !strncmp(words[0], "crowd:", 6) ? atoi(words[0] + 6) : 1;
	int status;

	if (!strncmp(words[0], "repeat:", 7)) {
		for (int i = 0; i < atoi(words[0] + 7); i++)
			perform_all(words + 1, nr - 1);
		return;
	}
	while (!strcmp(words[0], "forever"))
		perform_all(words + 1, nr - 1);
	for (int i = 0; i < all; i++)
		start_process(words + 1, nr - 1, i);
	for (int i = 0; i < all; i++)
		if (wait(&status) < 0 || status)
			errx(1, "a process of the workload failed");
}

static void perform_all(char **words, int nr)
{
	for (int i = 0; i < nr; i++) {
		int end;

		if (!is_block(words[i])) {
			perform(words[i]);
			continue;
		}
		end = block_end(words, nr, i);
		perform_block(words + i, end - i);
		i = end;
	}
}

int main(int argc, char **argv)
{
	if (argc < 3)
		errx(2, "usage: workload DIR STEP...");
	join_groups();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (chdir(argv[1]))
		err(1, "%s", argv[1]);
	perform_all(argv + 2, argc - 2);
	return 0;
}
