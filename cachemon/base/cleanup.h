/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scope-bound cleanup, as in systemd: leaving its scope releases a resource, so that early returns
 * need no goto. TAKE_PTR and TAKE_FD pass a resource on. Keeps errno.
 */
#ifndef CLEANUP_H
#define CLEANUP_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

static inline void cleanup_fclose(FILE **f)
{
	int saved = errno;

	if (*f)
		fclose(*f);
	errno = saved;
}

static inline void cleanup_closedir(DIR **d)
{
	int saved = errno;

	if (*d)
		closedir(*d);
	errno = saved;
}

#define _cleanup_(f)	   __attribute__((cleanup(f)))
#define _cleanup_free_	   _cleanup_(cleanup_free)
#define _cleanup_close_	   _cleanup_(cleanup_close)
#define _cleanup_fclose_   _cleanup_(cleanup_fclose)
#define _cleanup_closedir_ _cleanup_(cleanup_closedir)

#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int taken_ = (fd);                                                                 \
		(fd) = -1;                                                                         \
		taken_;                                                                            \
	})

#endif
