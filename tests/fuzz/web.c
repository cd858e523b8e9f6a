/* SPDX-License-Identifier: BSD-2-Clause */
/* Any text as the file with TLS and passwords of the metrics server: each user that it accepts has
 * a bcrypt hash, or there is a one-line error that names the file. */
#include "fuzz.h"

#include <errno.h>

#include "cachemon/daemon/node_config.h"
#include "cachemon/daemon/web_config.h"

/* The files of this fuzzer. */
int node_config_text(const char *file, size_t max, char **ret, size_t *ret_len, struct errtext *err)
{
	MUST(*file == '/');
	if (strcmp(strrchr(file, '/'), "/there") != 0)
		return errtext_set(err, -ENOENT, "%s: no such file", "cert");
	*ret = strdup("PEM");
	*ret_len = 3;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct errtext err = {""};
	struct web_config c;
	int e = web_config_parse("web.yaml", "/etc", (const char *)data, size, &c, &err);

	MUST(e == 0 || e == -EINVAL || e == -ENOMEM || e == -ENOENT);
	MUST(!e == !*err.text && !strpbrk(err.text, "\n\r\x1b"));
	MUST(e || !c.cert == !c.key);
	for (size_t i = 0; !e && i < c.nr_users; i++) {
		MUST(*c.users[i].name && strlen(c.users[i].hash) == 60);
		MUST(!strncmp(c.users[i].hash, "$2", 2));
		for (size_t k = 0; k < i; k++)
			MUST(strcmp(c.users[k].name, c.users[i].name) != 0);
	}
	web_config_free(&c);
	return 0;
}
