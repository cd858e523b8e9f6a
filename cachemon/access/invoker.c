/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/access/invoker.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/parse.h"
#include "cachemon/access/privileges.h"
#include "cachemon/base/process.h"

static int parse_id(const char *s, uint32_t *ret_id)
{
	uint64_t value = 0;
	int err = parse_u64(s, &value);

	if (err)
		return err;
	/* (uid_t)-1 means "leave as it is" to setresuid(). */
	if (value >= UINT32_MAX)
		return -ERANGE;
	*ret_id = (uint32_t)value;
	return 0;
}

static int copy_text(const char *s, char **ret)
{
	char *copy = NULL;

	if (s && *s) {
		copy = strdup(s);
		if (!copy)
			return -ENOMEM;
	}
	*ret = copy;
	return 0;
}

/* Several names may share a uid, with different groups: the name in SUDO_USER comes first. */
static const struct passwd *account_of(uid_t uid, const char *name_hint)
{
	const struct passwd *pw = name_hint ? getpwnam(name_hint) : NULL;

	return pw && pw->pw_uid == uid ? pw : getpwuid(uid);
}

int invoker_own_groups(gid_t **ret_groups, size_t *ret_nr)
{
	int nr = getgroups(0, NULL);
	gid_t *groups;

	if (nr < 0)
		return -errno;
	groups = calloc((size_t)nr + 1, sizeof(gid_t));
	if (!groups)
		return -ENOMEM;
	nr = getgroups(nr, groups);
	if (nr < 0) {
		int err = -errno;

		free(groups);
		return err;
	}
	*ret_groups = groups;
	*ret_nr = (size_t)nr;
	return 0;
}

static int account_groups(struct invoker *inv)
{
	int nr = 64;

	for (;;) {
		gid_t *groups = reallocarray(inv->groups, (size_t)nr, sizeof(gid_t));
		int had = nr;

		if (!groups)
			return -ENOMEM;
		inv->groups = groups;
		if (!inv->name) {
			groups[0] = inv->gid;
			inv->nr_groups = 1;
			return 0;
		}
		if (getgrouplist(inv->name, inv->gid, groups, &nr) >= 0) {
			inv->nr_groups = (size_t)nr;
			return 0;
		}
		if (nr <= had)
			nr = had * 2;
	}
}

static int identify_invoker(const struct invoker_facts *facts, struct invoker *inv, bool *ret_sudo,
			    struct errtext *err)
{
	bool sudo = facts->ruid == 0 && facts->euid == 0 && facts->sudo_uid;
	const struct passwd *pw;
	uint32_t id = 0;
	int e;

	inv->uid = facts->ruid;
	inv->gid = facts->rgid;
	if (sudo) {
		e = parse_id(facts->sudo_uid, &id);
		if (e)
			return errtext_set(err, e, "SUDO_UID '%s' is not a user id; unset it",
					   facts->sudo_uid);
		inv->uid = id;
	}
	pw = account_of(inv->uid, sudo ? facts->sudo_user : NULL);
	if (sudo && facts->sudo_gid) {
		e = parse_id(facts->sudo_gid, &id);
		if (e)
			return errtext_set(err, e, "SUDO_GID '%s' is not a group id; unset it",
					   facts->sudo_gid);
		inv->gid = id;
	} else if (sudo) {
		if (!pw)
			return errtext_set(err, -EINVAL,
					   "SUDO_UID is set without SUDO_GID, and user %u has no "
					   "account: set both or none",
					   inv->uid);
		inv->gid = pw->pw_gid;
	}
	inv->switched = facts->euid != inv->uid;
	*ret_sudo = sudo;
	e = copy_text(pw ? pw->pw_name : NULL, &inv->name);
	if (!e)
		e = copy_text(pw ? pw->pw_shell : NULL, &inv->shell);
	/* Under sudo $HOME may be root's. */
	if (!e && !(sudo && inv->switched) && facts->home && facts->home[0] == '/')
		e = copy_text(facts->home, &inv->home);
	else if (!e && pw && pw->pw_dir && pw->pw_dir[0] == '/')
		e = copy_text(pw->pw_dir, &inv->home);
	return e;
}

