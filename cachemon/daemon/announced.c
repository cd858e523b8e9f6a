/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/announced.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct announced {
	struct {
		struct node_request begin;
		uint64_t until_ns; /* 0: free */
	} of[ANNOUNCED_MAX];
};

struct announced *announced_new(void)
{
	return calloc(1, sizeof(struct announced));
}

void announced_free(struct announced *a)
{
	free(a);
}

/* ANNOUNCED_MAX: it is not there. */
static size_t find(const struct announced *a, const char *job, uint64_t now_ns)
{
	size_t i = 0;

	while (i < ANNOUNCED_MAX &&
	       (a->of[i].until_ns <= now_ns || strcmp(a->of[i].begin.job, job) != 0))
		i++;
	return i;
}

static void add(struct node_request *to, const struct node_request *from)
{
	if (*from->name)
		strcpy(to->name, from->name);
	if (*from->partition)
		strcpy(to->partition, from->partition);
	if (from->uid >= 0)
		to->uid = from->uid;
}

int announced_put(struct announced *a, const struct node_request *begin, uint64_t now_ns)
{
	size_t i = find(a, begin->job, now_ns);

	if (i < ANNOUNCED_MAX) {
		add(&a->of[i].begin, begin);
	} else {
		for (i = 0; i < ANNOUNCED_MAX && a->of[i].until_ns > now_ns;)
			i++;
		if (i == ANNOUNCED_MAX)
			return -ENOSPC;
		a->of[i].begin = *begin;
	}
	a->of[i].until_ns = now_ns + ANNOUNCED_NS;
	return 0;
}

bool announced_take(struct announced *a, const char *job, uint64_t now_ns, struct node_request *ret)
{
	size_t i = find(a, job, now_ns);

	if (i == ANNOUNCED_MAX)
		return false;
	*ret = a->of[i].begin;
	a->of[i].until_ns = 0;
	return true;
}
