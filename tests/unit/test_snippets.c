/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
/* The commands of notes, filled in with the facts of a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cachemon/report/run/snippets.h"

#define BYTES(text)                                                                                \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}

static struct model_file file = {.path = BYTES("/data/it's/a b")};
static struct model_directory directory = {.path = BYTES("/data/it's")};

/* A job that read 100 MiB of pages, of which 36 MiB refaulted, below a limit of 128 MiB. */
static void make(struct model *m, struct model_job *job)
{
	*m = (struct model){
		.run = {.page_size_bytes = {4096, true}, .memory_bytes = {(int64_t)8 << 30, true}}};
	*job = (struct model_job){
		.selector = BYTES("command: python3 'my train.py'"),
		.limit_bytes = {128 << 20, true},
		.limit_at = BYTES("/sys/fs/cgroup/system.slice/my train.service"),
		.files = &file,
		.nr_files = 1,
		.directories = &directory,
		.nr_directories = 1,
	};
	for (int c = 0; c < C_NR; c++)
		job->counts.known[c] = true;
	job->counts.c[C_demand_pages] = 25600;
	job->counts.c[C_refaults] = 9216;
}

/* want NULL: left out */
static void expect(const struct model *m, const struct model_job *job, const struct finding *f,
		   const char *code, const char *want)
{
	const struct snippet_of of = {m, job, f};
	const struct note_snippet s = {"shell", code};
	char *text = NULL;

	assert_int_equal(snippet_fill(&of, &s, &text), 0);
	if (!want)
		assert_null(text);
	else
		assert_string_equal(text ? text : "left out", want);
	free(text);
}

static void test_names(void **state)
{
	struct model m;
	struct model_job job;
	const struct finding of_job = {.kind = SUBJECT_JOB};
	const struct finding of_file = {.kind = SUBJECT_FILE, .subject = BYTES("/x/$(reboot)")};
	const struct finding of_bidi = {.kind = SUBJECT_FILE,
					.subject = BYTES("/x/\xe2\x80\xae'; reboot; '")};
	const struct finding of_root = {.kind = SUBJECT_FILE, .subject = BYTES("/f")};
	const struct finding of_directory = {.kind = SUBJECT_DIRECTORY,
					     .subject = BYTES("/data/it's")};
	const struct finding of_type = {.kind = SUBJECT_DEVICE, .subject = BYTES("nfs4")};
	const struct finding nameless = {.kind = SUBJECT_FILE};

	make(&m, &job);
	expect(&m, &job, &of_job, "ls %DIRECTORY% %FILE%;",
	       "ls '/data/it'\\''s' '/data/it'\\''s/a b';");
	expect(&m, &job, &of_file, "ls %DIRECTORY% %FILE%", "ls /x '/x/$(reboot)'");
	expect(&m, &job, &of_root, "ls %DIRECTORY%", "ls /");
	/* A document would escape that character and then a backslash, so quoted text must not
	 * contain it. */
	expect(&m, &job, &of_bidi, "ls %FILE%", "ls $'/x/\\xe2\\x80\\xae\\'; reboot; \\''");
	expect(&m, &job, &of_directory, "ls %FILE%", "ls '/data/it'\\''s/a b'");
	expect(&m, &job, &of_job, "%COMMAND%", "python3 'my train.py'");
	/* Other text stays; an unknown fact leaves out the whole command. */
	expect(&m, &job, &of_job, "printf '%s %UNI %%\n'", "printf '%s %UNI %%\n'");
	expect(&m, &job, &of_type, "ls %DIRECTORY%", NULL);
	expect(&m, &job, &nameless, "ls %FILE%", NULL);
	expect(&m, &job, &nameless, "iostat", "iostat");
	job.selector = (struct bytes)BYTES("command: python3 ...");
	expect(&m, &job, &of_job, "%COMMAND%", NULL);
	job.selector = (struct bytes)BYTES("pid: 12");
	expect(&m, &job, &of_job, "%COMMAND%", NULL);
	job.selector = (struct bytes)BYTES("command: python3 'a;b' $'\\x27;' it's");
	expect(&m, &job, &of_job, "%COMMAND%", NULL);
	job.selector = (struct bytes)BYTES("command: python3; reboot");
	expect(&m, &job, &of_job, "%COMMAND%", NULL);
	job.selector = (struct bytes)BYTES("command: python3 'a;b' $'\\x27;'");
	expect(&m, &job, &of_job, "%COMMAND%", "python3 'a;b' $'\\x27;'");
	job.nr_directories = 0;
	expect(&m, &job, &of_job, "ls %DIRECTORY%", NULL);
}

