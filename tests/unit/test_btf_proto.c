/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: plan account access */
#include "plan_fixture.h"

#include <bpf/btf.h>
#include <errno.h>

#include "cachemon/plan/btf_proto.h"
#include "cachemon/plan/kernel_caps.h"

/* "-": not in that kernel. Order of kernels: 5.10 6.1 6.12 6.18 7.2. */
static const struct {
	enum hook_kind kind;
	const char *target;
	const char *proto[5];
} real[] = {
	{HOOK_TP_BTF,
	 "mm_filemap_add_to_page_cache",
	 {"void(page*)", "void(folio*)", "void(folio*)", "void(folio*)", "void(folio*)"}},
	{HOOK_TP_BTF,
	 "page_cache_sync_ra",
	 {"-", "-", "-", "void(inode*,unsigned long,file_ra_state*,unsigned long)",
	  "void(inode*,unsigned long,file_ra_state*,unsigned long)"}},
	{HOOK_TP_BTF,
	 "sched_process_exit",
	 {"void(task_struct*)", "void(task_struct*)", "void(task_struct*)",
	  "void(task_struct*,bool)", "void(task_struct*,bool)"}},
	{HOOK_RAW_TP,
	 "mm_vmscan_direct_reclaim_begin",
	 {"void(int,gfp_t)", "void(int,gfp_t)", "void(int,gfp_t)", "void(int,gfp_t)",
	  "void(gfp_t,int,mem_cgroup*)"}},
	{HOOK_FEXIT,
	 "filemap_read",
	 {"-", "ssize_t(kiocb*,iov_iter*,ssize_t)", "ssize_t(kiocb*,iov_iter*,ssize_t)",
	  "ssize_t(kiocb*,iov_iter*,ssize_t)", "ssize_t(kiocb*,iov_iter*,ssize_t)"}},
	{HOOK_KPROBE,
	 "vfs_mkdir",
	 {"int(inode*,dentry*,umode_t)", "int(user_namespace*,inode*,dentry*,umode_t)",
	  "int(mnt_idmap*,inode*,dentry*,umode_t)", "dentry*(mnt_idmap*,inode*,dentry*,umode_t)",
	  "dentry*(mnt_idmap*,inode*,dentry*,umode_t,delegated_inode*)"}},
	{HOOK_FENTRY, "no_such_function", {"-", "-", "-", "-", "-"}},
	{HOOK_ITER, "task", {"", "", "", "", ""}},
	{HOOK_ITER, "no_such_iterator", {"-", "-", "-", "-", "-"}},
	{HOOK_PERF_EVENT, "major-faults", {"", "", "", "", ""}},
};

static void test_real_prototypes(void **state)
{
	struct fake_root root;
	struct kernel_env env = {root.dir, 0, hook_trial_run, NULL};
	static const char *const kernels[] = {"5.10", "6.1", "6.12", "6.18", "7.2"};
	const size_t nr = sizeof(real) / sizeof(real[0]);
	struct kernel_hook hooks[sizeof(real) / sizeof(real[0])] = {0};
	const struct kernel_hook *got;
	struct kernel_caps caps;

	fake_root_make(&root);
	for (size_t i = 0; i < nr; i++) {
		hooks[i].kind = real[i].kind;
		hooks[i].target = real[i].target;
	}
	for (size_t k = 0; k < 5; k++) {
		fake_root_btf(&root, kernels[k]);
		assert_int_equal(kernel_caps_read(&env, hooks, nr, &caps), 0);
		assert_int_equal(caps.btf_err, 0);
		for (size_t i = 0; i < nr; i++) {
			got = kernel_caps_hook(&caps, real[i].kind, real[i].target);
			assert_non_null(got);
			if (!strcmp(real[i].proto[k], "-")) {
				assert_int_equal(got->err, -ENOENT);
				continue;
			}
			assert_int_equal(got->err, 0);
			assert_string_equal(got->proto, real[i].proto[k]);
		}
		assert_null(kernel_caps_hook(&caps, HOOK_FENTRY, "vfs_mkdir"));
	}
	fake_root_remove(&root);
}

