/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: job access */
/* Which cgroup a name means, by the layouts of Slurm, systemd, container runtimes and libvirt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cachemon/job/job_find.h"
#include "cgroup_tree.h"

#define POD_UID	 "5ba385ca-b6e6-4246-bd66-d48d429dbc12"
#define POD_UID_ "5ba385ca_b6e6_4246_bd66_d48d429dbc12"
#define ID_32	 "0123456789abcdef0123456789abcdef"
#define ID_A	 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_B	 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static const struct {
	const char *path;
	enum find_kind kind;
	const char *name;
	bool match;
} rows[] = {
	{"/system.slice/slurmstepd.scope/job_12", FIND_SLURM, "12", true},
	{"/system.slice/n1_slurmstepd.scope/job_12", FIND_SLURM, "12", true},
	{"/slurm/uid_1000/job_12", FIND_SLURM, "12", true},
	{"/slurm_n1/uid_1000/job_12", FIND_SLURM, "12", true},
	{"/slurm/uid_1000/job_12", FIND_SLURM, "1", false},
	{"/slurm/uid_1000/job_12", FIND_SLURM, "2", false},
	{"/slurm/uid_1000/job_12/step_0", FIND_SLURM, "12", false},
	{"/slurm/uid_1000/job_12/step_0", FIND_SLURM, "12.0", true},
	{"/slurm/uid_1000/job_12/step_batch", FIND_SLURM, "12.batch", true},
	{"/slurm/uid_1000/job_12/step_10", FIND_SLURM, "12.1", false},
	{"/slurm/uid_1000/job_12/step_0", FIND_SLURM, "12.", false},
	{"/slurm/uid_1000/job_12/step_0/task_0", FIND_SLURM, "12.0", false},
	{"/slurm/uid_1000/job_2/step_0", FIND_SLURM, "12.0", false},
	{"/step_0", FIND_SLURM, "12.0", false},
	{"/slurmx/uid_1000/job_12", FIND_SLURM, "12", false},
	{"/slurm_/uid_1000/job_12", FIND_SLURM, "12", false},
	{"/uid_1000/job_12", FIND_SLURM, "12", false},
	{"/xslurmstepd.scope/job_12", FIND_SLURM, "12", false},
	{"/job_12", FIND_SLURM, "12", false},
	/* Where users may make cgroups. */
	{"/user.slice/user-1000.slice/user@1000.service/slurmstepd.scope/job_12", FIND_SLURM, "12",
	 false},
	{"/user.slice/slurm/uid_1000/job_12", FIND_SLURM, "12", false},
	{"/system.slice/x.service/slurmstepd.scope/job_12", FIND_SLURM, "12", false},
	{"/slurmstepd.scope/job_12/step_0", FIND_SLURM, "12.0", true},
	{"job_12", FIND_SLURM, "12", false},
	{"/", FIND_SLURM, "", false},
	{"/system.slice/a.service", FIND_UNIT, "a.service", true},
	{"/system.slice/a.service", FIND_UNIT, "a", true},
	{"/a.slice/run-1.scope", FIND_UNIT, "run-1.scope", true},
	{"/a.slice", FIND_UNIT, "a.slice", true},
	{"/a.slice", FIND_UNIT, "a", false},
	{"/run-1.scope", FIND_UNIT, "run-1", false},
	{"/system.slice/a.service/b", FIND_UNIT, "a", false},
	{"/system.slice/ba.service", FIND_UNIT, "a", false},
	{"/plain", FIND_UNIT, "plain", false},
	{"/docker/" ID_A, FIND_CONTAINER, ID_A, true},
	{"/docker/" ID_A, FIND_CONTAINER, "0123456789ab", true},
	{"/docker/" ID_A, FIND_CONTAINER, "0123456789a", false},
	{"/docker/" ID_A, FIND_CONTAINER, "123456789abc", false},
	{"/docker/" ID_A, FIND_CONTAINER, ID_A "0", false},
	{"/docker/" ID_A, FIND_CONTAINER, "0123456789AB", false},
	{"/system.slice/docker-" ID_A ".scope", FIND_CONTAINER, "0123456789ab", true},
	{"/k/cri-containerd-" ID_A ".scope", FIND_CONTAINER, ID_A, true},
	{"/k/crio-" ID_A ".scope", FIND_CONTAINER, ID_A, true},
	{"/m/libpod-" ID_A ".scope", FIND_CONTAINER, ID_A, true},
	{"/m/libpod-" ID_A, FIND_CONTAINER, ID_A, true},
	{"/m/nerdctl-" ID_A ".scope", FIND_CONTAINER, ID_A, true},
	/* Finds the monitor's cgroup of a container, not the container's. */
	{"/m/libpod-conmon-" ID_A ".scope", FIND_CONTAINER, ID_A, false},
	{"/k/crio-conmon-" ID_A ".scope", FIND_CONTAINER, ID_A, false},
	{"/docker/" ID_A "/init", FIND_CONTAINER, ID_A, false},
	{"/docker/" ID_A "0", FIND_CONTAINER, ID_A, false},
	{"/docker/" ID_A ".service", FIND_CONTAINER, ID_A, false},
	{"/kubepods/pod" POD_UID, FIND_POD, POD_UID, true},
	{"/kubepods/besteffort/pod" POD_UID, FIND_POD, POD_UID, true},
	{"/kubepods/besteffort/pod" POD_UID "/" ID_A, FIND_POD, POD_UID, false},
	{"/docker/pod" POD_UID, FIND_POD, POD_UID, false},
	{"/kubepods/pod" POD_UID, FIND_POD, "5ba385ca", false},
	{"/kubepods/pod" POD_UID "0", FIND_POD, POD_UID, false},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_UID_ ".slice",
	 FIND_POD, POD_UID, true},
	{"/kubepods.slice/kubepods-pod" POD_UID_ ".slice", FIND_POD, POD_UID, true},
	{"/kubepods.slice/kubepods-pod" POD_UID_ ".scope", FIND_POD, POD_UID, false},
	{"/x.slice/other-pod" POD_UID_ ".slice", FIND_POD, POD_UID, false},
	{"/kubepods/pod" ID_32, FIND_POD, ID_32, true},
	/* The kubelet's --cgroup-root: of one level, of two, and one with dashes. */
	{"/kubelet/kubepods/burstable/pod" POD_UID, FIND_POD, POD_UID, true},
	{"/kubelet/kubepods/pod" POD_UID, FIND_POD, POD_UID, true},
	{"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
	 "kubelet-kubepods-besteffort-pod" POD_UID_ ".slice",
	 FIND_POD, POD_UID, true},
	{"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" POD_UID_ ".slice", FIND_POD,
	 POD_UID, true},
	{"/a.slice/a-pods.slice/a-pods-kubepods.slice/a-pods-kubepods-pod" POD_UID_ ".slice",
	 FIND_POD, POD_UID, true},
	{"/my_root.slice/my_root-kubepods.slice/my_root-kubepods-pod" POD_UID_ ".slice", FIND_POD,
	 POD_UID, true},
	{"/docker/" ID_A "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" ID_32
	 ".slice",
	 FIND_POD, ID_32, true},
	{"/x.slice/kubelet-xkubepods-pod" POD_UID_ ".slice", FIND_POD, POD_UID, false},
	{"/x.slice/kubepods-kubelet-pod" POD_UID_ ".slice", FIND_POD, POD_UID, false},
	{"/x.slice/kubepods-xpod" POD_UID_ ".slice", FIND_POD, POD_UID, false},
	{"/x.slice/kubepods-pod" POD_UID_ "0.slice", FIND_POD, POD_UID, false},
	{"/x.slice/-pod" POD_UID_ ".slice", FIND_POD, POD_UID, false},
	{"/machine.slice/machine-qemu\\x2d2\\x2dweb.scope", FIND_VM, "web", true},
	{"/machine.slice/machine-qemu\\x2d12\\x2da\\x20b.scope", FIND_VM, "a b", true},
	{"/machine.slice/machine-qemu\\x2d2\\x2dweb.scope", FIND_VM, "we", false},
	{"/machine.slice/machine-qemu\\x2d2\\x2dweb.scope", FIND_VM, "webs", false},
	{"/machine.slice/machine-qemu\\x2d2\\x2dweb.scope/libvirt", FIND_VM, "web", false},
	{"/machine.slice/machine-lxc\\x2d2\\x2dweb.scope", FIND_VM, "web", false},
	{"/machine/qemu-2-web.libvirt-qemu", FIND_VM, "web", true},
	{"/machine/qemu-2-web.libvirt-qemu", FIND_VM, "2-web", false},
	{"/machine/qemu-2-web", FIND_VM, "web", false},
	{"/machine/qemu--web.libvirt-qemu", FIND_VM, "web", false},
	{"/machine/qemu-2-", FIND_VM, "", false},
	{"/a/train", FIND_LAST, "train", true},
	{"/a/train", FIND_LAST, "rain", false},
	{"/a/train", FIND_LAST, "a", false},
};

