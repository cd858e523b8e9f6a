/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: daemon */
/* The settings of a node: defaults, values, errors, and their document and example. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"
#include "cachemon/daemon/node_config.h"
#include "cachemon/job/job_find.h"
#include "scratch.h"

#define SECOND UINT64_C(1000000000)
#define DAY    (86400 * SECOND)

static void good(const char *text, struct node_config *ret)
{
	struct errtext err;

	if (node_config_parse("node.yaml", text, strlen(text), ret, &err))
		fail_msg("%s", err.text);
}

static void bad(const char *text, const char *expect)
{
	struct node_config c;
	struct errtext err = {""};

	assert_int_equal(node_config_parse("node.yaml", text, strlen(text), &c, &err), -EINVAL);
	if (strcmp(err.text, expect) != 0)
		fail_msg("\n%s\nis not\n%s", err.text, expect);
	node_config_free(&c);
}

static void check_defaults(const struct node_config *c)
{
	assert_string_equal(c->database, "/var/lib/cachemon/node.db");
	assert_int_equal(c->interval_ns, 10 * SECOND);
	assert_true(c->budget_percent == 1);
	assert_int_equal(c->jobs.kinds,
			 1 << FIND_SLURM | 1 << FIND_CONTAINER | 1 << FIND_POD | 1 << FIND_VM);
	assert_int_equal(c->jobs.include.nr, 1);
	assert_string_equal(c->jobs.include.of[0], "*");
	assert_int_equal(c->jobs.exclude.nr, 0);
	assert_int_equal(c->retention.age_ns, 30 * DAY);
	assert_int_equal(c->retention.size_bytes, 2ULL << 30);
	assert_int_equal(c->retention.minutes_ns, 900 * SECOND);
	assert_int_equal(c->retention.quarters_ns, DAY);
	assert_null(c->metrics.textfile_directory);
	assert_int_equal(c->metrics.listen.ss_family, 0);
	assert_null(c->metrics.web_config);
	assert_string_equal(c->socket.path, "/run/cachemon/socket");
	assert_null(c->socket.admin_group);
}

static void test_defaults(void **state)
{
	static const char *const texts[] = {"", "# nothing\n", "---\n", "{}", "jobs: {}\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct node_config c;

		good(texts[i], &c);
		check_defaults(&c);
		node_config_free(&c);
	}
}

static void test_values(void **state)
{
	struct node_config c;
	const struct sockaddr_in *v4 = (struct sockaddr_in *)&c.metrics.listen;
	const struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&c.metrics.listen;

	good("database: \"/data/a b.db\"\ninterval: 1m\nbudget: 0.5\n"
	     "jobs:\n  kinds: [unit]\n  include: [\"unit:a*\", 'unit:b?']\n  exclude:\n"
	     "    - unit:ab\n"
	     "retention: {age: none, size: 500M}\nrollup: {minutes: 2h, quarters: 2h}\n"
	     "metrics:\n  textfile_directory: /m\n  listen: 127.0.0.1:9752\n  web_config: /w\n"
	     "socket:\n  admin_group: adm\n",
	     &c);
	assert_string_equal(c.database, "/data/a b.db");
	assert_int_equal(c.interval_ns, 60 * SECOND);
	assert_true(c.budget_percent == 0.5);
	assert_int_equal(c.jobs.kinds, 1 << FIND_UNIT);
	assert_int_equal(c.jobs.include.nr, 2);
	assert_int_equal(c.jobs.exclude.nr, 1);
	assert_int_equal(c.retention.age_ns, 0);
	assert_int_equal(c.retention.size_bytes, 500 << 20);
	assert_int_equal(c.retention.minutes_ns, 7200 * SECOND);
	assert_string_equal(c.metrics.textfile_directory, "/m");
	assert_string_equal(c.metrics.web_config, "/w");
	assert_int_equal(v4->sin_family, AF_INET);
	assert_int_equal(ntohs(v4->sin_port), 9752);
	assert_int_equal(ntohl(v4->sin_addr.s_addr), 0x7f000001);
	assert_string_equal(c.socket.path, "/run/cachemon/socket");
	assert_string_equal(c.socket.admin_group, "adm");
	node_config_free(&c);
	good("metrics: {listen: \"[::1]:1\"}", &c);
	assert_int_equal(v6->sin6_family, AF_INET6);
	assert_int_equal(ntohs(v6->sin6_port), 1);
	assert_memory_equal(&v6->sin6_addr, &in6addr_loopback, sizeof(in6addr_loopback));
	node_config_free(&c);
}

static void test_selection(void **state)
{
	struct node_config c;

	good("jobs:\n  kinds: [slurm, unit]\n  include: [\"slurm:*\", \"unit:web*.service\"]\n"
	     "  exclude: [\"*:666\", \"unit:web-test.service\"]\n",
	     &c);
	assert_true(node_config_selects(&c, "slurm", "14"));
	assert_false(node_config_selects(&c, "slurm", "666"));
	assert_true(node_config_selects(&c, "unit", "web1.service"));
	assert_false(node_config_selects(&c, "unit", "web-test.service"));
	assert_false(node_config_selects(&c, "unit", "ssh.service"));
	assert_false(node_config_selects(&c, "pod", "a/b"));
	assert_false(node_config_selects(&c, "cgroup", "slurm:1"));
	node_config_free(&c);
}

/* Only what cannot change while the daemon runs. */
static void test_fixed(void **state)
{
	static const char others[] =
		"budget: 2%\njobs: {kinds: [unit], include: [\"unit:a\"], exclude: [\"unit:b\"]}\n"
		"retention: {age: 1d, size: 1G}\nrollup: {minutes: 1m, quarters: 2m}\n"
		"socket: {admin_group: adm}\n";
	struct node_config started, now;

	good("", &started);
	good(others, &now);
	assert_string_equal(node_config_fixed(&started, &now).names, "");
	node_config_free(&now);
	good("interval: 11s\n", &now);
	assert_string_equal(node_config_fixed(&started, &now).names, "interval");
	node_config_free(&now);
	good("database: /a\ninterval: 11s\nsocket: {path: /b}\nmetrics: {textfile_directory: /c, "
	     "listen: \"[::1]:1\", web_config: /d}\n",
	     &now);
	assert_string_equal(node_config_fixed(&started, &now).names,
			    "database, interval, socket.path, metrics.textfile_directory, "
			    "metrics.listen, metrics.web_config");
	assert_string_equal(node_config_fixed(&now, &now).names, "");
	node_config_free(&now);
	node_config_free(&started);
}

