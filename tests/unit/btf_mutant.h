/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BTF of a kernel, reduced to the hooks of a table and the types that choose the build, with
 * one change. libbpf's own calls do the copying.
 */
#ifndef BTF_MUTANT_H
#define BTF_MUTANT_H

#include "plan_kernels.h"

#include <bpf/btf.h>

#define SNEAKED	 "sneaked_in" /* a pointer to this structure is of no known type */
#define RENAMED	 "renamed_in"
#define ARGS_MAX 16

enum change {
	CHANGE_NOTHING,
	CHANGE_GONE,	   /* the function or the typedef of the tracepoint is renamed */
	CHANGE_ARG_ADDED,  /* appended */
	CHANGE_ARG_LOST,   /* the last */
	CHANGE_ARG,	   /* argument nr has another type */
	CHANGE_RETURN,	   /* another return type */
	CHANGE_TYPE,	   /* the structure or typedef is renamed wherever it is used */
	CHANGE_HELPER_GONE /* the enumerator is renamed */
};

struct mutation {
	enum change change;
	bool tracepoint;
	const char *target;
	int nr;
	const char *name; /* name of the type or enumerator */
};

struct btf_copy {
	const struct btf *from;
	struct btf *to;
	const struct mutation *m;
	int sneaked;
	int ids[]; /* new id, by id in from; 0: not copied yet */
};

static inline int copied(int id)
{
	assert_true(id > 0);
	return id;
}

static inline const char *copy_name(const struct btf_copy *c, const struct btf_type *t)
{
	const char *name = btf__name_by_offset(c->from, t->name_off);

	if (c->m->change == CHANGE_TYPE && !strcmp(name, c->m->name))
		return RENAMED;
	return name;
}

static inline int copy_enum(struct btf_copy *c, const struct btf_type *t)
{
	int id = copied(btf__add_enum(c->to, copy_name(c, t), t->size));

	for (int i = 0; i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(c->from, btf_enum(t)[i].name_off);

		if (c->m->change == CHANGE_HELPER_GONE && !strcmp(name, c->m->name))
			name = RENAMED;
		assert_int_equal(btf__add_enum_value(c->to, name, btf_enum(t)[i].val), 0);
	}
	return id;
}

/* Structures become empty; the functions that pointers refer to lose their arguments. */
static inline int copy_type(struct btf_copy *c, uint32_t from)
{
	const struct btf_type *t = btf__type_by_id(c->from, from);
	const char *name;
	int id, inner;

	if (!from)
		return 0;
	if (c->ids[from])
		return c->ids[from];
	assert_non_null(t);
	name = copy_name(c, t);
	switch (btf_kind(t)) {
	case BTF_KIND_INT:
		id = btf__add_int(c->to, name, t->size, btf_int_encoding(t));
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		id = btf__add_struct(c->to, name, t->size);
		break;
	case BTF_KIND_FWD:
		id = btf__add_fwd(c->to, name, BTF_FWD_STRUCT);
		break;
	case BTF_KIND_ENUM:
		id = copy_enum(c, t);
		break;
	case BTF_KIND_FUNC_PROTO:
		id = btf__add_func_proto(c->to, 0);
		break;
	default:
		inner = copy_type(c, t->type);
		if (btf_is_ptr(t))
			id = btf__add_ptr(c->to, inner);
		else if (btf_is_typedef(t))
			id = btf__add_typedef(c->to, name, inner);
		else if (btf_is_const(t))
			id = btf__add_const(c->to, inner);
		else if (btf_is_volatile(t))
			id = btf__add_volatile(c->to, inner);
		else
			id = -1;
	}
	return c->ids[from] = copied(id);
}