/* Both directions agree: what a path is, it matches. */
static bool agrees(const char *path)
{
	char name[FIND_NAME_MAX];
	enum find_kind kind;

	if (!find_classify(path, &kind, name))
		return false;
	if (kind >= FIND_LAST || !find_matches(path, kind, name))
		fail_msg("%s is not %s '%s'", path, find_kind_name(kind), name);
	return true;
}

static void names(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (find_matches(rows[i].path, rows[i].kind, rows[i].name) != rows[i].match)
			fail_msg("%s as %s '%s'", rows[i].path, find_kind_name(rows[i].kind),
				 rows[i].name);
		agrees(rows[i].path);
	}
}

static const struct {
	const char *path;
	enum find_kind kind; /* FIND_NR: none */
	const char *name;
} cases[] = {
	{"/slurm/uid_1000/job_12", FIND_SLURM, "12"},
	{"/slurm_n1/uid_0/job_4294967295", FIND_SLURM, "4294967295"},
	{"/slurm_n1/uid_0/job_12/step_batch", FIND_SLURM, "12.batch"},
	{"/system.slice/n1_slurmstepd.scope/job_12/step_0+1", FIND_SLURM, "12.0+1"},
	{"/slurm/uid_1000/job_12/step_0/task_0", FIND_NR, ""},
	{"/slurm/uid_1000/job_12/step_0/docker-" ID_A ".scope", FIND_NR, ""},
	{"/slurm/uid_1000/job_12/docker/" ID_A, FIND_NR, ""},
	{"/slurm/uid_1000/job_1x", FIND_NR, ""},
	{"/slurm/uid_1000/job_", FIND_NR, ""},
	{"/slurm/uid_1000/job_12/step_", FIND_NR, ""},
	{"/slurm/uid_1000/job_12.5", FIND_NR, ""},
	{"/slurm/uid_1000/job_12345678901", FIND_NR, ""},
	{"/slurm/uid_1000/job_12/step_a\nb", FIND_NR, ""},
	{"/system.slice/slurmstepd.scope", FIND_UNIT, "slurmstepd.scope"},
	{"/system.slice/a.service", FIND_UNIT, "a.service"},
	{"/system.slice", FIND_UNIT, "system.slice"},
	{"/a.slice/a-b.slice/run-1.scope", FIND_UNIT, "run-1.scope"},
	{"/system.slice/a.service/b.service", FIND_NR, ""},
	{"/system.slice/.service", FIND_NR, ""},
	{"/system.slice/a b.service", FIND_NR, ""},
	{"/system.slice/a\n.service", FIND_NR, ""},
	{"/docker/" ID_A, FIND_CONTAINER, ID_A},
	{"/system.slice/docker-" ID_A ".scope", FIND_CONTAINER, ID_A},
	{"/machine.slice/libpod-" ID_A ".scope/container", FIND_NR, ""},
	{"/docker/" ID_A "/docker/" ID_B, FIND_NR, ""},
	{"/docker/" ID_A "/system.slice/a.service", FIND_NR, ""},
	{"/kubepods/besteffort/pod" POD_UID, FIND_POD, POD_UID},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_UID_ ".slice",
	 FIND_POD, POD_UID},
	{"/a.slice/a-pods.slice/a-pods-kubepods.slice/a-pods-kubepods-pod" POD_UID_ ".slice",
	 FIND_POD, POD_UID},
	{"/kubepods/pod" ID_32, FIND_POD, ID_32},
	/* A container belongs to its pod. */
	{"/kubepods/besteffort/pod" POD_UID "/" ID_A, FIND_NR, ""},
	{"/kubepods.slice/kubepods-pod" POD_UID_ ".slice/cri-containerd-" ID_A ".scope", FIND_NR,
	 ""},
	{"/kubepods.slice/kubepods-besteffort.slice", FIND_UNIT, "kubepods-besteffort.slice"},
	{"/machine.slice/machine-qemu\\x2d12\\x2da\\x20b.scope", FIND_VM, "a b"},
	{"/machine/qemu-2-web.libvirt-qemu", FIND_VM, "web"},
	{"/machine.slice/machine-qemu\\x2d2\\x2dweb.scope/libvirt", FIND_NR, ""},
	/* Escapes that would end the name, or begin another path; then it is a unit. */
	{"/machine.slice/machine-qemu\\x2d2\\x2dweb\\x00.scope", FIND_UNIT,
	 "machine-qemu\\x2d2\\x2dweb\\x00.scope"},
	{"/machine.slice/machine-qemu\\x2d2\\x2da\\x2fb.scope", FIND_UNIT,
	 "machine-qemu\\x2d2\\x2da\\x2fb.scope"},
	{"/machine.slice/machine-qemu\\x2d2\\x2da\\x0ab.scope", FIND_UNIT,
	 "machine-qemu\\x2d2\\x2da\\x0ab.scope"},
	{"/machine/qemu-2-a\nb.libvirt-qemu", FIND_NR, ""},
	/* Made by users. */
	{"/user.slice/user-1000.slice/session-3.scope", FIND_UNIT, "session-3.scope"},
	{"/user.slice/user-1000.slice/user@1000.service", FIND_UNIT, "user@1000.service"},
	{"/user.slice/user-1000.slice/user@1000.service/app.slice/sshd.service", FIND_NR, ""},
	{"/user.slice/user-1000.slice/user@1000.service/slurm/uid_0/job_1", FIND_NR, ""},
	{"/user.slice/user-1000.slice/user@1000.service/slurmstepd.scope/job_1", FIND_NR, ""},
	{"/user.slice/user-1000.slice/session-3.scope/docker/" ID_A, FIND_NR, ""},
	{"/user.slice/docker-" ID_A ".scope", FIND_UNIT, "docker-" ID_A ".scope"},
	{"/user.slice/slurm/uid_0/job_1", FIND_NR, ""},
	{"/user.slice/" ID_A, FIND_NR, ""},
	{"/user.slice/user-1000.slice/user@1000.service/kubepods/pod" POD_UID, FIND_NR, ""},
	{"/user.slice/user-1000.slice/user@1000.service/qemu-1-web.libvirt-qemu", FIND_NR, ""},
	{"/user.slice/user-1000.slice/user@1000.service/machine-qemu\\x2d1\\x2dweb.scope", FIND_NR,
	 ""},
	{"/", FIND_NR, ""},
	{"", FIND_NR, ""},
	{"/slurm/uid_1000/job_12/", FIND_NR, ""},
	{"/slurm//uid_1000/job_12", FIND_NR, ""},
	{"docker/" ID_A, FIND_NR, ""},
};