static void test_unknown_keys(void **state)
{
	bad("database: /a\nintervall: 5s\n",
	    "node.yaml:2: unknown key 'intervall'; did you mean 'interval'?");
	bad("retention:\n  ages: 1d\n",
	    "node.yaml:2: unknown key 'retention.ages'; did you mean 'retention.age'?");
	bad("jobs:\n\n  interval: 5s\n",
	    "node.yaml:3: unknown key 'jobs.interval'; docs/node.md has a list of all keys");
	bad("retention.age: 1d\nretention: {age: 1d}\n", "node.yaml:2: this key was given before");
	bad("colour: blue\n", "node.yaml:1: unknown key 'colour'; docs/node.md has a list of all "
			      "keys");
	bad("interval: 5s\nbudget: 1%\ninterval: 6s\n", "node.yaml:3: this key was given before");
	bad("jobs:\n  kinds: [slurm, contaner]\n",
	    "node.yaml:2: jobs.kinds: unknown kind 'contaner'; did you mean 'container'?");
	bad("jobs:\n  kinds: [cgroup]\n", "node.yaml:2: jobs.kinds: unknown kind 'cgroup'; there "
					  "are slurm, unit, container, pod and vm");
}

static void test_wrong_values(void **state)
{
#define INTERVAL " expected time from 1s to 1h: 10s, 1m"
	bad("\n\ninterval: soon\n", "node.yaml:3: interval: invalid value 'soon';" INTERVAL);
	bad("interval: 500ms\n", "node.yaml:1: interval: too small '500ms';" INTERVAL);
	bad("interval: 2h\n", "node.yaml:1: interval: too large '2h';" INTERVAL);
	bad("interval: none\n", "node.yaml:1: interval: invalid value 'none';" INTERVAL);
	bad("budget: 0\n", "node.yaml:1: budget: invalid value '0'; expected percentage: 0.5%, 1%");
	bad("database: node.db\n",
	    "node.yaml:1: database: not an absolute path: 'node.db'; expected absolute path");
	bad("database:\n",
	    "node.yaml:1: database: not an absolute path: ''; expected absolute path");
#define SIZE " expected bytes, at least 16M: 500M, 2G, 1T, or none"
	bad("retention: {size: 1G0}\n", "node.yaml:1: retention.size: invalid value '1G0';" SIZE);
	bad("retention: {size: 10M}\n", "node.yaml:1: retention.size: too small '10M';" SIZE);
	bad("retention: {size: 99999999T}\n",
	    "node.yaml:1: retention.size: too large '99999999T';" SIZE);
	bad("retention: {age: 99999999999999999d}\n",
	    "node.yaml:1: retention.age: too large '99999999999999999d'; expected time of at "
	    "least 1m: 30d, 12h, 15m, or none");
	bad("rollup: {minutes: 2d}\n",
	    "node.yaml: rollup.quarters must not be less than rollup.minutes");
	bad("socket: {admin_group: ''}\n",
	    "node.yaml:1: socket.admin_group: invalid name ''; expected name, or none");
	bad("jobs: {include: ['']}\n", "node.yaml:1: jobs.include: a pattern has 1 to 256 bytes: "
				       "''; expected list of patterns KIND:NAME");
}