static inline int copy_proto(struct btf_copy *c, const struct btf_type *proto, enum change change)
{
	const struct btf_param *params = btf_params(proto);
	/* The first argument of a tracepoint is the data it was registered with. */
	int skip = c->m->tracepoint;
	int ret = copy_type(c, proto->type);
	int nr = btf_vlen(proto);
	int args[ARGS_MAX];
	int id;

	assert_in_range(nr, 0, ARGS_MAX - 1);
	for (int i = 0; i < nr; i++)
		args[i] = copy_type(c, params[i].type);
	if (change == CHANGE_ARG_ADDED)
		args[nr++] = c->sneaked;
	else if (change == CHANGE_ARG_LOST)
		nr--;
	else if (change == CHANGE_ARG)
		args[skip + c->m->nr] = c->sneaked;
	else if (change == CHANGE_RETURN)
		ret = c->sneaked;
	id = copied(btf__add_func_proto(c->to, ret));
	for (int i = 0; i < nr; i++) {
		const char *name = i < btf_vlen(proto)
					   ? btf__name_by_offset(c->from, params[i].name_off)
					   : "more";

		assert_int_equal(btf__add_func_param(c->to, name, args[i]), 0);
	}
	return id;
}

static inline bool is_tracepoint(enum hook_kind kind)
{
	return kind == HOOK_TP_BTF || kind == HOOK_RAW_TP;
}

static inline void copy_hook(struct btf_copy *c, bool tracepoint, const char *prefix,
			     const char *target)
{
	bool changed =
		c->m->target && c->m->tracepoint == tracepoint && !strcmp(c->m->target, target);
	enum change change = changed ? c->m->change : CHANGE_NOTHING;
	char name[128], gone[160];
	const struct btf_type *t;
	int id, proto;

	snprintf(name, sizeof(name), "%s%s", prefix, target);
	snprintf(gone, sizeof(gone), "%s_" RENAMED, name);
	id = btf__find_by_name_kind(c->from, name, tracepoint ? BTF_KIND_TYPEDEF : BTF_KIND_FUNC);
	if (id <= 0)
		return;
	t = btf__type_by_id(c->from, (uint32_t)id);
	if (tracepoint)
		t = btf__type_by_id(c->from, t->type);
	proto = copy_proto(c, btf__type_by_id(c->from, t->type), change);
	if (tracepoint)
		copied(btf__add_typedef(c->to, change == CHANGE_GONE ? gone : name,
					copied(btf__add_ptr(c->to, proto))));
	else
		copied(btf__add_func(c->to, change == CHANGE_GONE ? gone : name, BTF_FUNC_STATIC,
				     proto));
}

/* Only those hooks, with the change applied. */
static inline struct btf *btf_mutant(const struct btf *from, const struct kernel_hook *hooks,
				     size_t nr, const struct mutation *m)
{
	struct btf_copy *c = calloc(1, sizeof(*c) + btf__type_cnt(from) * sizeof(c->ids[0]));
	struct btf *to = btf__new_empty();
	int helpers = btf__find_by_name_kind(from, "bpf_func_id", BTF_KIND_ENUM);

	assert_non_null(c);
	assert_non_null(to);
	c->from = from;
	c->to = to;
	c->m = m;
	c->sneaked = copied(btf__add_ptr(to, copied(btf__add_struct(to, SNEAKED, 8))));
	assert_true(helpers > 0);
	copy_type(c, (uint32_t)helpers);
	copy_hook(c, false, "", "bpf_rdonly_cast");
	for (size_t i = 0; i < nr; i++) {
		bool tracepoint = is_tracepoint(hooks[i].kind);
		bool again = false;

		/* A function is copied once, even if it has several hooks. */
		for (size_t k = 0; k < i; k++)
			again |= is_tracepoint(hooks[k].kind) == tracepoint &&
				 !strcmp(hooks[k].target, hooks[i].target);
		if (!again)
			copy_hook(c, tracepoint,
				  tracepoint		       ? "btf_trace_"
				  : hooks[i].kind == HOOK_ITER ? "bpf_iter_"
							       : "",
				  hooks[i].target);
	}
	free(c);
	return to;
}

#endif
