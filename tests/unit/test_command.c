/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: job access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/syscall.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "run_command.h"
#include "scratch.h"

static int run_sh(const char *script, char *text, size_t size)
{
	const char *const argv[] = {"sh", "-c", script, NULL};

	return run(argv, &self, text, size);
}

static void statuses(void **state)
{
	char text[64];

	assert_int_equal(run_sh("exit 0", text, sizeof(text)), 0);
	assert_int_equal(run_sh("exit 77", text, sizeof(text)), 77);
	assert_int_equal(run_sh("exit 255", text, sizeof(text)), 255);
	assert_int_equal(run_sh("kill -TERM $$", text, sizeof(text)), 128 + SIGTERM);
	assert_int_equal(run_sh("kill -KILL $$", text, sizeof(text)), 128 + SIGKILL);
	assert_int_equal(run_sh("echo hello", text, sizeof(text)), 0);
	assert_string_equal(text, "hello\n");
}

static void not_before_go(void **state)
{
	const char *const argv[] = {"sh", "-c", "echo ran; kill -STOP $$; exit 3", NULL};
	struct command *c;
	struct pollfd p;
	char text[64];
	siginfo_t info = {0};
	int out, status = 7;

	c = prepare(argv, &self, &out);
	/* The command is alive and waiting, and has written nothing. */
	assert_true(command_pid(c) > 0);
	assert_int_equal(kill(command_pid(c), 0), 0);
	assert_int_equal(command_reap(c, &status), -EAGAIN);
	assert_int_equal(status, 7);
	p = (struct pollfd){.fd = out, .events = POLLIN};
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(command_go(c, NULL), 0);
	assert_int_equal(command_go(c, NULL), -EALREADY);
	assert_int_equal(read(out, text, 4), 4);
	/* A stopped command has not ended. */
	assert_int_equal(waitid(P_PID, (id_t)command_pid(c), &info, WSTOPPED | WNOWAIT), 0);
	assert_int_equal(command_reap(c, &status), -EAGAIN);
	assert_int_equal(command_signal(c, SIGCONT), 0);
	assert_int_equal(ended_status(c), 3);
	assert_int_equal(command_reap(c, &status), 0);
	assert_int_equal(status, 3);
	assert_int_equal(command_signal(c, SIGTERM), -ESRCH);
	close(out);
	command_free(c);
	command_free(NULL);
}

static void freed_before_go(void **state)
{
	const char *const argv[] = {"echo", "ran", NULL};
	struct command *c;
	char text[64];
	pid_t pid;
	int out;

	c = prepare(argv, &self, &out);
	pid = command_pid(c);
	assert_int_equal(command_signal(c, SIGSTOP), 0);
	command_free(c);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	read_all(out, text, sizeof(text));
	assert_string_equal(text, "");
}

static void killed_before_go(void **state)
{
	const char *const argv[] = {"echo", "ran", NULL};
	struct errtext err;
	struct command *c;
	char text[64];
	int out;

	c = prepare(argv, &self, &out);
	assert_int_equal(command_signal(c, SIGINT), 0);
	await(command_pidfd(c));
	assert_int_equal(command_go(c, &err), -ECANCELED);
	assert_string_equal(err.text, "signal 2 killed 'echo' before it started");
	assert_int_equal(ended_status(c), 128 + SIGINT);
	read_all(out, text, sizeof(text));
	assert_string_equal(text, "");
	command_free(c);
}

/* Prepares a command, then dies by SIGKILL, with or without command_go(). Returns the pidfd of
 * the command. */
static int orphan(const char *script, bool go)
{
	int report[2], status, pidfd;
	pid_t middle, cmd = 0;

	assert_int_equal(pipe2(report, O_CLOEXEC), 0);
	middle = fork();
	assert_true(middle >= 0);
	if (middle == 0) {
		char *const argv[] = {"sh", "-c", (char *)script, NULL};
		struct command *c;

		if (command_prepare(argv, &self, NULL, NULL, &c, NULL) ||
		    (go && command_go(c, NULL)))
			_exit(1);
		cmd = command_pid(c);
		/* The parent must have the pidfd of the command before this process dies. */
		if (write(report[1], &cmd, sizeof(cmd)) != sizeof(cmd) || raise(SIGSTOP))
			_exit(1);
		raise(SIGKILL);
	}
	close(report[1]);
	assert_int_equal(read(report[0], &cmd, sizeof(cmd)), sizeof(cmd));
	close(report[0]);
	pidfd = (int)syscall(SYS_pidfd_open, cmd, 0);
	assert_true(pidfd >= 0);
	assert_int_equal(waitpid(middle, &status, WUNTRACED), middle);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(kill(middle, SIGKILL), 0);
	assert_int_equal(waitpid(middle, &status, 0), middle);
	assert_true(WIFSIGNALED(status));
	return pidfd;
}