static void classified(void **state)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[FIND_NAME_MAX] = "";
		enum find_kind kind = FIND_NR;

		find_classify(cases[i].path, &kind, name);
		if (kind != cases[i].kind || strcmp(name, cases[i].name) != 0)
			fail_msg("%s is %s '%s'", cases[i].path, find_kind_name(kind), name);
		agrees(cases[i].path);
	}
}

/* Components of the longest names: of 255 bytes, and paths of many. */
static void longest(void **state)
{
	char path[2 * PATH_MAX], name[FIND_NAME_MAX];
	enum find_kind kind;

	snprintf(path, sizeof(path), "/system.slice/%0247d.service", 1);
	assert_true(agrees(path));
	snprintf(path, sizeof(path), "/machine/qemu-1-%0235d.libvirt-qemu", 1);
	assert_true(agrees(path));
	snprintf(path, sizeof(path), "/system.slice/%0248d.service", 1);
	assert_false(find_classify(path, &kind, name));
	snprintf(path, sizeof(path), "/slurm/uid_0/job_1/step_%0250d", 1);
	assert_false(find_classify(path, &kind, name));
	memset(path, 'a', sizeof(path));
	for (size_t i = 0; i < sizeof(path); i += 100)
		path[i] = '/';
	strcpy(path + sizeof(path) - 100, "/docker/" ID_A);
	assert_false(find_classify(path, &kind, name));
}

