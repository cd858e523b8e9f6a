/* SPDX-License-Identifier: BSD-2-Clause */
/* For LD_PRELOAD: there is no memory for a copy of the text NO_COPY_OF, for this program alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

char *strdup(const char *s)
{
	const char *no = getenv("NO_COPY_OF");
	size_t size = strlen(s) + 1;
	char *copy = no && strcmp(s, no) == 0 ? NULL : malloc(size);

	if (!copy) {
		errno = ENOMEM;
		return NULL;
	}
	return memcpy(copy, s, size);
}