static void test_addresses(void **state)
{
	static const char *const wrong[] = {"127.0.0.1",    "127.0.0.1:0",   "127.0.0.1:65536",
					    "localhost:80", "::1:80",	     "[::1]",
					    "[]:80",	    "[127.0.0.1]:8", ":80",
					    "1.2.3.4:80x",  "[::1:80",	     "1.2.3:80"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char text[128], expect[256];

		snprintf(text, sizeof(text), "metrics: {listen: '%s'}", wrong[i]);
		snprintf(expect, sizeof(expect),
			 "node.yaml:1: metrics.listen: invalid address '%s'; expected "
			 "ADDRESS:PORT, or "
			 "none",
			 wrong[i]);
		bad(text, expect);
	}
}

static void test_wrong_shapes(void **state)
{
	bad("- a\n", "node.yaml:1: expected lines KEY: VALUE");
	bad("hello\n", "node.yaml:1: expected lines KEY: VALUE");
	bad("database: [/a]\n", "node.yaml:1: expected one value");
	bad("database: {a: b}\n", "node.yaml:1: expected one value");
	bad("jobs:\n  kinds: slurm\n", "node.yaml:2: expected a list: [one, two]");
	bad("jobs:\n  kinds: [[slurm]]\n", "node.yaml:2: a list has names only");
	bad("jobs: slurm\n", "node.yaml:1: this is a section: its keys follow, indented");
	bad("jobs:\n", "node.yaml:1: this is a section: its keys follow, indented");
	bad("? [a]\n: b\n", "node.yaml:1: a key is a word");
	bad("database: &a /a\nsocket: {path: *a}\n",
	    "node.yaml:2: aliases (*name) are not supported: repeat the value");
	bad("database: \"/a\\0b\"\n", "node.yaml:1: a value contains the byte 0");
	bad("---\n{}\n---\n{}\n", "node.yaml:3: a second document; the file has only one");
	bad("database: /a\n b: c\n", "node.yaml:2: invalid YAML: mapping values are not allowed in "
				     "this context");
	bad("database: 'x\n", "node.yaml:2: invalid YAML: found unexpected end of stream");
	bad("\t- x: 1\n", "node.yaml:1: invalid YAML: found character that cannot start any token");
	bad("database: /\xff\n", "node.yaml:1: invalid YAML: invalid leading UTF-8 octet");
}

