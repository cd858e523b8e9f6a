/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: http access */
/* Which model is queried, and with which key: precedence, addresses, and what is refused before
 * anything is sent. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "advisor/llm/http/config.h"

/* The result of llm_config_make() with these NAME=VALUE lines as the environment. */
static int made(const struct llm_config *options, const char *lines, struct llm_config *ret,
		struct errtext *err)
{
	static const char *const names[] = {
		"CACHEMON_LLM_URL",	 "CACHEMON_LLM_MODEL", "CACHEMON_LLM_API",
		"CACHEMON_LLM_JSON",	 "CACHEMON_LLM_CA",    "CACHEMON_LLM_CERT",
		"CACHEMON_LLM_CERT_KEY", "CACHEMON_LLM_KEY",   "CACHEMON_LLM_KEY_FILE",
		"OPENAI_API_KEY",	 "ANTHROPIC_API_KEY",
	};
	char line[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	for (size_t len; *lines; lines += len + (lines[len] == '\n')) {
		len = strcspn(lines, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)len, lines);
		line[strcspn(line, "=")] = '\0';
		assert_int_equal(setenv(line, line + strlen(line) + 1, 1), 0);
	}
	return llm_config_make(options, true, ret, err);
}

#define URL "CACHEMON_LLM_URL=https://h.test/v1\n"