/* A dataset of several directories is named by the directory that contains them. */
static void test_dataset(void **state)
{
	struct model_directory directories[] = {
		{.path = BYTES("/home/a/data/class7")},
		{.path = BYTES("/home/a/data/class10")},
		{.path = BYTES("/home/a/data")},
		{.path = BYTES("/home/a/database")},
		{.path = BYTES("/usr/lib")},
		{.path = {NULL, 0}},
	};
	static const int64_t misses[] = {400, 350, 100, 60, 50, 40};
	const struct finding of_job = {.kind = SUBJECT_JOB};
	struct model m;
	struct model_job job;

	make(&m, &job);
	for (size_t i = 0; i < 6; i++)
		directories[i].counts.c[C_misses] = misses[i];
	job.directories = directories;
	job.nr_directories = 6;
	expect(&m, &job, &of_job, "ls %DIRECTORY%", "ls /home/a/data");
	directories[4].counts.c[C_misses] = 120;
	expect(&m, &job, &of_job, "ls %DIRECTORY%", "ls /home/a");
	/* Only the root contains most of it. */
	directories[4].counts.c[C_misses] = 390;
	expect(&m, &job, &of_job, "ls %DIRECTORY%", "ls /home/a/data/class7");
	/* No misses are known. */
	job.nr_directories = 1;
	directories[0].counts.c[C_misses] = 0;
	expect(&m, &job, &of_job, "ls %DIRECTORY%", "ls /home/a/data/class7");
}

/* The run of the report, not the last run of another database. */
static void test_run(void **state)
{
	static const char code[] = "cachemon whatif cache --db %DB% --run %RUN%";
	const struct finding f = {.kind = SUBJECT_JOB};
	struct model m;
	struct model_job job;

	make(&m, &job);
	m.run.id = 17;
	m.db = "my runs/a.db";
	expect(&m, &job, &f, code, "cachemon whatif cache --db 'my runs/a.db' --run 17");
	/* The default database needs no name. */
	m.db = NULL;
	expect(&m, &job, &f, code, "cachemon whatif cache --run 17");
	expect(&m, &job, &f, "sqlite3 %DB%", NULL);
}

static void test_limits(void **state)
{
	static const char unit[] = "set %UNIT% %LIMIT_BYTES%";
	static const char plain[] = "echo %LIMIT_BYTES% | sudo tee %LIMIT_FILE%";
	static const char slurm[] = "job %SLURM_JOB% %LIMIT_MIB%";
	static const char low[] = "%UNIT% %LOW_BYTES%";
	static const char low_file[] = "%LOW_FILE% %LOW_BYTES%";
	const struct finding f = {.kind = SUBJECT_JOB};
	struct model m;
	struct model_job job;

	make(&m, &job);
	/* 128 MiB and 64 MiB, rounded up by one. */
	expect(&m, &job, &f, unit, "set 'my train.service' 202375168");
	expect(&m, &job, &f, plain, NULL);
	expect(&m, &job, &f, slurm, NULL);
	expect(&m, &job, &f, "%LIMIT_NOW%", "134217728");
	expect(&m, &job, &f, low, "'my train.service' 67108864");
	expect(&m, &job, &f, low_file, NULL);
	job.limit_at = (struct bytes)BYTES("/sys/fs/cgroup/my job");
	expect(&m, &job, &f, low_file, "'/sys/fs/cgroup/my job/memory.low' 67108864");
	/* cgroup v1 cannot protect memory. */
	job.limit_at = (struct bytes)BYTES("/sys/fs/cgroup/memory/a.service");
	expect(&m, &job, &f, low, NULL);
	job.limit_at = (struct bytes)BYTES("/sys/fs/cgroup/memory/my job");
	expect(&m, &job, &f, low_file, NULL);
	expect(&m, &job, &f, plain,
	       "echo 202375168 | sudo tee '/sys/fs/cgroup/memory/my job/memory.limit_in_bytes'");
	expect(&m, &job, &f, unit, NULL);
	job.limit_at =
		(struct bytes)BYTES("/sys/fs/cgroup/system.slice/slurmstepd.scope/job_1234/step_0");
	expect(&m, &job, &f, slurm, "job 1234 193");
	expect(&m, &job, &f, "cat %LIMIT_FILE%",
	       "cat /sys/fs/cgroup/system.slice/slurmstepd.scope/job_1234/step_0/memory.max");
	/* The machine has less memory; there is no limit; refaults were not counted. */
	m.run.memory_bytes.value = 128 << 20;
	expect(&m, &job, &f, plain, NULL);
	make(&m, &job);
	job.limit_bytes.known = false;
	expect(&m, &job, &f, unit, NULL);
	make(&m, &job);
	job.counts.known[C_refaults] = false;
	expect(&m, &job, &f, "%LOW_BYTES%", NULL);
}

