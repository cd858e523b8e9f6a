/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: collector plan account job access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cachemon/capture/name_table.h"

static struct file_key key_of(uint64_t ino)
{
	return (struct file_key){.ino = ino, .dev = 8 << 20 | 1, .gen = 7};
}

static void put(struct name_table *t, uint64_t ino, const char *path)
{
	struct file_key key = key_of(ino);

	assert_int_equal(name_table_put(t, &key, path ? strdup(path) : NULL, "ext4", false), 0);
}

static void a_later_name_replaces(void **state)
{
	struct name_table *t;
	struct file_key key = key_of(1), other = key_of(2);

	assert_int_equal(name_table_new(&t), 0);
	put(t, 1, "/a");
	put(t, 1, "/b");
	assert_int_equal(name_table_nr(t), 1);
	assert_string_equal(name_table_get(t, &key)->path, "/b");
	assert_string_equal(name_table_get(t, &key)->fstype, "ext4");
	assert_null(name_table_get(t, &other));
	/* The same inode number on another device, or reused, is another file. */
	key.gen = 8;
	assert_null(name_table_get(t, &key));
	name_table_free(t);
}

static void many_names_are_all_found(void **state)
{
	struct name_table *t;
	char path[32];

	assert_int_equal(name_table_new(&t), 0);
	for (uint64_t i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "/f%llu", (unsigned long long)i);
		put(t, i << 40 | i, path);
	}
	assert_int_equal(name_table_nr(t), 5000);
	for (uint64_t i = 0; i < 5000; i++) {
		struct file_key key = key_of(i << 40 | i);

		snprintf(path, sizeof(path), "/f%llu", (unsigned long long)i);
		assert_string_equal(name_table_get(t, &key)->path, path);
	}
	name_table_free(t);
}

static void clear_forgets(void **state)
{
	struct name_table *t;
	struct file_key key = key_of(1);

	assert_int_equal(name_table_new(&t), 0);
	put(t, 1, NULL);
	assert_non_null(name_table_get(t, &key));
	assert_null(name_table_get(t, &key)->path);
	name_table_clear(t);
	assert_null(name_table_get(t, &key));
	assert_int_equal(name_table_nr(t), 0);
	name_table_free(t);
	name_table_free(NULL);
}

/* A name may arrive with an earlier sample than the counts of its file. */
static void what_nobody_took_waits_for_one_more_sample(void **state)
{
	struct file_key taken = key_of(1), early = key_of(2), renamed = key_of(3);
	struct name_table *t;

	assert_int_equal(name_table_new(&t), 0);
	put(t, 1, "/taken");
	put(t, 2, "/early");
	put(t, 3, "/old");
	name_table_get(t, &taken)->taken = true;
	name_table_expire(t);
	assert_null(name_table_get(t, &taken));
	assert_string_equal(name_table_get(t, &early)->path, "/early");
	assert_int_equal(name_table_nr(t), 2);
	/* A new look restarts the wait. */
	put(t, 3, "/new");
	name_table_expire(t);
	assert_null(name_table_get(t, &early));
	assert_string_equal(name_table_get(t, &renamed)->path, "/new");
	name_table_expire(t);
	assert_int_equal(name_table_nr(t), 0);
	name_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_later_name_replaces),
		cmocka_unit_test(many_names_are_all_found),
		cmocka_unit_test(what_nobody_took_waits_for_one_more_sample),
		cmocka_unit_test(clear_forgets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
