/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: access */
/* The numbers of this architecture that BPF programs use, compared with its own headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <asm/unistd.h>
#include <fcntl.h>

#if defined(__aarch64__)
#define CACHEMON_ARCH_arm64
#elif defined(__x86_64__)
#define CACHEMON_ARCH_x86
#endif
#include "bpf/arch_uapi.h"

static void test_system_calls(void **state)
{
#define SAME(call) assert_int_equal(NR_##call, __NR_##call)
	SAME(read);
	SAME(write);
	SAME(readv);
	SAME(writev);
	SAME(pread64);
	SAME(pwrite64);
	SAME(preadv);
	SAME(pwritev);
	SAME(preadv2);
	SAME(pwritev2);
	SAME(sendfile);
	SAME(splice);
	SAME(copy_file_range);
	SAME(ftruncate);
	SAME(fallocate);
	SAME(readahead);
	SAME(fadvise64);
	SAME(madvise);
	SAME(process_madvise);
	SAME(io_submit);
	SAME(io_uring_enter);
	SAME(execve);
	SAME(execveat);
	SAME(finit_module);
	SAME(openat);
	SAME(openat2);
	SAME(mkdirat);
	SAME(unlinkat);
#ifdef __x86_64__
	SAME(open);
	SAME(creat);
	SAME(mkdir);
	SAME(rmdir);
	SAME(unlink);
#endif
}

static void test_flags(void **state)
{
	assert_int_equal(ARCH_O_DIRECT, O_DIRECT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_system_calls),
		cmocka_unit_test(test_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