static void test_key_places(void **state)
{
	static const struct {
		const char *env, *option_file, *want_env, *want_file;
	} cases[] = {
		{URL, NULL, NULL, NULL},
		{URL "CACHEMON_LLM_KEY=a\nCACHEMON_LLM_KEY_FILE=/f\n", NULL, "CACHEMON_LLM_KEY",
		 NULL},
		{URL "CACHEMON_LLM_KEY_FILE=/f\n", NULL, NULL, "/f"},
		{URL "CACHEMON_LLM_KEY=\nCACHEMON_LLM_KEY_FILE=/f\n", NULL, NULL, "/f"},
		{URL "CACHEMON_LLM_KEY=a\n", "/option", NULL, "/option"},
		/* A vendor's key is sent to that vendor only. */
		{URL "OPENAI_API_KEY=a\nANTHROPIC_API_KEY=b\n", NULL, NULL, NULL},
		{"CACHEMON_LLM_URL=https://api.openai.com\nOPENAI_API_KEY=a\n", NULL,
		 "OPENAI_API_KEY", NULL},
		{"CACHEMON_LLM_URL=https://API.OpenAI.com/v1\nOPENAI_API_KEY=a\n", NULL,
		 "OPENAI_API_KEY", NULL},
		{"CACHEMON_LLM_URL=https://api.openai.com\nANTHROPIC_API_KEY=a\n", NULL, NULL,
		 NULL},
		{"CACHEMON_LLM_URL=https://api.anthropic.com\nANTHROPIC_API_KEY=a\nOPENAI_API_KEY="
		 "b\n",
		 NULL, "ANTHROPIC_API_KEY", NULL},
		{"CACHEMON_LLM_URL=https://api.openai.com\nOPENAI_API_KEY=a\nCACHEMON_LLM_KEY=b\n",
		 NULL, "CACHEMON_LLM_KEY", NULL},
		{"CACHEMON_LLM_URL=http://api.openai.com\nOPENAI_API_KEY=a\n", NULL, NULL, NULL},
		{"CACHEMON_LLM_URL=https://api.openai.com.evil.test\nOPENAI_API_KEY=a\n", NULL,
		 NULL, NULL},
		{"CACHEMON_LLM_URL=https://evil.test/api.openai.com\nOPENAI_API_KEY=a\n", NULL,
		 NULL, NULL},
		{"CACHEMON_LLM_URL=https://evil.test?@api.openai.com/\nOPENAI_API_KEY=a\n", NULL,
		 NULL, NULL},
		{"CACHEMON_LLM_URL=https://evil.test#@api.openai.com/\nOPENAI_API_KEY=a\n", NULL,
		 NULL, NULL},
		{"CACHEMON_LLM_URL=https://evil.test\\@api.openai.com/\nOPENAI_API_KEY=a\n", NULL,
		 NULL, NULL},
		{"OPENAI_API_KEY=a\n", NULL, NULL, NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct llm_config options = {.key_file = cases[i].option_file}, c = {0};
		struct errtext err = {0};
		int r = made(&options, cases[i].env, &c, &err);

		/* An invalid address is refused, and then there is no key either. */
		if (r)
			memset(&c, 0, sizeof(c));
		if ((c.key_env == NULL) != (cases[i].want_env == NULL) ||
		    (c.key_file == NULL) != (cases[i].want_file == NULL))
			fail_msg("%s: key of %s, %s", cases[i].env, c.key_env ? c.key_env : "-",
				 c.key_file ? c.key_file : "-");
		if (c.key_env)
			assert_string_equal(c.key_env, cases[i].want_env);
		if (c.key_file)
			assert_string_equal(c.key_file, cases[i].want_file);
	}
}

static void test_precedence(void **state)
{
	static const char env[] = URL "CACHEMON_LLM_MODEL=env\nCACHEMON_LLM_CA=/ca\n"
				      "CACHEMON_LLM_CERT=/cert\nCACHEMON_LLM_CERT_KEY=/certkey\n";
	struct llm_config options = {.limit_ns = 5, .allow_http = true}, c;
	struct errtext err = {0};

	assert_int_equal(made(&options, env, &c, &err), 0);
	assert_string_equal(c.url, "https://h.test/v1");
	assert_string_equal(c.model, "env");
	assert_string_equal(c.ca_file, "/ca");
	assert_string_equal(c.cert_file, "/cert");
	assert_string_equal(c.cert_key_file, "/certkey");
	assert_int_equal(c.limit_ns, 5);
	assert_true(c.allow_http);
	options.url = "https://option.test";
	options.model = "option";
	options.ca_file = "/option";
	assert_int_equal(made(&options, env, &c, &err), 0);
	assert_string_equal(c.url, "https://option.test");
	assert_string_equal(c.model, "option");
	assert_string_equal(c.ca_file, "/option");
}

static void test_nothing_configured(void **state)
{
	struct llm_config options = {0}, c;
	struct errtext err = {0};

	assert_int_equal(made(&options, "", &c, &err), 0);
	assert_null(c.url);
	assert_null(c.model);
	assert_null(c.key_env);
}

static void test_apis(void **state)
{
	static const struct {
		const char *env;
		bool given;
		enum llm_api option, want;
	} cases[] = {
		{URL, false, LLM_OPENAI, LLM_OPENAI},
		{"CACHEMON_LLM_URL=https://api.anthropic.com\n", false, LLM_OPENAI, LLM_ANTHROPIC},
		{"CACHEMON_LLM_URL=https://h.test/v1/messages\n", false, LLM_OPENAI, LLM_ANTHROPIC},
		{URL "CACHEMON_LLM_API=anthropic\n", false, LLM_OPENAI, LLM_ANTHROPIC},
		{"CACHEMON_LLM_URL=https://api.anthropic.com\nCACHEMON_LLM_API=openai\n", false,
		 LLM_OPENAI, LLM_OPENAI},
		{URL "CACHEMON_LLM_API=anthropic\n", true, LLM_OPENAI, LLM_OPENAI},
		{URL, true, LLM_ANTHROPIC, LLM_ANTHROPIC},
	};
	struct llm_config options = {0}, c;
	struct errtext err = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		options.api_name = cases[i].given ? llm_api_names[cases[i].option] : NULL;
		assert_int_equal(made(&options, cases[i].env, &c, &err), 0);
		assert_int_equal(c.api, cases[i].want);
	}
	options.api_name = NULL;
	memset(&c, 7, sizeof(c));
	assert_int_equal(made(&options, "CACHEMON_LLM_API=OpenAI\n", &c, &err), -EINVAL);
	assert_non_null(strstr(err.text, "'OpenAI'"));
	assert_int_equal(*(unsigned char *)&c, 7);
}