static void watcher_killed(void **state)
{
	char script[3 * PATH_MAX], path[PATH_MAX];
	struct scratch s;
	int pidfd, fifo;

	scratch_new(&s);
	/* Before the start: the command never runs. */
	snprintf(script, sizeof(script), "touch '%s/ran'", s.dir);
	pidfd = orphan(script, false);
	await(pidfd);
	close(pidfd);
	assert_int_equal(access(scratch_path(&s, "ran", path), F_OK), -1);
	/* After the start: it continues, undisturbed. */
	assert_int_equal(mkfifo(scratch_path(&s, "fifo", path), 0600), 0);
	snprintf(script, sizeof(script), "read x <'%s'; touch '%s/ran'", path, s.dir);
	pidfd = orphan(script, true);
	fifo = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fifo >= 0);
	assert_int_equal(write(fifo, "x\n", 2), 2);
	close(fifo);
	await(pidfd);
	close(pidfd);
	assert_int_equal(access(scratch_path(&s, "ran", path), F_OK), 0);
	scratch_free(&s);
}

static void signals_reset(void **state)
{
	struct sigaction ign = {.sa_handler = SIG_IGN}, dfl = {.sa_handler = SIG_DFL};
	const char *const argv[] = {"grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status", NULL};
	sigset_t blocked, saved;
	char text[256];
	int status;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, &saved);
	sigaction(SIGPIPE, &ign, NULL);
	sigaction(SIGUSR1, &ign, NULL);
	sigaction(SIGCHLD, &ign, NULL);
	status = run(argv, &self, text, sizeof(text));
	assert_int_equal(status, 0);
	assert_string_equal(text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
	/* SIGHUP (bit 0) stays ignored, as set by nohup. */
	sigaction(SIGHUP, &ign, NULL);
	assert_int_equal(run(argv, &self, text, sizeof(text)), 0);
	assert_string_equal(text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000001\n");
	sigaction(SIGHUP, &dfl, NULL);
	sigaction(SIGPIPE, &dfl, NULL);
	sigaction(SIGUSR1, &dfl, NULL);
	sigprocmask(SIG_SETMASK, &saved, NULL);
}

enum { FDS = 1024 };

/* The descriptors that a command inherits. */
static void open_in_command(bool fds[FDS])
{
	const char *const argv[] = {"sh", "-c", "ls /proc/$$/fd", NULL};
	char text[FDS * 5], *rest = text, *line;

	memset(fds, 0, FDS * sizeof(*fds));
	assert_int_equal(run(argv, &self, text, sizeof(text)), 0);
	while ((line = strsep(&rest, "\n"))) {
		int fd = atoi(line);

		assert_in_range(fd, 0, FDS - 1);
		fds[fd] = *line || fds[fd];
	}
}

static void descriptors(void **state)
{
	bool fds[FDS];
	int inherited, own;

	/* Descriptors of the caller (such as a make jobserver's) are inherited, cachemon's are
	 * not. */
	own = open("/dev/null", O_RDONLY | O_CLOEXEC);
	inherited = fcntl(own, F_DUPFD, 40);
	assert_true(inherited >= 40 && inherited < FDS);
	open_in_command(fds);
	assert_true(fds[inherited]);
	assert_false(fds[own]);
	for (int fd = 0; fd < FDS; fd++) {
		int flags = fcntl(fd, F_GETFD);

		if (fds[fd] != (flags >= 0 && !(flags & FD_CLOEXEC)))
			fail_msg("descriptor %d: %s", fd, fds[fd] ? "leaked" : "lost");
	}
	close(inherited);
	close(own);
}

static void same_group(void **state)
{
	const char *const argv[] = {"sh", "-c",
				    "ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 "
				    "/proc/$$/stat; pwd",
				    NULL};
	char text[PATH_MAX + 64], cwd[PATH_MAX];
	char *end;

	assert_int_equal(run(argv, &self, text, sizeof(text)), 0);
	assert_int_equal(strtol(text, &end, 10), getpgrp());
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_int_equal(*end, '\n');
	assert_int_equal(strncmp(end + 1, cwd, strlen(cwd)), 0);
}

static void as_the_invoker(void **state)
{
	const char *const argv[] = {"sh", "-c",
				    "id -u; id -g; id -G; echo $HOME $USER ${SUDO_UID-none}; "
				    "grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status",
				    NULL};
	gid_t groups[] = {65533, 65534};
	struct invoker inv = {65534, 65534, "nobody", "/nonexistent", "/bin/sh", groups, 2, true};
	char text[512];

	if (geteuid() != 0) {
		print_message("SKIP: running a command as another user needs root\n");
		skip();
	}
	setenv("SUDO_UID", "65534", 1);
	setenv("USER", "root", 1);
	setenv("HOME", "/root", 1);
	assert_int_equal(run(argv, &inv, text, sizeof(text)), 0);
	unsetenv("SUDO_UID");
	assert_string_equal(text, "65534\n65534\n65534 65533\n/nonexistent nobody none\n"
				  "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"
				  "CapEff:\t0000000000000000\nCapAmb:\t0000000000000000\n");
	/* Root may execute it, the user may not: the rights of the user decide. */
	{
		const char *const forbidden[] = {"/proc/1/exe", NULL};
		struct errtext err;
		struct command *c;
		int out;

		c = prepare(forbidden, &inv, &out);
		assert_int_equal(command_go(c, &err), -EACCES);
		assert_string_equal(err.text, "cannot run '/proc/1/exe' as user nobody: "
					      "Permission denied");
		assert_int_equal(ended_status(c), 126);
		close(out);
		command_free(c);
	}
}

/* The kernel says that the held process connected, and that it is its user's; what is executed has
 * no descriptor of the connection. */
static void meets(void **state)
{
	gid_t groups[] = {65534};
	struct invoker nobody = {65534, 65534, "nobody", "/", "/bin/sh", groups, 1, true};
	char *const argv[] = {"sh", "-c", "ls -l /proc/self/fd | grep -c socket: | grep -qx 0",
			      NULL};
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char dir[] = "/tmp/cachemon-test-XXXXXX", got[8];
	const bool root = !geteuid();
	struct command *c = NULL;
	struct errtext err;
	struct ucred cred;
	socklen_t len = sizeof(cred);
	int fd, from;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/socket", dir);
	if (command_prepare(argv, root ? &nobody : &self, NULL, a.sun_path, &c, &err))
		fail_msg("%s", err.text);
	assert_int_equal(command_meeting(c), -ENOENT);
	command_free(c);
	assert_int_equal(bind(listener, (const struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(chmod(a.sun_path, 0666), 0);
	assert_int_equal(listen(listener, 1), 0);
	if (command_prepare(argv, root ? &nobody : &self, NULL, a.sun_path, &c, &err))
		fail_msg("%s", err.text);
	fd = command_meeting(c);
	assert_true(fd >= 0);
	from = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_int_equal(getsockopt(from, SOL_SOCKET, SO_PEERCRED, &cred, &len), 0);
	assert_int_equal(cred.pid, command_pid(c));
	assert_int_equal(cred.uid, root ? 65534 : getuid());
	assert_int_equal(send(fd, "x", 1, 0), 1);
	assert_int_equal(recv(from, got, sizeof(got), 0), 1);
	assert_int_equal(command_go(c, &err), 0);
	assert_int_equal(ended_status(c), 0);
	assert_int_equal(recv(from, got, sizeof(got), MSG_DONTWAIT),
			 -1); /* it is open here alone */
	close(fd);
	assert_int_equal(recv(from, got, sizeof(got), 0), 0);
	close(from);
	close(listener);
	command_free(c);
	unlink(a.sun_path);
	rmdir(dir);
}

static void cannot_become(void **state)
{
	gid_t groups[] = {65534};
	struct invoker inv = {65534, 65534, "nobody", "/", "/bin/sh", groups, 1, true};
	char *const argv[] = {"true", NULL};
	struct command *c = NULL;
	struct errtext err;

	if (geteuid() == 0 && setresuid(-1, 1, -1)) {
		print_message("SKIP: cannot give up root for a while\n");
		skip();
	}
	assert_int_equal(command_prepare(argv, &inv, NULL, NULL, &c, &err), -EPERM);
	assert_null(c);
	assert_string_equal(err.text, "cannot become user nobody to run 'true': "
				      "Operation not permitted");
	/* No process is left. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	if (getuid() == 0)
		assert_int_equal(setresuid(-1, 0, -1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses),	   cmocka_unit_test(not_before_go),
		cmocka_unit_test(freed_before_go), cmocka_unit_test(killed_before_go),
		cmocka_unit_test(meets),	   cmocka_unit_test(watcher_killed),
		cmocka_unit_test(signals_reset),   cmocka_unit_test(descriptors),
		cmocka_unit_test(same_group),	   cmocka_unit_test(as_the_invoker),
		cmocka_unit_test(cannot_become),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