/* Pages that were only written need no room. All pages that came back may be pages that were
 * written again. */
static void test_written(void **state)
{
	const struct finding f = {.kind = SUBJECT_JOB};
	struct model m;
	struct model_job job;

	make(&m, &job);
	job.counts.c[C_written_pages] = 4096;
	/* 25600 read; of 9216 that came back 4096 at most were written. */
	expect(&m, &job, &f, "%LOW_BYTES%", "83886080");
	job.counts.c[C_written_pages] = 100000;
	expect(&m, &job, &f, "%LOW_BYTES%", "104857600");
}

static void expect_command(const struct model *m, const char *at, const char *want)
{
	const struct finding f = {.kind = SUBJECT_JOB};
	struct model ignored;
	struct model_job job;

	make(&ignored, &job);
	job.limit_at = (struct bytes){at, strlen(at)};
	expect(m, &job, &f, "%SYSTEMCTL% stop %UNIT%", want);
	expect(m, &job, &f, "%LIMIT_FILE%", NULL);
}

/* The manager that has the unit, if any has it. */
static void test_managers(void **state)
{
	static const char of_root[] =
		"/sys/fs/cgroup/user.slice/user-0.slice/user@0.service/app.slice/a.scope";
	static const char of_user[] = "/sys/fs/cgroup/user.slice/user-4294967000.slice/"
				      "user@4294967000.service/app.slice/app-b.slice/b.service";
	struct model m;
	struct model_job job;

	make(&m, &job);
	m.run.user = (struct bytes)BYTES("root");
	expect_command(&m, "/sys/fs/cgroup/system.slice/a.service",
		       "sudo systemctl stop a.service");
	expect_command(&m, "/sys/fs/cgroup/unified/system.slice/a.scope",
		       "sudo systemctl stop a.scope");
	expect_command(&m, "/sys/fs/cgroup/memory/a.slice", "sudo systemctl stop a.slice");
	expect_command(&m, "/sys/fs/cgroup/user.slice/user-7.slice/user@7.service",
		       "sudo systemctl stop user@7.service");
	expect_command(&m, "/sys/fs/cgroup/user.slice/user-7.slice/session-3.scope",
		       "sudo systemctl stop session-3.scope");
	expect_command(&m, of_root, "systemctl --user stop a.scope");
	expect_command(&m, of_user,
		       "sudo -u '#4294967000' XDG_RUNTIME_DIR=/run/user/4294967000 "
		       "systemctl --user stop b.service");
	m.run.user = (struct bytes)BYTES("uid 4294967000");
	expect_command(&m, of_user, "systemctl --user stop b.service");
	expect_command(&m, of_root,
		       "sudo -u '#0' XDG_RUNTIME_DIR=/run/user/0 systemctl --user stop a.scope");
	m.run.user = (struct bytes){0};
	expect_command(&m, of_root,
		       "sudo -u '#0' XDG_RUNTIME_DIR=/run/user/0 systemctl --user stop a.scope");
}

/* A container's own units, a directory that a unit's program made, and other directories. */
static void test_no_unit(void **state)
{
	static const char *const directories[] = {
		"system.slice/docker-ab.scope/system.slice/a.service",
		"system.slice/a.service/b.service",
		"user.slice/user-7.slice/user@7.service/a.scope/b.scope",
		"user.slice/user@7.service/user@8.service/b.scope",
		"user.slice/user@.service/b.scope",
		"user.slice/user@7x.service/b.scope",
		"kubepods/pod1/a.service",
		"a.service/",
		".service",
		"a",
	};

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		const struct finding f = {.kind = SUBJECT_JOB};
		struct model m;
		struct model_job job;
		char at[128], file[160];

		make(&m, &job);
		snprintf(at, sizeof(at), "/sys/fs/cgroup/%s", directories[i]);
		snprintf(file, sizeof(file), "tee %s/memory.max", at);
		job.limit_at = (struct bytes){at, strlen(at)};
		expect(&m, &job, &f, "%UNIT%", NULL);
		expect(&m, &job, &f, "%SYSTEMCTL%", NULL);
		expect(&m, &job, &f, "tee %LIMIT_FILE%", file);
	}
}

