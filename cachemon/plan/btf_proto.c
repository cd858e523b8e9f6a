/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/btf_proto.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PROTO_MAX  512
#define DEPTH_MAX  16 /* pointers and typedefs of one type; more is a damaged BTF */
#define TRACEPOINT "btf_trace_"

struct text {
	char buf[PROTO_MAX];
	size_t len;
	bool full;
};

static void put_text(struct text *t, const char *s)
{
	size_t n = strlen(s);

	if (t->full || t->len + n >= sizeof(t->buf)) {
		t->full = true;
		return;
	}
	memcpy(t->buf + t->len, s, n + 1);
	t->len += n;
}

/* gcc and clang name the same integer differently in DWARF. */
static const char *canonical_int(const char *name)
{
	static const char *const names[][2] = {
		{"long unsigned int", "unsigned long"},
		{"long int", "long"},
		{"long long unsigned int", "unsigned long long"},
		{"long long int", "long long"},
		{"short unsigned int", "unsigned short"},
		{"short int", "short"},
		{"_Bool", "bool"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i][0]))
			return names[i][1];
	}
	return name;
}

static void put_type(struct text *t, const struct btf *btf, uint32_t id)
{
	char stars[DEPTH_MAX + 1] = "";
	size_t nr_stars = 0;
	const struct btf_type *type = NULL;
	const char *name;

	for (int depth = 0;; depth++) {
		type = id ? btf__type_by_id(btf, id) : NULL;
		if (depth == DEPTH_MAX || (id && !type)) {
			t->full = true;
			return;
		}
		if (type && btf_is_ptr(type))
			stars[nr_stars++] = '*';
		else if (!type || !(btf_is_mod(type) || btf_is_type_tag(type)))
			break;
		id = type->type;
	}
	name = type ? btf__name_by_offset(btf, type->name_off) : "void";
	if (type && btf_is_func_proto(type))
		name = "fn";
	else if (type && btf_is_int(type))
		name = canonical_int(name);
	else if (!name || !*name)
		name = "?";
	put_text(t, name);
	put_text(t, stars);
}

static void put_proto(struct text *t, const struct btf *btf, const struct btf_type *proto, int skip)
{
	const struct btf_param *params = btf_params(proto);

	put_type(t, btf, proto->type);
	put_text(t, "(");
	for (int i = skip; i < btf_vlen(proto); i++) {
		if (i > skip)
			put_text(t, ",");
		if (!params[i].type && !params[i].name_off)
			put_text(t, "..."); /* void without a name: variadic */
		else
			put_type(t, btf, params[i].type);
	}
	put_text(t, ")");
}

/* The FUNC_PROTO of a tracepoint's typedef (-> pointer -> prototype) or of a function. */
static const struct btf_type *find_proto(const struct btf *btf, enum hook_kind kind,
					 const char *target)
{
	bool tracepoint = kind == HOOK_TP_BTF || kind == HOOK_RAW_TP;
	char name[128];
	int32_t id;
	const struct btf_type *type;

	if (snprintf(name, sizeof(name), "%s%s",
		     tracepoint		 ? TRACEPOINT
		     : kind == HOOK_ITER ? "bpf_iter_"
					 : "",
		     target) >= (int)sizeof(name))
		return NULL;
	id = btf__find_by_name_kind(btf, name, tracepoint ? BTF_KIND_TYPEDEF : BTF_KIND_FUNC);
	type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	if (type && tracepoint) {
		type = btf__type_by_id(btf, type->type);
		if (!type || !btf_is_ptr(type))
			return NULL;
	}
	type = type ? btf__type_by_id(btf, type->type) : NULL;
	return type && btf_is_func_proto(type) ? type : NULL;
}

int btf_proto_text(const struct btf *btf, enum hook_kind kind, const char *target, char *ret_text,
		   size_t size)
{
	struct text t = {.len = 0};
	const struct btf_type *proto = NULL;

	if (kind != HOOK_PERF_EVENT) {
		proto = find_proto(btf, kind, target);
		if (!proto)
			return -ENOENT;
	}
	if (proto && kind != HOOK_ITER)
		put_proto(&t, btf, proto, kind == HOOK_TP_BTF || kind == HOOK_RAW_TP);
	if (t.full || t.len >= size)
		return -E2BIG;
	memcpy(ret_text, t.buf, t.len + 1);
	return 0;
}
