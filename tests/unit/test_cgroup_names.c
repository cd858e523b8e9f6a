/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: collector plan job account access */
/* A directory stands for a hierarchy: its inode numbers are used as ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cachemon/capture/cgroup_names.h"
#include "scratch.h"

static uint64_t id_of(const struct scratch *s, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	assert_int_equal(stat(scratch_path(s, name, path), &st), 0);
	return st.st_ino;
}

static void test_names(void **state)
{
	struct cgroup_names *n;
	struct scratch s;

	scratch_new(&s);
	scratch_mkdir(&s, "a/b b/c/");
	scratch_mkdir(&s, "d/");
	assert_int_equal(cgroup_names_new(s.dir, &n), 0);
	assert_string_equal(cgroup_names_get(n, id_of(&s, "a/b b/c")), "/a/b b/c");
	assert_string_equal(cgroup_names_get(n, id_of(&s, "d")), "/d");
	assert_string_equal(cgroup_names_get(n, id_of(&s, "")), "/");
	assert_null(cgroup_names_get(n, 1));
	/* Created later: found in the next interval. */
	scratch_mkdir(&s, "d/later/");
	assert_null(cgroup_names_get(n, id_of(&s, "d/later")));
	cgroup_names_again(n);
	assert_string_equal(cgroup_names_get(n, id_of(&s, "d/later")), "/d/later");
	cgroup_names_free(n);
	scratch_free(&s);
}

static void test_no_hierarchy(void **state)
{
	struct cgroup_names *n;

	assert_int_equal(cgroup_names_of_memory("/nowhere", &n), 0);
	assert_null(cgroup_names_get(n, 1));
	cgroup_names_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_no_hierarchy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