int invoker_from_facts(const struct invoker_facts *facts, struct invoker *ret, struct errtext *err)
{
	struct invoker inv = {0};
	bool sudo = false;
	int e = identify_invoker(facts, &inv, &sudo, err);

	if (!e)
		e = sudo && inv.switched ? account_groups(&inv)
					 : invoker_own_groups(&inv.groups, &inv.nr_groups);
	if (e) {
		invoker_free(&inv);
		return e;
	}
	*ret = inv;
	return 0;
}

int invoker_current(struct invoker *ret, struct errtext *err)
{
	struct invoker_facts facts = {
		.ruid = getuid(),
		.euid = geteuid(),
		.rgid = getgid(),
		.sudo_uid = getenv("SUDO_UID"),
		.sudo_gid = getenv("SUDO_GID"),
		.sudo_user = getenv("SUDO_USER"),
		.home = getenv("HOME"),
	};

	return invoker_from_facts(&facts, ret, err);
}

void invoker_free(struct invoker *inv)
{
	if (!inv)
		return;
	free(inv->name);
	free(inv->home);
	free(inv->shell);
	free(inv->groups);
	memset(inv, 0, sizeof(*inv));
}

/*
 * The capabilities for measuring. If a user has them, they were given for cachemon (a unit's
 * AmbientCapabilities=, setpriv), and no command that cachemon starts gets them. Other capabilities
 * are the user's own.
 */
#define GIVEN                                                                                      \
	(PRIVILEGE(CAP_BPF) | PRIVILEGE(CAP_PERFMON) | PRIVILEGE(CAP_SYS_ADMIN) |                  \
	 PRIVILEGE(CAP_SYS_PTRACE) | PRIVILEGE(CAP_SYSLOG) | PRIVILEGE(CAP_SYS_RESOURCE) |         \
	 PRIVILEGE(CAP_DAC_READ_SEARCH))

int invoker_drop_permanently(const struct invoker *inv)
{
	uid_t r, e, s;

	if (!inv->switched)
		return inv->uid ? privileges_not_inherited(GIVEN) : 0;
	if (setgroups(inv->nr_groups, inv->groups) || setresgid(inv->gid, inv->gid, inv->gid) ||
	    setresuid(inv->uid, inv->uid, inv->uid))
		return -errno;
	if (inv->uid != 0) {
		/* Leaving uid 0 clears the capabilities only under the default securebits. */
		int err = privileges_keep(0);

		if (err)
			return err;
	}
	if (getresuid(&r, &e, &s) || r != inv->uid || e != inv->uid || s != inv->uid)
		return -EPERM;
	/* Verifies that the old identity cannot be regained. */
	if (inv->uid != 0 && setresuid(0, 0, 0) == 0)
		return -EPERM;
	return 0;
}

int invoker_of_owner(uid_t uid, gid_t gid, struct invoker *ret)
{
	struct invoker inv = {.uid = uid, .gid = gid, .switched = geteuid() != uid};
	const struct passwd *pw = getpwuid(uid);
	int err = copy_text(pw ? pw->pw_name : NULL, &inv.name);

	if (!err && pw)
		inv.gid = pw->pw_gid;
	if (!err)
		err = account_groups(&inv);
	if (err) {
		invoker_free(&inv);
		return err;
	}
	*ret = inv;
	return 0;
}

void invoker_user_name(uid_t uid, char *ret_text, size_t size)
{
	const struct passwd *pw = getpwuid(uid);

	if (pw)
		snprintf(ret_text, size, "%s", pw->pw_name);
	else
		snprintf(ret_text, size, "uid %u", uid);
}