static void expect_proto(const struct btf *btf, const char *function, const char *proto)
{
	char text[256];

	assert_int_equal(btf_proto_text(btf, HOOK_FENTRY, function, text, sizeof(text)), 0);
	assert_string_equal(text, proto);
}

/* Shapes that no current hook has; libbpf returns positive ids unless it refuses to add them. */
static void test_proto_notation(void **state)
{
	struct btf *btf = btf__new_empty();
	int ul, dir, cst, fn, fnp, uni, ptr, self, proto;
	char text[256];

	assert_non_null(btf);
	ul = btf__add_int(btf, "long unsigned int", 8, 0);
	dir = btf__add_struct(btf, "inode", 8);
	cst = btf__add_const(btf, btf__add_ptr(btf, btf__add_volatile(btf, dir)));
	fn = btf__add_func_proto(btf, ul);
	assert_int_equal(btf__add_func_param(btf, "dir", cst), 0);
	assert_int_equal(btf__add_func_param(btf, "", 0), 0);
	assert_true(btf__add_func(btf, "variadic", BTF_FUNC_STATIC, fn) > 0);
	fnp = btf__add_ptr(btf, fn);
	uni = btf__add_union(btf, NULL, 8);
	ptr = btf__add_ptr(btf, 0);
	proto = btf__add_func_proto(btf, 0); /* parameters are added to the last type */
	assert_int_equal(btf__add_func_param(btf, "cb", fnp), 0);
	assert_int_equal(btf__add_func_param(btf, "u", uni), 0);
	assert_int_equal(btf__add_func_param(btf, "p", ptr), 0);
	assert_true(btf__add_func(btf, "pointers", BTF_FUNC_STATIC, proto) > 0);
	expect_proto(btf, "variadic", "unsigned long(inode*,...)");
	expect_proto(btf, "pointers", "void(fn*,?,void*)");
	assert_int_equal(btf_proto_text(btf, HOOK_FENTRY, "variadic", text, 25), -E2BIG);
	assert_int_equal(btf_proto_text(btf, HOOK_FENTRY, "variadic", text, 26), 0);

	/* A pointer to itself, an argument of a type that does not exist, and too many
	 * arguments. */
	self = (int)btf__type_cnt(btf);
	assert_int_equal(btf__add_ptr(btf, self), self);
	assert_true(btf__add_func(btf, "endless", BTF_FUNC_STATIC, btf__add_func_proto(btf, self)) >
		    0);
	assert_int_equal(btf_proto_text(btf, HOOK_FENTRY, "endless", text, sizeof(text)), -E2BIG);
	assert_true(btf__add_func(btf, "dangling", BTF_FUNC_STATIC,
				  btf__add_func_proto(btf, 9999)) > 0);
	assert_int_equal(btf_proto_text(btf, HOOK_FENTRY, "dangling", text, sizeof(text)), -E2BIG);
	proto = btf__add_func_proto(btf, 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(btf__add_func_param(btf, "x", ul), 0);
	assert_true(btf__add_func(btf, "long", BTF_FUNC_STATIC, proto) > 0);
	assert_int_equal(btf_proto_text(btf, HOOK_FENTRY, "long", text, sizeof(text)), -E2BIG);

	/* Typedefs with the tracepoint's name that are not callbacks. */
	btf__add_typedef(btf, "btf_trace_number", ul);
	btf__add_typedef(btf, "btf_trace_data", btf__add_ptr(btf, ul));
	assert_int_equal(btf_proto_text(btf, HOOK_TP_BTF, "number", text, sizeof(text)), -ENOENT);
	assert_int_equal(btf_proto_text(btf, HOOK_TP_BTF, "data", text, sizeof(text)), -ENOENT);
	memset(text, 'x', 200);
	text[200] = '\0';
	assert_int_equal(btf_proto_text(btf, HOOK_TP_BTF, text, text, sizeof(text)), -ENOENT);
	btf__free(btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_prototypes),
		cmocka_unit_test(test_proto_notation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
