/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/reload.h"

static int load(struct reload *r, struct node_config *ret, struct errtext *err)
{
	int e = node_config_load(r->file, ret, err);

	/* The only setting that can be refused afterwards. */
	return e ? e : node_desk_admit(r->desk, ret, err);
}

int reload_read(struct reload *r, struct errtext *ret)
{
	struct node_config_fixed fixed;
	struct node_config next, before;
	struct errtext why;
	int e = load(r, &next, &why);

	if (e) {
		node_config_free(&next);
		return errtext_set(ret, e, "the settings stay as they were: %s", why.text);
	}
	before = r->last;
	r->last = next;
	node_retain(r->node, &next.retention);
	node_set_budget(r->node, next.budget_percent / 100);
	if (r->follow)
		follow_select(r->follow, &r->last);
	node_config_free(&before);
	fixed = node_config_fixed(r->started, &next);
	if (*fixed.names)
		errtext_set(ret, 0, "read the settings again; restart the daemon to change %s",
			    fixed.names);
	else
		errtext_set(ret, 0, "read the settings again");
	return 0;
}

void reload_free(struct reload *r)
{
	node_config_free(&r->last);
}
