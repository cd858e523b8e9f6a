/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: collector access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "resolve_world.h"

static uint32_t device_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return DEV(major(st.st_dev), minor(st.st_dev));
}

/* A process in its own mount namespace, with a tmpfs on dir; returns its pid. */
static pid_t start_contained(const char *dir, int *ret_end)
{
	int ready[2], end[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(end, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(end[1]);
		if (unshare(CLONE_NEWNS) || mount("none", dir, "tmpfs", 0, NULL) ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		if (read(end[0], &byte, 1))
			_exit(1);
		_exit(0);
	}
	close(ready[1]);
	close(end[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	*ret_end = end[1];
	return pid;
}

/* Real mounts, in a mount namespace that ends with the process. */
static int mounts_child(const struct scratch *s)
{
	char a[PATH_MAX], b[PATH_MAX], inner[PATH_MAX], path[2 * PATH_MAX];
	struct world w = {.s = *s};
	uint32_t dev;
	int end, status;
	pid_t pid;

	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 77;
	scratch_mkdir(s, "a/");
	scratch_mkdir(s, "b\nb/");
	scratch_mkdir(s, "inner/");
	scratch_path(s, "a", a);
	scratch_path(s, "b\nb", b);
	scratch_path(s, "inner", inner);
	assert_int_equal(resolver_new("/proc", "/sys", &w.r), 0);
	expect(&w, "/f", NAME_NO_MOUNT, DEV(4095, 1), (uint32_t)getpid(), ".../f");
	/* The kernel reports changes: no refresh in between. */
	assert_int_equal(mount("none", a, "tmpfs", 0, NULL), 0);
	dev = device_of(a);
	snprintf(path, sizeof(path), "%s/x/f", a);
	expect(&w, "/x/f", NAME_NO_MOUNT, dev, (uint32_t)getpid(), path);
	assert_int_equal(mount(a, b, NULL, MS_BIND, NULL), 0);
	assert_int_equal(umount2(a, MNT_DETACH), 0);
	snprintf(path, sizeof(path), "%s/x/f", b);
	expect(&w, "/x/f", NAME_NO_MOUNT, dev, (uint32_t)getpid(), path);
	/* Another namespace. */
	pid = start_contained(inner, &end);
	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, inner);
	dev = device_of(path);
	snprintf(path, sizeof(path), "%s/f", inner);
	expect(&w, "/f", NAME_NO_MOUNT, dev, (uint32_t)pid, path);
	/* The end of the process: the filesystem is not visible any more, and nothing here kept it
	 * mounted. */
	close(end);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	expect(&w, "/f", NAME_NO_MOUNT, dev, (uint32_t)pid, ".../f");
	resolver_free(w.r);
	return umount2(b, MNT_DETACH) ? 1 : 0;
}

/* In a chroot whose root is a directory on a mount of its own. */
static int below_a_chroot_child(const struct scratch *s)
{
	char jail[PATH_MAX], place[PATH_MAX], path[2 * PATH_MAX];
	struct world w = {.s = *s};

	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 77;
	scratch_mkdir(s, "m/");
	scratch_path(s, "m", place);
	assert_int_equal(mount("none", place, "tmpfs", 0, NULL), 0);
	scratch_mkdir(s, "m/jail/");
	scratch_mkdir(s, "m/jail/proc/");
	scratch_path(s, "m/jail", jail);
	scratch_path(s, "m/jail/proc", place);
	assert_int_equal(mount("none", place, "proc", 0, NULL), 0);
	assert_int_equal(chroot(jail), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(resolver_new("/proc", "/sys", &w.r), 0);
	snprintf(path, sizeof(path), "%s/data/f", jail);
	expect(&w, path, 0, DEV(8, 1), (uint32_t)getpid(), "/data/f");
	expect(&w, path, NAME_UNLINKED, DEV(8, 1), NOBODY, "/data/f");
	/* Outside of it: a neighbour, one whose name has the same beginning, and the host's. */
	snprintf(path, sizeof(path), "%s2/f", jail);
	expect(&w, path, 0, DEV(8, 1), (uint32_t)getpid(), path);
	expect(&w, "/data/f", 0, DEV(8, 1), (uint32_t)getpid(), "/data/f");
	resolver_free(w.r);
	return 0;
}

static void on_the_kernel(void **state)
{
	int (*run)(const struct scratch *) = *state;
	struct scratch s;
	int status;
	pid_t child;

	scratch_new(&s);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(unshare(CLONE_NEWNS) ? 77 : run(&s));
	assert_int_equal(waitpid(child, &status, 0), child);
	scratch_free(&s);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("SKIP: a mount namespace needs root\n");
		skip();
	}
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(on_the_kernel, mounts_child),
		cmocka_unit_test_prestate(on_the_kernel, below_a_chroot_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