/* Gives the process the rights of the invoker and no others. */
static int give_up_rights(const struct invoker *inv, struct errtext *err)
{
	int r = invoker_drop_permanently(inv);

	/* A program file may give capabilities to every user; root keeps its own. */
	if (!r && inv->uid)
		r = privileges_keep(0);
	if (r)
		return errtext_set(err, r, "cannot give up privileges: %s", strerror(-r));
	return 0;
}

void invoker_as_whom(int error, char *ret_text, size_t size)
{
	const char *sudo_uid = getenv("SUDO_UID");
	uid_t uid = geteuid();
	const struct passwd *pw = getpwuid(uid);
	uint32_t caller = 0;
	char name[64];

	*ret_text = '\0';
	if (error != -EACCES && error != -EPERM)
		return;
	if (pw)
		snprintf(name, sizeof(name), "user %s", pw->pw_name);
	else
		snprintf(name, sizeof(name), "user %u", uid);
	if (!uid)
		snprintf(ret_text, size, " (as root)");
	else if (sudo_uid && !parse_id(sudo_uid, &caller) && caller == uid)
		snprintf(ret_text, size,
			 " (as %s, who called sudo; for root's own files: sudo env -u SUDO_UID "
			 "cachemon ...)",
			 name);
	else
		snprintf(ret_text, size, " (as %s)", name);
}

int invoker_become(struct errtext *err)
{
	struct invoker inv;
	int r = invoker_current(&inv, err);

	if (r)
		return r;
	r = give_up_rights(&inv, err);
	/* Under sudo $HOME may be root's. */
	if (!r && inv.switched && (inv.home ? setenv("HOME", inv.home, 1) : unsetenv("HOME")))
		r = errtext_set(err, -errno, "cannot set HOME: %s", strerror(errno));
	invoker_free(&inv);
	return r;
}

static void __attribute__((noreturn))
run_as_invoker(const struct invoker *inv, int (*run)(void *arg, struct errtext *err), void *arg,
	       int out, pid_t parent)
{
	struct errtext err = {""};
	int r = give_up_rights(inv, &err);

	/* Comes after the change of users, which undoes both. */
	if (!r && process_untraceable())
		r = errtext_set(&err, -errno,
				"cannot keep other processes from tracing this one: %s",
				strerror(errno));
	if (!r && prctl(PR_SET_PDEATHSIG, SIGKILL))
		r = errtext_set(&err, -errno, "cannot tie the helper process to its parent: %s",
				strerror(errno));
	if (!r && getppid() == parent)
		r = run(arg, &err);
	fflush(NULL);
	if (r && write(out, &err, sizeof(err)) != (ssize_t)sizeof(err))
		_exit(EXIT_FAILURE);
	_exit(r ? EXIT_FAILURE : EXIT_SUCCESS);
}

static int how_it_ended(pid_t pid, int from, struct errtext *err)
{
	struct errtext said = {""};
	ssize_t n = read(from, &said, sizeof(said));
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	if (WIFSIGNALED(status))
		return errtext_set(err, -EIO, "cachemon's helper process was killed by signal %d",
				   WTERMSIG(status));
	if (n != (ssize_t)sizeof(said))
		return errtext_set(err, -EIO, "cachemon's helper process ended early");
	said.text[sizeof(said.text) - 1] = '\0';
	*err = said;
	return -EIO;
}

int invoker_run(const struct invoker *inv, int (*run)(void *arg, struct errtext *err), void *arg,
		struct errtext *err)
{
	pid_t parent = getpid(), pid;
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC))
		return errtext_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	/* Otherwise the child would write buffered output again. */
	fflush(NULL);
	pid = fork();
	r = pid < 0 ? errtext_set(err, -errno, "cannot start a process: %s", strerror(errno)) : 0;
	if (!pid) {
		close(ends[0]);
		run_as_invoker(inv, run, arg, ends[1], parent);
	}
	close(ends[1]);
	if (!r)
		r = how_it_ended(pid, ends[0], err);
	close(ends[0]);
	return r;
}
