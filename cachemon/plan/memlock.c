/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/memlock.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

bool memlock_binds(void)
{
	struct rlimit now, none;
	bool refused;
	int fd;

	if (getrlimit(RLIMIT_MEMLOCK, &now))
		return false;
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = now.rlim_max};
	/* Before its first map, libbpf raises the limit once if it applies and may be raised.
	 * This is undone below, because a command would inherit it. */
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "cachemon_try", 4, 4, 1, NULL);
	if (fd < 0)
		return errno == EPERM && now.rlim_cur == 0;
	close(fd);
	if (setrlimit(RLIMIT_MEMLOCK, &none))
		return false;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "cachemon_try", 4, 4, 1, NULL);
	refused = fd < 0;
	if (fd >= 0)
		close(fd);
	setrlimit(RLIMIT_MEMLOCK, &now);
	return refused;
}

uint64_t memlock_bytes(void)
{
	struct rlimit now;

	if (getrlimit(RLIMIT_MEMLOCK, &now) || now.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return now.rlim_cur;
}

int memlock_raise(uint64_t needed, uint64_t *ret_bytes)
{
	const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	struct rlimit now;

	if (memlock_bytes() < needed && setrlimit(RLIMIT_MEMLOCK, &unlimited) &&
	    !getrlimit(RLIMIT_MEMLOCK, &now)) {
		now.rlim_cur = now.rlim_max;
		setrlimit(RLIMIT_MEMLOCK, &now);
	}
	*ret_bytes = memlock_bytes();
	return *ret_bytes < needed ? -EPERM : 0;
}
