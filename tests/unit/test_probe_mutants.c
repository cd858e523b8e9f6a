/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: plan account access */
/*
 * Kernels that differ from the real ones in one detail: a hook is gone, has one argument more or
 * less, an argument of another type, another return value, or a renamed type. For every hook of the
 * table, on every kernel that has it, the chosen program must give way to the next candidate that
 * fits, and the reason must be reported.
 */
#include "btf_mutant.h"
#include "build_name.h"

static const struct plan_request all = {LEVEL_FULL, true, true, true, true, true, true, true};

struct world {
	struct fake_root root;
	struct btf *btf;	 /* of a real kernel, reduced */
	struct kernel_caps caps; /* of that */
	struct probe_plan plans[NR_MACHINES];
	size_t nr_displaced;
	unsigned int displaced_by[128]; /* bits 1 << enum change, for each row of the table */
};

static void write_btf(const struct fake_root *root, struct btf *btf)
{
	uint32_t size;
	const void *data = btf__raw_data(btf, &size);
	int fd = fake_root_open(root, KERNEL_BTF_PATH);

	assert_non_null(data);
	assert_int_equal(write(fd, data, size), size);
	close(fd);
}

/* The text of the prototype after the change, made by editing the text. */
static void change_text(const struct mutation *m, const char *proto, char *buf, size_t size)
{
	const char *open = strchr(proto, '('), *close = strrchr(proto, ')'), *p;

	assert_true(open && close);
	p = open + 1;
	switch (m->change) {
	case CHANGE_ARG_ADDED:
		snprintf(buf, size, "%.*s%s" SNEAKED "*)", (int)(close - proto), proto,
			 close > p ? "," : "");
		break;
	case CHANGE_ARG_LOST:
		while (close > p && close[-1] != ',')
			close--;
		snprintf(buf, size, "%.*s)", (int)(close - proto) - (close > p), proto);
		break;
	case CHANGE_ARG:
		for (int i = 0; i < m->nr; i++)
			p = strchr(p, ',') + 1;
		snprintf(buf, size, "%.*s" SNEAKED "*%s", (int)(p - proto), proto,
			 p + strcspn(p, ",)"));
		break;
	case CHANGE_RETURN:
		snprintf(buf, size, SNEAKED "*%s", open);
		break;
	default:
		fail_msg("%s is not changed alone", proto);
	}
}

static void rename_words(const char *name, const char *proto, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	while (*proto) {
		size_t n = strcspn(proto, "(,)*");
		bool is = n == strlen(name) && !strncmp(proto, name, n);

		if (is)
			len += (size_t)snprintf(buf + len, size - len, RENAMED);
		else
			len += (size_t)snprintf(buf + len, size - len, "%.*s", (int)n, proto);
		proto += n;
		if (*proto)
			len += (size_t)snprintf(buf + len, size - len, "%c", *proto++);
		assert_true(len < size);
	}
}

static bool is_changed(const struct mutation *m, const struct kernel_hook *h)
{
	if (h->err || (!m->target && m->change != CHANGE_TYPE))
		return false;
	if (m->change == CHANGE_TYPE)
		return true;
	return m->tracepoint == is_tracepoint(h->kind) && !strcmp(m->target, h->target);
}

/* The facts that should be found for the kernel. */
static void expect_hooks(const struct mutation *m, struct kernel_caps *caps)
{
	char text[KERNEL_PROTO_MAX];

	for (size_t i = 0; i < caps->nr_hooks; i++) {
		struct kernel_hook *h = &caps->hooks[i];

		if (!is_changed(m, h))
			continue;
		if (m->change == CHANGE_GONE) {
			h->err = h->module ? -ENODEV : -ENOENT;
			h->proto[0] = '\0';
		} else if (h->kind != HOOK_ITER) {
			if (m->change == CHANGE_TYPE)
				rename_words(m->name, h->proto, text, sizeof(text));
			else
				change_text(m, h->proto, text, sizeof(text));
			strcpy(h->proto, text);
		}
	}
}

static void assert_same_hooks(const struct kernel_caps *a, const struct kernel_caps *b)
{
	assert_int_equal(a->nr_hooks, b->nr_hooks);
	for (size_t i = 0; i < a->nr_hooks; i++) {
		assert_int_equal(a->hooks[i].err, b->hooks[i].err);
		assert_string_equal(a->hooks[i].proto, b->hooks[i].proto);
	}
}

static bool fits(const struct kernel_caps *caps, const struct probe_candidate *c)
{
	const struct kernel_hook *h = kernel_caps_hook(caps, c->kind, c->target);

	if (h->err || caps->support[c->kind].trial != TRIAL_WORKS)
		return false;
	if (c->when == WHEN_SYMBOLS && caps->kallsyms != CAPS_YES)
		return false;
	for (int i = 0; i < PROBE_PROTOS_MAX && c->protos[i]; i++) {
		if (!strcmp(h->proto, c->protos[i]))
			return true;
	}
	return !c->protos[0];
}