/* A window is raised only if it is smaller, and lowered only if it is larger. */
static void test_windows(void **state)
{
	static struct model_filesystem filesystems[] = {
		{.mount = BYTES("/"), .read_ahead_kb = {128, true}},
		{.mount = BYTES("/data"), .read_ahead_kb = {8192, true}},
		{.mount = BYTES("/data/new"), .read_ahead_kb = {0, false}},
	};
	const struct finding of_job = {.kind = SUBJECT_JOB};
	const struct finding of_file = {.kind = SUBJECT_FILE, .subject = BYTES("/database/f")};
	const struct finding of_device = {.kind = SUBJECT_DEVICE, .subject = BYTES("/data")};
	const struct finding unknown = {.kind = SUBJECT_FILE, .subject = BYTES("/data/new/f")};
	struct model m;
	struct model_job job;

	make(&m, &job);
	expect(&m, &job, &of_job, "%KIB_BELOW_4096%", NULL);
	job.filesystems = filesystems;
	job.nr_filesystems = 3;
	expect(&m, &job, &of_job, "%KIB_BELOW_4096%", NULL);
	expect(&m, &job, &of_job, "%KIB_BELOW_8192%", NULL);
	expect(&m, &job, &of_job, "# %KIB_BELOW_8193% is", "# 8192 is");
	expect(&m, &job, &of_device, "%KIB_ABOVE_128%", "8192");
	expect(&m, &job, &of_file, "%KIB_ABOVE_128%", NULL);
	expect(&m, &job, &of_file, "%KIB_ABOVE_16%", "128");
	expect(&m, &job, &of_file, "%KIB_BELOW_4096%", "128");
	expect(&m, &job, &unknown, "%KIB_BELOW_4096%", NULL);
	expect(&m, &job, &unknown, "%KIB_BELOW_4x%", "%KIB_BELOW_4x%");
}

/* The device and the mount of a subject, and a file by the end of its name. */
static void test_devices(void **state)
{
	static struct model_filesystem filesystems[] = {
		{.mount = BYTES("/"), .type = BYTES("ext4"), .device = BYTES("nvme0n1p2")},
		{.mount = BYTES("/data"), .type = BYTES("nfs4")},
	};
	const struct finding local = {.kind = SUBJECT_FILE, .subject = BYTES("/home/x.h5")};
	const struct finding remote = {.kind = SUBJECT_FILE, .subject = BYTES("/data/x.txt")};
	struct model m;
	struct model_job job;

	make(&m, &job);
	expect(&m, &job, &local, "iostat -x %DEVICE% 5", NULL);
	job.filesystems = filesystems;
	job.nr_filesystems = 2;
	expect(&m, &job, &local, "iostat -x %DEVICE% 5", "iostat -x nvme0n1p2 5");
	expect(&m, &job, &remote, "iostat -x %DEVICE% 5", NULL);
	expect(&m, &job, &local, "# for %NFS_MOUNT%", NULL);
	expect(&m, &job, &remote, "# for %NFS_MOUNT%", "# for /data");
	expect(&m, &job, &local, "h5dump %HDF_FILE%", "h5dump /home/x.h5");
	expect(&m, &job, &remote, "h5dump %HDF_FILE%", NULL);
}

/* Code has no placeholders. */
static void test_code(void **state)
{
	const struct finding f = {.kind = SUBJECT_JOB};
	const struct note_snippet s = {"c", "x = a %FILE% b;"};
	struct model m;
	struct model_job job;
	char *text = NULL;

	make(&m, &job);
	assert_int_equal(snippet_fill(&(struct snippet_of){&m, &job, &f}, &s, &text), 0);
	assert_string_equal(text, s.code);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	cmocka_unit_test(test_dataset),
		cmocka_unit_test(test_run),	cmocka_unit_test(test_limits),
		cmocka_unit_test(test_written), cmocka_unit_test(test_managers),
		cmocka_unit_test(test_no_unit), cmocka_unit_test(test_windows),
		cmocka_unit_test(test_devices), cmocka_unit_test(test_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