/* Paths made of pieces of all rows and of bytes that users choose. */
static void random_paths(void **state)
{
	static const char *const pieces[] = {
		"/",
		"\\x2d",
		"\\x00",
		"\n",
		"-",
		".scope",
		".service",
		".slice",
		"/user.slice/",
		"job_",
		"step_",
		"1",
		"qemu",
		"pod",
		"/kubepods/",
		"slurm",
		"_",
		ID_A,
		POD_UID,
		"uid_",
		"machine-",
		".libvirt-qemu",
		"docker-",
		"slurmstepd.scope",
	};
	unsigned int seed = 1;
	int found = 0, below_user = 0;

	for (int i = 0; i < 300000; i++) {
		const char *row = rows[rand_r(&seed) % (sizeof(rows) / sizeof(rows[0]))].path;
		const char *piece = pieces[rand_r(&seed) % (sizeof(pieces) / sizeof(pieces[0]))];
		size_t at = (size_t)rand_r(&seed) % (strlen(row) + 1);
		size_t skip = rand_r(&seed) % 3 ? 0 : (size_t)rand_r(&seed) % 8;
		bool user = rand_r(&seed) % 4 == 0;
		char path[1024], name[FIND_NAME_MAX];
		enum find_kind kind;

		skip = at + skip > strlen(row) ? 0 : skip;
		snprintf(path, sizeof(path), "%s%.*s%s%s", user ? "/user.slice" : "", (int)at, row,
			 piece, row + at + skip);
		if (!agrees(path))
			continue;
		found++;
		find_classify(path, &kind, name);
		assert_true(strlen(name) > 0 && !strchr(name, '\n') && !strchr(name, '/'));
		if (user && strncmp(path, "/user.slice/", 12) == 0) {
			below_user++;
			assert_int_equal(kind, FIND_UNIT);
		}
	}
	assert_true(found > 10000);
	assert_true(below_user > 1000);
}