static size_t first_fit(const struct kernel_caps *caps, enum probe_role role)
{
	const struct probe_table *t = probe_table_own();
	size_t i = 0;

	while (i < t->nr && (t->rows[i].role != role || !fits(caps, &t->rows[i])))
		i++;
	return i;
}

/* The reason given for a candidate that was replaced. */
static void check_reason(const struct kernel_caps *caps, const struct probe_candidate *c,
			 const struct probe_choice *now)
{
	const struct kernel_hook *h = kernel_caps_hook(caps, c->kind, c->target);
	const char *said = now->state == PROBE_LIVE ? now->instead : now->reason;
	char why[512];

	if (h->err)
		snprintf(why, sizeof(why), "%s:%s is not in this kernel", hook_kind_name(c->kind),
			 c->target);
	else
		snprintf(why, sizeof(why), "%s:%s has the prototype %s here; cachemon supports %s",
			 hook_kind_name(c->kind), c->target, h->proto, c->protos[0]);
	assert_contains(said, why);
}

static void check_mutant(struct world *w, const struct mutation *m, const struct kernel_caps *caps,
			 size_t machine)
{
	static struct probe_plan plan;
	const struct probe_plan *before = &w->plans[machine];

	make(caps, &all, &plan);
	for (int r = 0; r < ROLE_NR; r++) {
		const struct probe_choice *was = &before->choices[r], *is = &plan.choices[r];
		size_t row = first_fit(caps, r);
		bool wanted = was->wanted;

		if (r == ROLE_URING)
			wanted = !probe_plan_by_function(&plan, ROLE_READ);
		if (r == ROLE_FAULT_ADDRESS && probe_build_traces(plan.build))
			wanted = !probe_plan_by_function(&plan, ROLE_FAULT);
		assert_int_equal(is->wanted, wanted);
		if (!wanted)
			continue;
		assert_int_equal(is->state,
				 row < probe_table_own()->nr ? PROBE_LIVE : PROBE_ABSENT);
		if (is->state == PROBE_LIVE)
			assert_int_equal(is->row, row);
		if (was->state != PROBE_LIVE || (is->state == PROBE_LIVE && is->row == was->row))
			continue;
		w->nr_displaced++;
		w->displaced_by[was->row] |= 1U << m->change;
		check_reason(caps, &probe_table_own()->rows[was->row], is);
	}
}

static void try_mutation(struct world *w, const struct mutation *m)
{
	struct btf *btf = btf_mutant(w->btf, w->caps.hooks, w->caps.nr_hooks, m);
	static struct kernel_caps expected, caps;

	write_btf(&w->root, btf);
	btf__free(btf);
	read_kernel(&w->root, &caps);
	expected = w->caps;
	expect_hooks(m, &expected);
	assert_same_hooks(&caps, &expected);
	assert_int_equal(caps.build, w->caps.build);
	for (size_t i = 0; i < NR_MACHINES; i++) {
		set_machine(&caps, i);
		check_mutant(w, m, &caps, i);
	}
}

static void open_world(struct world *w, const char *kernel)
{
	static const struct mutation none;
	char path[PATH_MAX];
	static struct kernel_caps caps;
	struct btf *whole;

	memset(w, 0, sizeof(*w));
	fake_root_make(&w->root);
	fake_root_btf(&w->root, kernel);
	read_kernel(&w->root, &w->caps);
	snprintf(path, sizeof(path), "%s%s", w->root.dir, KERNEL_BTF_PATH);
	whole = btf__parse_raw(path);
	assert_non_null(whole);
	w->btf = btf_mutant(whole, w->caps.hooks, w->caps.nr_hooks, &none);
	btf__free(whole);
	/* The parts that were left out change nothing. */
	write_btf(&w->root, w->btf);
	read_kernel(&w->root, &caps);
	assert_same_hooks(&caps, &w->caps);
	assert_int_equal(caps.build, w->caps.build);
	for (size_t i = 0; i < NR_MACHINES; i++) {
		set_machine(&caps, i);
		make(&caps, &all, &w->plans[i]);
	}
}

static void close_world(struct world *w)
{
	btf__free(w->btf);
	fake_root_remove(&w->root);
}

static int count_args(const char *proto)
{
	const char *p = strchr(proto, '(');
	int nr = p && p[1] != ')';

	while (nr && (p = strchr(p + 1, ',')))
		nr++;
	return nr;
}

/* No chosen program survives every change of its hook. */
static void check_displaced(const struct world *w)
{
	const struct probe_table *t = probe_table_own();

	assert_true(t->nr <= sizeof(w->displaced_by) / sizeof(w->displaced_by[0]));
	for (size_t i = 0; i < NR_MACHINES; i++) {
		for (int r = 0; r < ROLE_NR; r++) {
			const struct probe_choice *c = &w->plans[i].choices[r];
			unsigned int must = 1U << CHANGE_GONE;

			if (c->state != PROBE_LIVE)
				continue;
			if (c->kind != HOOK_ITER)
				must |= 1U << CHANGE_ARG_ADDED | 1U << CHANGE_ARG |
					1U << CHANGE_RETURN;
			if ((w->displaced_by[c->row] & must) != must)
				fail_msg("%s stays by %#x", c->program, must);
		}
	}
}

