/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: daemon */
/* The front of the metrics server: which format a client wants, and who may pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "cachemon/daemon/metrics_server.h"
#include "cachemon/daemon/web_config.h"
#include "scratch.h"

#define HASH "$2b$04$abcdefghijklmnopqrstuuPp7HPfoAs8I2dCQCQ/fW7zEJv8I8C8e" /* of "x" */

static void test_accept(void **state)
{
	static const struct {
		const char *accept;
		bool open;
	} cases[] = {
		{NULL, false},
		{"", false},
		{"*/*", false},
		{"text/html,*/*;q=0.1", false},
		{"text/plain", false},
		{"application/openmetrics-text", true},
		{"Application/OpenMetrics-Text; version=1.0.0", true},
		{"application/openmetrics-textual", false},
		{"application/openmetrics-text;q=0", false},
		{"application/openmetrics-text;q=0.4,text/plain;q=0.5", false},
		{"application/openmetrics-text;q=0.5,text/plain;q=0.5", true},
		{"text/plain , application/openmetrics-text ; q=0.9", false},
		{"text/plain;q=0.3 , application/openmetrics-text ; q=0.9", true},
		/* Of Prometheus 2.42. */
		{"application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
		 "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		 true},
		{"application/openmetrics-text;q=", false},
		{"application/openmetrics-text;q=nan", false},
		{"application/openmetrics-text;q=-1", false},
		{"application/openmetrics-text;q=0.", false},
		{",,;;,q=1", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (metrics_server_accepts_open(cases[i].accept) != cases[i].open)
			fail_msg("%s", cases[i].accept);
}

static void bad(const char *text, const char *expect)
{
	struct web_config c;
	struct errtext err = {""};

	assert_true(web_config_parse("web.yml", "/nowhere", text, strlen(text), &c, &err) < 0);
	if (strcmp(err.text, expect) != 0)
		fail_msg("\n%s\nis not\n%s", err.text, expect);
	web_config_free(&c);
}

static void test_wrong(void **state)
{
	(void)state;
	bad("a: b\n", "web.yml:1: unknown key; there are tls_server_config and basic_auth_users");
	bad("x\n", "web.yml:1: expected lines KEY: VALUE");
	bad("basic_auth_users: {}\n", "web.yml: basic_auth_users has no users");
	bad("\nbasic_auth_users:\n  prom: secret\n",
	    "web.yml:3: not a bcrypt hash. To make one, run: htpasswd -nBC 10 USER");
	bad("basic_auth_users:\n  \"a:b\": " HASH "\n",
	    "web.yml:2: a user's name has 1 to 128 bytes without a colon");
	bad("basic_auth_users:\n  a: " HASH "\n  a: " HASH "\n",
	    "web.yml:3: this user was given before");
	bad("tls_server_config:\n  cert_file: a\n",
	    "web.yml: tls_server_config needs both cert_file and key_file");
	bad("tls_server_config:\n  cert_file: a\n  key_file: b\n  client_auth_type: NoClientCert\n",
	    "web.yml:4: unknown key in tls_server_config; there are cert_file and key_file");
	bad("tls_server_config:\n  cert_file: a\n  key_file: b\n",
	    "cannot read /nowhere/a: No such file or directory");
	bad("a: [\n", "web.yml:2: invalid YAML: did not find expected node content");
}

static void test_good(void **state)
{
	struct scratch dir;
	struct web_config c;
	struct errtext err;
	char path[PATH_MAX];

	(void)state;
	scratch_new(&dir);
	scratch_write(&dir, "cert.pem", "CERT");
	scratch_write(&dir, "key.pem", "KEY");
	scratch_write(&dir, "web.yml",
		      "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n"
		      "basic_auth_users:\n  prom: " HASH "\n  other: " HASH "\n");
	if (web_config_load(scratch_path(&dir, "web.yml", path), &c, &err))
		fail_msg("%s", err.text);
	assert_string_equal(c.cert, "CERT");
	assert_string_equal(c.key, "KEY");
	assert_int_equal(c.nr_users, 2);
	assert_string_equal(c.users[1].name, "other");
	assert_string_equal(c.users[1].hash, HASH);
	web_config_free(&c);
	scratch_free(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accept),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