static int find(struct tree *t, const char *name, const char *want, enum find_kind want_kind,
		struct errtext *err)
{
	struct cgroup_ref ref;
	enum find_kind kind = FIND_NR;
	int e = find_cgroup(&t->mi, (1U << FIND_NR) - 1, name, &ref, &kind, err);

	if (e == 0) {
		assert_string_equal(ref.path, want);
		assert_int_equal(kind, want_kind);
		cgroup_close(&ref);
	}
	return e;
}

static void found(void **state)
{
	struct tree *t = *state;
	struct errtext err;
	enum find_kind kind;
	struct cgroup_ref ref;

	add(t, "memory/slurm_n1/uid_1000/job_77/step_0/task_0", "7\n");
	add(t, "unified/user.slice/77", "7\n");
	add(t, "unified/system.slice/train.service", "");
	add(t, "memory/system.slice/train.service", "9\n");
	add(t, "unified/system.slice/docker-" ID_A ".scope", "8\n");
	add(t, "memory/kubepods/pod1/" ID_B, "8\n");
	add(t, "unified/one/twin", "8\n");
	add(t, "unified/two/twin", "8\n");
	assert_int_equal(find(t, "77", "/slurm_n1/uid_1000/job_77", FIND_SLURM, &err), 0);
	/* Of two cgroups, the one with processes. */
	assert_int_equal(find(t, "train", "/system.slice/train.service", FIND_UNIT, &err), 0);
	assert_int_equal(find_cgroup(&t->mi, 1U << FIND_UNIT, "train", &ref, &kind, &err), 0);
	assert_int_equal(ref.kind, CGROUP_V1_MEMORY);
	cgroup_close(&ref);
	assert_int_equal(find(t, "0123456789ab", "/system.slice/docker-" ID_A ".scope",
			      FIND_CONTAINER, &err),
			 0);
	assert_int_equal(find(t, ID_B, "/kubepods/pod1/" ID_B, FIND_CONTAINER, &err), 0);
	assert_int_equal(find(t, "pod1", "/kubepods/pod1", FIND_LAST, &err), 0);
	assert_int_equal(find(t, "twin", "", FIND_LAST, &err), -ENOTUNIQ);
	assert_non_null(strstr(err.text, "/one/twin"));
	assert_non_null(strstr(err.text, "/two/twin"));
	/* In two hierarchies, at different places. */
	add(t, "unified/three/other", "8\n");
	add(t, "memory/four/other", "8\n");
	assert_int_equal(find(t, "other", "", FIND_LAST, &err), -ENOTUNIQ);
	assert_int_equal(find(t, "nothing", "", FIND_LAST, &err), -ENOENT);
	/* Only the requested kinds are searched. */
	assert_int_equal(find_cgroup(&t->mi, 1U << FIND_UNIT, "77", &ref, &kind, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(found, setup, teardown),
		cmocka_unit_test(names),
		cmocka_unit_test(classified),
		cmocka_unit_test(longest),
		cmocka_unit_test(random_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