static void test_too_many_patterns(void **state)
{
	char text[1024] = "jobs: {include: [";

	for (int i = 0; i < 65; i++)
		strcat(text, "a, ");
	strcat(text, "]}");
	bad(text, "node.yaml:1: jobs.include: more than 64 patterns");
}

static void test_example_has_all_keys(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct node_config_key key;
	struct node_config c;
	size_t len = 0;

	assert_int_equal(
		file_read(AT_FDCWD, SOURCE_DIR "/examples/node.yaml", 1 << 16, &text, &len), 0);
	good(text, &c);
	check_defaults(&c);
	node_config_free(&c);
	for (size_t i = 0; node_config_key(i, &key); i++) {
		const char *dot = strchr(key.name, '.');
		char line[256];

		snprintf(line, sizeof(line), "\n%s%s: %s\n", dot ? "  " : "",
			 dot ? dot + 1 : key.name, key.value);
		if (!strstr(text, line))
			fail_msg("examples/node.yaml does not have%s", line);
	}
}

static void test_document_has_all_keys(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct node_config_key key;
	const char *section, *end;
	size_t len = 0, i = 0, rows = 0;

	assert_int_equal(file_read(AT_FDCWD, SOURCE_DIR "/docs/node.md", 1 << 16, &text, &len), 0);
	for (; node_config_key(i, &key); i++) {
		char row[512];

		snprintf(row, sizeof(row), "\n| `%s` | %s | `%s` | ", key.name, key.unit,
			 key.value);
		if (!strstr(text, row))
			fail_msg("docs/node.md does not have%s", row);
	}
	section = strstr(text, "\n## Settings\n");
	assert_non_null(section);
	end = strstr(section + 1, "\n## ");
	for (const char *p = section; (p = strstr(p, "\n| `")) && (!end || p < end); p++)
		rows++;
	assert_int_equal(rows, i);
}

static void load(const struct scratch *s, mode_t mode, int expect, const char *part)
{
	char path[PATH_MAX];
	struct node_config c;
	struct errtext err = {""};

	scratch_write(s, "node.yaml", "interval: 5s\n");
	scratch_path(s, "node.yaml", path);
	assert_int_equal(chmod(path, mode), 0);
	assert_int_equal(node_config_load(path, &c, &err), expect);
	if (expect)
		assert_non_null(strstr(err.text, part));
	else
		assert_int_equal(c.interval_ns, 5 * SECOND);
	node_config_free(&c);
}

static void test_files(void **state)
{
	struct node_config c;
	struct errtext err;
	struct scratch s;
	char path[PATH_MAX];

	scratch_new(&s);
	load(&s, 0644, 0, NULL);
	load(&s, 0664, -EPERM, "others can change it. Run: chmod go-w ");
	load(&s, 0646, -EPERM, "others can change it. Run: chmod go-w ");
	assert_int_equal(node_config_load(s.dir, &c, &err), -EISDIR);
	assert_int_equal(node_config_load(scratch_path(&s, "none", path), &c, &err), -ENOENT);
	if (!geteuid()) {
		scratch_path(&s, "node.yaml", path);
		assert_int_equal(chmod(path, 0644), 0);
		assert_int_equal(chown(path, 12345, 0), 0);
		assert_int_equal(node_config_load(path, &c, &err), -EPERM);
		assert_non_null(strstr(err.text, "it belongs to user 12345. Run: chown root "));
	}
	scratch_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_selection),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_unknown_keys),
		cmocka_unit_test(test_wrong_values),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_wrong_shapes),
		cmocka_unit_test(test_too_many_patterns),
		cmocka_unit_test(test_example_has_all_keys),
		cmocka_unit_test(test_document_has_all_keys),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
