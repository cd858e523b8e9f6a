/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/process.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>

int process_untraceable(void)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? -errno : 0;
}

static void no_action(int signo)
{
	(void)signo;
}

void process_survive_file_limit(void)
{
	struct sigaction now, survive = {.sa_handler = no_action, .sa_flags = SA_RESTART};

	/* A handler, because execve() undoes it: an ignored signal would stay ignored. */
	if (!sigaction(SIGXFSZ, NULL, &now) && now.sa_handler == SIG_DFL)
		sigaction(SIGXFSZ, &survive, NULL);
}