static void test_forms(void **state)
{
	static const struct {
		const char *env;
		bool given;
		enum llm_json option, want;
	} cases[] = {
		{URL, false, LLM_JSON_SCHEMA, LLM_JSON_SCHEMA},
		{URL "CACHEMON_LLM_JSON=object\n", false, LLM_JSON_SCHEMA, LLM_JSON_OBJECT},
		{URL "CACHEMON_LLM_JSON=none\n", false, LLM_JSON_SCHEMA, LLM_JSON_NONE},
		{URL "CACHEMON_LLM_JSON=none\n", true, LLM_JSON_SCHEMA, LLM_JSON_SCHEMA},
		{URL, true, LLM_JSON_OBJECT, LLM_JSON_OBJECT},
	};
	struct llm_config options = {0}, c;
	struct errtext err = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		options.json_name = cases[i].given ? llm_json_names[cases[i].option] : NULL;
		assert_int_equal(made(&options, cases[i].env, &c, &err), 0);
		assert_int_equal(c.json, cases[i].want);
	}
	options.json_name = NULL;
	assert_int_equal(made(&options, "CACHEMON_LLM_JSON=grammar\n", &c, &err), -EINVAL);
	assert_non_null(strstr(err.text, "'grammar'"));
}

static void test_addresses(void **state)
{
	static const struct {
		const char *url;
		enum llm_api api;
		const char *want, *host;
	} cases[] = {
		{"http://h:11434/v1", LLM_OPENAI, "http://h:11434/v1/chat/completions", "h:11434"},
		{"http://h:11434/v1/", LLM_OPENAI, "http://h:11434/v1/chat/completions", "h:11434"},
		{"https://api.openai.com", LLM_OPENAI, "https://api.openai.com/v1/chat/completions",
		 "api.openai.com"},
		{"https://api.openai.com/", LLM_OPENAI,
		 "https://api.openai.com/v1/chat/completions", "api.openai.com"},
		{"https://h/v1/chat/completions", LLM_OPENAI, "https://h/v1/chat/completions", "h"},
		{"https://h/openai/deployments/d/chat/completions?api-version=1", LLM_OPENAI,
		 "https://h/openai/deployments/d/chat/completions?api-version=1", "h"},
		{"https://h/base?x=1#part", LLM_OPENAI, "https://h/base/chat/completions?x=1", "h"},
		{"https://h/api/v4", LLM_OPENAI, "https://h/api/v4/chat/completions", "h"},
		{"https://h", LLM_ANTHROPIC, "https://h/v1/messages", "h"},
		{"https://h/v1", LLM_ANTHROPIC, "https://h/v1/messages", "h"},
		{"https://h/v1/", LLM_ANTHROPIC, "https://h/v1/messages", "h"},
		{"https://h/v1/messages", LLM_ANTHROPIC, "https://h/v1/messages", "h"},
		{"https://h/proxy", LLM_ANTHROPIC, "https://h/proxy/v1/messages", "h"},
		{"https://h/vnext", LLM_ANTHROPIC, "https://h/vnext/v1/messages", "h"},
		{"https://[::1]:8080", LLM_OPENAI, "https://[::1]:8080/v1/chat/completions",
		 "[::1]:8080"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct endpoint e = {0};
		struct errtext err = {0};

		if (endpoint_make(cases[i].url, cases[i].api, &e, &err))
			fail_msg("%s: %s", cases[i].url, err.text);
		assert_string_equal(e.url, cases[i].want);
		assert_string_equal(e.host, cases[i].host);
	}
}

static void test_loopback(void **state)
{
	static const struct {
		const char *url;
		bool loopback;
	} cases[] = {
		{"http://localhost", true},	  {"http://LocalHost:1", true},
		{"http://127.0.0.1:8080", true},  {"http://127.255.0.9", true},
		{"http://127.1", true},		  {"http://2130706433", true},
		{"http://[::1]", true},		  {"http://[0:0:0:0:0:0:0:1]", true},
		{"http://[::2]", false},	  {"http://[::ffff:10.0.0.1]", false},
		{"http://127.0.0.1.test", false}, {"http://localhost.test", false},
		{"http://128.0.0.1", false},	  {"http://0.0.0.0", false},
		{"http://10.0.0.1", false},	  {"http://1270.0.0.1", false},
		{"http://notlocalhost", false},	  {"http://[fe80::1%25eth0]", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct endpoint e = {0};
		struct errtext err = {0};

		if (endpoint_make(cases[i].url, LLM_OPENAI, &e, &err))
			fail_msg("%s: %s", cases[i].url, err.text);
		assert_true(e.plain);
		if (e.loopback != cases[i].loopback)
			fail_msg("%s", cases[i].url);
	}
}

static void test_no_addresses(void **state)
{
	static const char *const urls[] = {
		"",
		"h",
		"h.test/v1",
		"/v1",
		"://h",
		"http://",
		"ftp://h/v1",
		"file:///etc/passwd",
		"gopher://h",
		"https://user:secret-word@h/v1",
		"https://secret-word@h/v1",
		"https://:secret-word@h/v1",
		"https://h h/v1",
		"https://h\n/v1",
		"https://h:99999/v1",
		"https://h:secret-word/v1",
	};
	struct llm_config options = {.model = "m"}, c;

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct endpoint e = {.plain = true};
		struct errtext err = {0};

		if (endpoint_make(urls[i], LLM_OPENAI, &e, &err) != -EINVAL)
			fail_msg("'%s' is taken", urls[i]);
		assert_true(e.plain);
		assert_true(err.text[0]);
		assert_null(strstr(err.text, "secret-word"));
		options.url = urls[i];
		if (*urls[i])
			assert_int_equal(made(&options, "", &c, &err), -EINVAL);
	}
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static void test_keys(void **state)
{
	static const struct {
		const char *text, *want;
		mode_t mode;
	} cases[] = {
		{"sk-1234567", "sk-1234567", 0600},
		{" \tsk-1234567 \r\n", "sk-1234567", 0400},
		{"sk-1234567\n", NULL, 0640},
		{"sk-1234567\n", NULL, 0601},
		{"", NULL, 0600},
		{"\r\n", NULL, 0600},
		{"sk-1\nX-Injected: 1", NULL, 0600},
		{"sk-1\rX", NULL, 0600},
		{"sk-1 2", NULL, 0600},
		{"sk-\x01", NULL, 0600},
		{"sk-\xc3\xa4", NULL, 0600},
		{"sk-\x7f", NULL, 0600},
	};
	char path[] = "/tmp/test_llm_key.XXXXXX";

	close(mkstemp(path));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct key k = {.len = 77};
		struct errtext err = {0};
		int r;

		write_file(path, cases[i].text, cases[i].mode);
		r = key_read(NULL, path, &k, &err);
		assert_int_equal(r == 0, cases[i].want != NULL);
		assert_null(strstr(err.text, "sk-"));
		if (r) {
			assert_true(err.text[0]);
			assert_int_equal(k.len, 77);
			continue;
		}
		assert_string_equal(k.text, cases[i].want);
		assert_int_equal(k.len, strlen(cases[i].want));
		key_wipe(&k);
		for (size_t b = 0; b < sizeof(k); b++)
			assert_int_equal(((char *)&k)[b], 0);
	}
	unlink(path);
}

static void test_key_variables(void **state)
{
	struct key k = {0};
	struct errtext err = {0};

	setenv("TEST_LLM_KEY", " abc ", 1);
	assert_int_equal(key_read("TEST_LLM_KEY", NULL, &k, &err), 0);
	assert_string_equal(k.text, "abc");
	unsetenv("TEST_LLM_KEY");
	assert_int_equal(key_read("TEST_LLM_KEY", NULL, &k, &err), -EINVAL);
	assert_non_null(strstr(err.text, "TEST_LLM_KEY"));
	assert_int_equal(key_read(NULL, NULL, &k, &err), 0);
	assert_int_equal(k.len, 0);
}

static void test_masks(void **state)
{
	static const struct {
		const char *key, *text, *want;
	} cases[] = {
		{"secret", "a secret, secretsecret", "a ******, ************"},
		{"secret", "secre", "secre"},
		{"secret", "", ""},
		{"secret", "secret", "******"},
		{"short", "short", "short"},
		{"", "any", "any"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct key k = {.len = strlen(cases[i].key)};
		char text[64];

		strcpy(k.text, cases[i].key);
		strcpy(text, cases[i].text);
		key_mask(&k, text);
		assert_string_equal(text, cases[i].want);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_key_places),
		cmocka_unit_test(test_precedence),
		cmocka_unit_test(test_nothing_configured),
		cmocka_unit_test(test_apis),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_no_addresses),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_key_variables),
		cmocka_unit_test(test_masks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
