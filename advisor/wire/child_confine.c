/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "advisor/wire/child.h"
#include "cachemon/access/privileges.h"

enum { PIPE = 3, FREE, OPEN_MAX_GUESS = 1 << 16 };

/* The starter's handlers are not the client's; a peer that closes its end is no reason to die. */
static void reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Databases, files, what others gave: nothing of it is of use here. */
static int keep_pipe_only(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -errno;
	/* Both out of the way of the numbers they get. */
	null = fcntl(null, F_DUPFD_CLOEXEC, FREE);
	fd = fcntl(fd, F_DUPFD_CLOEXEC, FREE);
	if (null < 0 || fd < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
	    dup2(fd, PIPE) < 0)
		return -errno;
	if (syscall(SYS_close_range, FREE, ~0U, 0))
		for (int i = FREE; i < OPEN_MAX_GUESS; i++)
			close(i);
	return fcntl(PIPE, F_SETFD, FD_CLOEXEC) ? -errno : PIPE;
}

/* Believed only when it is seen. */
static int check_harmless(void)
{
	uid_t r, e, s;

	if (getresuid(&r, &e, &s))
		return -errno;
	return r && e && s && !privileges_permitted() ? 0 : -EPERM;
}

int child_confine(const struct invoker *as, pid_t starter, int fd)
{
	const struct rlimit none = {0, 0};
	int err = invoker_drop_permanently(as);

	if (!err)
		err = privileges_keep(0);
	if (!err)
		err = check_harmless();
	if (err)
		return err;
	/* Memory holds the key. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || setrlimit(RLIMIT_CORE, &none) ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	/* After the change of users, which undoes it; and the starter may have ended before. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return -errno;
	if (getppid() != starter)
		return -ESRCH;
	umask(077);
	reset_signals();
	return keep_pipe_only(fd);
}
