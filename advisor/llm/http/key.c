/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/http/key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cachemon/access/access.h"
#include "cachemon/base/cleanup.h"

/* Shorter ones stand in texts by chance. */
enum { MASKED_MIN = 6 };

/* Without the blanks around it; only what may stand in a header. */
static int take_key(const char *text, size_t len, const char *place, struct key *ret,
		    struct errtext *err)
{
	static const char blanks[] = " \t\r\n";

	while (len && strchr(blanks, text[len - 1]))
		len--;
	while (len && strchr(blanks, *text)) {
		text++;
		len--;
	}
	if (len == 0)
		return errtext_set(err, -EINVAL, "there is no key in %.200s", place);
	if (len > KEY_MAX)
		return errtext_set(err, -EINVAL, "the key in %.200s is too long to be one", place);
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return errtext_set(err, -EINVAL,
					   "the key in %.200s holds a blank, a line's end or "
					   "another character that no key has",
					   place);
	memcpy(ret->text, text, len);
	ret->text[len] = '\0';
	ret->len = len;
	return 0;
}

static int read_file(const char *path, struct key *ret, struct errtext *err)
{
	_cleanup_close_ int fd = access_open(AT_FDCWD, path, O_RDONLY, 0, ACCESS_REGULAR);
	char text[KEY_MAX + 64];
	struct stat st;
	ssize_t n;
	int r;

	if (fd < 0)
		return errtext_set(err, fd, "the key file %.200s: %s", path, access_strerror(fd));
	if (fstat(fd, &st))
		return errtext_set(err, -errno, "the key file %.200s: %m", path);
	if (st.st_uid != geteuid())
		return errtext_set(err, -EACCES,
				   "the key file %.200s belongs to user %u, not to %u who asks",
				   path, st.st_uid, geteuid());
	if (st.st_mode & 077)
		return errtext_set(err, -EACCES,
				   "others than its owner have rights to the key file %.200s: "
				   "chmod 600",
				   path);
	n = read(fd, text, sizeof(text)); /* of a regular file: all of it, or what is too much */
	r = n < 0 ? errtext_set(err, -errno, "the key file %.200s: %m", path)
		  : take_key(text, (size_t)n, path, ret, err);
	explicit_bzero(text, sizeof(text));
	return r;
}

int key_read(const char *variable, const char *file, struct key *ret, struct errtext *err)
{
	const char *value;

	if (file)
		return read_file(file, ret, err);
	if (variable) {
		value = getenv(variable);
		return take_key(value ? value : "", value ? strlen(value) : 0, variable, ret, err);
	}
	memset(ret, 0, sizeof(*ret));
	return 0;
}

void key_wipe(struct key *k)
{
	explicit_bzero(k, sizeof(*k));
}

/* How much of the bytes is the character, as it is or as JSON may write it; 0: it is another. */
static size_t character_at(const char *at, size_t left, char c)
{
	char escape[8];

	snprintf(escape, sizeof(escape), "\\u%04x", (unsigned int)c);
	if (left >= 6 && strncasecmp(at, escape, 6) == 0)
		return 6;
	if (left >= 2 && *at == '\\' && at[1] == c && strchr("\"\\/", c))
		return 2;
	return left && *at == c;
}

/* How much of the bytes is the key; 0: it is not there. */
static size_t key_at(const struct key *k, const char *at, size_t left)
{
	size_t used = 0;

	for (size_t i = 0; i < k->len; i++) {
		size_t n = character_at(at + used, left - used, k->text[i]);

		if (!n)
			return 0;
		used += n;
	}
	return used;
}

void key_mask(const struct key *k, char *bytes, size_t len)
{
	for (size_t at = 0; k->len >= MASKED_MIN && at < len;) {
		size_t used = key_at(k, bytes + at, len - at);

		memset(bytes + at, '*', used);
		at += used ? used : 1;
	}
}