static void test_each_hook_changed(void **state)
{
	static struct world w;

	for (size_t k = 0; k < NR_KERNELS; k++) {
		open_world(&w, kernels[k]);
		for (size_t i = 0; i < w.caps.nr_hooks; i++) {
			const struct kernel_hook *h = &w.caps.hooks[i];
			struct mutation m = {.change = CHANGE_GONE,
					     .tracepoint = is_tracepoint(h->kind),
					     .target = h->target};

			if (h->err)
				continue;
			try_mutation(&w, &m);
			if (h->kind == HOOK_ITER)
				continue;
			m.change = CHANGE_ARG_ADDED;
			try_mutation(&w, &m);
			m.change = CHANGE_RETURN;
			try_mutation(&w, &m);
			m.change = CHANGE_ARG_LOST;
			if (count_args(h->proto))
				try_mutation(&w, &m);
			m.change = CHANGE_ARG;
			for (m.nr = 0; m.nr < count_args(h->proto); m.nr++)
				try_mutation(&w, &m);
		}
		check_displaced(&w);
		close_world(&w);
	}
}

static void test_each_type_renamed(void **state)
{
	static const char *const types[] = {
		"folio",
		"page",
		"address_space",
		"inode",
		"file_ra_state",
		"kiocb",
		"file",
		"iov_iter",
		"vm_fault",
		"task_struct",
		"super_block",
		"cgroup",
		"pt_regs",
		"gfp_t",
		"vm_fault_t",
		"mem_cgroup",
		"io_kiocb",
		"size_t",
		"loff_t",
		"ssize_t",
		"folio_batch",
		"iomap_dio_ops",
		"readahead_control",
	};
	static struct world w;
	size_t displaced[sizeof(types) / sizeof(types[0])] = {0};

	for (size_t k = 0; k < NR_KERNELS; k++) {
		open_world(&w, kernels[k]);
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
			struct mutation m = {.change = CHANGE_TYPE, .name = types[i]};
			size_t before = w.nr_displaced;

			try_mutation(&w, &m);
			displaced[i] += w.nr_displaced - before;
		}
		close_world(&w);
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!displaced[i])
			fail_msg("nobody minds that %s is gone", types[i]);
	}
}

static enum probe_build build_of(const struct world *w, const struct mutation *m)
{
	struct btf *btf = btf_mutant(w->btf, w->caps.hooks, w->caps.nr_hooks, m);
	enum probe_build build = probe_build_choose(btf);

	btf__free(btf);
	return build;
}

/* Chosen by the functions that the kernel has, not by its version. */
static void test_builds(void **state)
{
	static const enum probe_build real[NR_KERNELS] = {BUILD_BASIC, BUILD_PROBE, BUILD_DIRECT,
							  BUILD_DIRECT, BUILD_DIRECT};
	static const struct mutation none;
	static const struct mutation no_cast = {.change = CHANGE_GONE, .target = "bpf_rdonly_cast"};
	static const struct mutation no_helper = {.change = CHANGE_HELPER_GONE,
						  .name = "BPF_FUNC_map_lookup_percpu_elem"};
	static const struct mutation no_helpers = {.change = CHANGE_TYPE, .name = "bpf_func_id"};
	static const struct mutation other_helper = {.change = CHANGE_HELPER_GONE,
						     .name = "BPF_FUNC_map_lookup_elem"};
	static struct world w;

	for (size_t k = 0; k < NR_KERNELS; k++) {
		open_world(&w, kernels[k]);
		assert_int_equal(w.caps.build, real[k]);
		assert_int_equal(build_of(&w, &none), real[k]);
		assert_int_equal(build_of(&w, &other_helper), real[k]);
		assert_int_equal(build_of(&w, &no_helper), BUILD_BASIC);
		assert_int_equal(build_of(&w, &no_helpers), BUILD_BASIC);
		assert_int_equal(build_of(&w, &no_cast),
				 real[k] == BUILD_BASIC ? BUILD_BASIC : BUILD_PROBE);
		/* A newer build may be requested, an older one may not. */
		for (int wish = 0; wish < BUILD_NR; wish++) {
			setenv("CACHEMON_PROBES", build_name(wish), 1);
			assert_int_equal(build_of(&w, &none),
					 wish > (int)real[k] ? wish : (int)real[k]);
		}
		setenv("CACHEMON_PROBES", "fast", 1);
		assert_int_equal(build_of(&w, &none), real[k]);
		unsetenv("CACHEMON_PROBES");
		close_world(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_hook_changed),
		cmocka_unit_test(test_each_type_renamed),
		cmocka_unit_test(test_builds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
