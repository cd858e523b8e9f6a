/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/job/command.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "cachemon/job/command_exec.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/pass_fd.h"
#include "cachemon/base/process.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

struct command {
	pid_t pid;
	int pidfd;
	int socket;  /* to the waiting child; -1 after the go-ahead */
	int meeting; /* as command_meeting() */
	int status;  /* -1: not reaped */
	char *name;
	char *user; /* NULL: same user as cachemon */
};

/* Messages of the child. Silence (end of file) after the go-ahead means that CMD runs. */
enum stage { STAGE_IDENTITY, STAGE_READY, STAGE_EXEC };
struct message {
	int stage;
	int err;
	int meeting; /* ready: 0 and a descriptor, or -errno */
};

enum { MEETING_S = 10 };

static int receive_message(int fd, void *data, size_t len)
{
	ssize_t n;

	do {
		n = recv(fd, data, len, 0);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (int)n;
}

static int send_message(int fd, const void *data, size_t len)
{
	ssize_t n;

	do {
		n = send(fd, data, len, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* ---- the child ---- */

static void child_reset_signals(void)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL}, now;
	sigset_t none;

	for (int signo = 1; signo < NSIG; signo++) {
		/* The caller ignored it (nohup, a shell's background job), so it stays ignored.
		 * Other ignored signals may come from cachemon itself. */
		if ((signo == SIGHUP || signo == SIGINT || signo == SIGQUIT || signo == SIGXFSZ) &&
		    sigaction(signo, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
			continue;
		/* Fails for KILL, STOP and signals of the C library, which need no reset. */
		sigaction(signo, &dfl, NULL);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int meet_at(const char *path)
{
	const struct timeval wait = {.tv_sec = MEETING_S};
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	strcpy(a.sun_path, path);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) ||
	    connect(fd, (const struct sockaddr *)&a, sizeof(a)))
		return -errno;
	return TAKE_FD(fd);
}

/* It waits now, as the invoker. */
static int send_ready(int fd, const char *meet)
{
	_cleanup_close_ int meeting = meet ? meet_at(meet) : -ENOENT;
	const struct message m = {.stage = STAGE_READY, .meeting = meeting < 0 ? meeting : 0};

	return pass_fd_send(fd, &m, sizeof(m), meeting < 0 ? -1 : meeting, MSG_NOSIGNAL);
}

static void __attribute__((noreturn)) child_run(int fd, char *const argv[], char *const env[],
						const struct invoker *inv, const char *meet)
{
	struct message m = {.stage = STAGE_IDENTITY};
	char go;

	child_reset_signals();
	m.err = invoker_drop_permanently(inv);
	if (m.err) {
		send_message(fd, &m, sizeof(m));
		_exit(COMMAND_FAILED);
	}
	send_ready(fd, meet);
	/* End of file: cachemon has ended or given up, so CMD must not run unwatched. */
	if (receive_message(fd, &go, 1) != 1)
		_exit(COMMAND_FAILED);
	m.err = command_exec(argv, env);
	m.stage = STAGE_EXEC;
	send_message(fd, &m, sizeof(m));
	_exit(m.err == -ENOENT ? COMMAND_NOT_FOUND : COMMAND_NOT_EXECUTABLE);
}

/* ---- the parent ---- */

static int make_environment(const struct invoker *inv, const char *variable, char ***ret_env)
{
	const struct passwd *root = getpwuid(0);

	return command_exec_env(process_environment(), inv, root ? root->pw_dir : NULL,
				root ? root->pw_shell : NULL, variable, ret_env);
}

static int keep_child_status(void)
{
	struct sigaction now, dfl = {.sa_handler = SIG_DFL};

	if (sigaction(SIGCHLD, NULL, &now))
		return -errno;
	if (now.sa_handler == SIG_IGN && sigaction(SIGCHLD, &dfl, NULL))
		return -errno;
	return 0;
}

static int fork_child(struct command *c, char *const argv[], const struct invoker *inv,
		      const char *variable, const char *meet)
{
	int sockets[2], err;
	char **env = NULL;
	sigset_t all, saved;

	err = make_environment(inv, variable, &env);
	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
		err = -errno;
		goto out;
	}
	/* cachemon's handlers must not run in the child, because they write to shared
	 * descriptors. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &saved);
	c->pid = fork();
	if (c->pid == 0) {
		close(sockets[0]);
		child_run(sockets[1], argv, env, inv, meet);
	}
	err = c->pid < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &saved, NULL);
	close(sockets[1]);
	c->socket = sockets[0];
out:
	command_exec_env_free(env);
	return err;
}

/* Blocks; for a child that is about to end. */
static int reap_child(struct command *c, int flags)
{
	siginfo_t info = {0};
	int n;

	if (c->status >= 0)
		return 0;
	do {
		n = c->pidfd >= 0 ? waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED | flags)
				  : waitid(P_PID, (id_t)c->pid, &info, WEXITED | flags);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (info.si_pid == 0)
		return -EAGAIN;
	c->status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
	return 0;
}

static int wait_ready(struct command *c, struct errtext *err)
{
	struct message m = {.err = 0};
	int fd = -1, n;

	do {
		n = (int)pass_fd_receive(c->socket, &m, sizeof(m), 0, &fd);
	} while (n == -EINTR);
	c->meeting = fd >= 0 ? fd : m.meeting;
	if (n < 0)
		return errtext_set(err, n, "cannot read from the process that starts '%s': %s",
				   c->name, strerror(-n));
	if (n != sizeof(m))
		return errtext_set(err, -ECANCELED, "a signal killed '%s' before it started",
				   c->name);
	if (m.stage != STAGE_READY)
		return errtext_set(err, m.err, "cannot become user %s to run '%s': %s",
				   c->user ? c->user : "?", c->name, strerror(-m.err));
	return 0;
}

static int name_user(const struct invoker *inv, char **ret_user)
{
	char number[16], *user;

	snprintf(number, sizeof(number), "%u", inv->uid);
	user = strdup(inv->name ? inv->name : number);
	if (!user)
		return -ENOMEM;
	*ret_user = user;
	return 0;
}

int command_prepare(char *const argv[], const struct invoker *inv, const char *variable,
		    const char *meet, struct command **ret, struct errtext *err)
{
	struct command *c = calloc(1, sizeof(*c));
	int e = -ENOMEM;

	if (!c)
		return e;
	c->pidfd = c->socket = c->status = c->meeting = -1;
	c->name = strdup(argv[0]);
	if (!c->name)
		goto out;
	if (inv->switched && name_user(inv, &c->user))
		goto out;
	e = keep_child_status();
	if (!e)
		e = fork_child(c, argv, inv, variable, meet);
	if (!e) {
		c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
		e = c->pidfd < 0 ? -errno : 0;
	}
	if (e)
		errtext_set(err, e, "cannot start a process for '%s': %s", c->name, strerror(-e));
	else
		e = wait_ready(c, err);
out:
	if (e)
		command_free(c);
	else
		*ret = c;
	return e;
}

static int explain_exec(const struct command *c, int e, struct errtext *err)
{
	bool is_path = strchr(c->name, '/');
	const char *as = c->user ? " as user " : "", *user = c->user ? c->user : "";

	if (e != -ENOENT)
		return errtext_set(err, e, "cannot run '%s'%s%s: %s", c->name, as, user,
				   strerror(-e));
	if (!is_path)
		return errtext_set(err, e, "cannot run '%s'%s%s: no such command in PATH", c->name,
				   as, user);
	if (access(c->name, F_OK) == 0)
		return errtext_set(err, e, "cannot run '%s': its interpreter does not exist",
				   c->name);
	return errtext_set(err, e, "cannot run '%s'%s%s: no such file", c->name, as, user);
}

int command_go(struct command *c, struct errtext *err)
{
	struct message m = {.err = 0};
	_cleanup_close_ int fd = TAKE_FD(c->socket);
	int n, e;

	if (fd < 0)
		return errtext_set(err, -EALREADY, "'%s' was already started", c->name);
	n = send_message(fd, "", 1);
	if (n == 0)
		n = receive_message(fd, &m, sizeof(m));
	/* End of file: the exec closed the socket. */
	if (n == 0)
		return 0;
	/* A message, or the go-ahead was not read (EPIPE, ECONNRESET): the child has ended or is
	 * about to. */
	e = reap_child(c, 0);
	if (e)
		return errtext_set(err, e, "cannot get the exit status of '%s': %s", c->name,
				   strerror(-e));
	if (n == sizeof(m))
		return explain_exec(c, m.err, err);
	return errtext_set(err, -ECANCELED, "signal %d killed '%s' before it started",
			   c->status - 128, c->name);
}

int command_meeting(struct command *c)
{
	int fd = c->meeting;

	c->meeting = -1;
	return fd;
}

pid_t command_pid(const struct command *c)
{
	return c->pid;
}

int command_pidfd(const struct command *c)
{
	return c->pidfd;
}

int command_signal(const struct command *c, int signo)
{
	if (c->status >= 0)
		return -ESRCH;
	return syscall(SYS_pidfd_send_signal, c->pidfd, signo, NULL, 0) ? -errno : 0;
}

int command_reap(struct command *c, int *ret_status)
{
	int err = reap_child(c, WNOHANG);

	if (!err)
		*ret_status = c->status;
	return err;
}

void command_free(struct command *c)
{
	if (!c)
		return;
	if (c->pid > 0 && c->socket >= 0 && c->status < 0) {
		/* The child is still waiting: ends it even if it is stopped. */
		kill(c->pid, SIGKILL);
		reap_child(c, 0);
	}
	if (c->socket >= 0)
		close(c->socket);
	if (c->pidfd >= 0)
		close(c->pidfd);
	if (c->meeting >= 0)
		close(c->meeting);
	free(c->name);
	free(c->user);
	free(c);
}

enum signal_action command_signal_action(const struct signal_seen *seen, struct signal_state *state)
{
	/* SI_USER, SI_QUEUE, SI_TKILL are <= 0: sent by a process. */
	bool from_kernel = seen->code > 0;

	if (seen->signo != SIGINT && seen->signo != SIGTERM && seen->signo != SIGHUP &&
	    seen->signo != SIGQUIT)
		return SIGNAL_NOTE;
	if (state->cmd == 0)
		return state->stops++ == 0 ? SIGNAL_FINISH : SIGNAL_ABANDON;
	if (from_kernel && seen->signo == SIGINT)
		return state->stops++ == 0 ? SIGNAL_NOTE : SIGNAL_ABANDON;
	/* "kill 0" in CMD also reaches cachemon: forwarding it would deliver it twice. */
	if (from_kernel || seen->sender == state->cmd)
		return SIGNAL_NOTE;
	return SIGNAL_FORWARD;
}
