/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: job access */
/* Names of containers and pods, from the files of their runtimes and the kubelet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cachemon/job/job_names.h"
#include "selector_trees.h"

#define ID_A	    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_B	    "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define ID_C	    "aaaaaaaaaaaabbbbbbbbbbbbccccccccccccddddddddddddeeeeeeeeeeeeffff"
#define UID_OLD	    "11111111-b6e6-4246-bd66-d48d429dbc12"
#define UID_NEW	    "5ba385ca-b6e6-4246-bd66-d48d429dbc12"
#define UID_SYSTEMD "22222222-b6e6-4246-bd66-d48d429dbc12"
#define UID_STATIC  "0123456789abcdef0123456789abcdef"

struct file {
	const char *path, *text;
};

static void write_all(struct trees *t, const struct file *files, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		scratch_write(&t->s, files[i].path, files[i].text);
}

#define WRITE_ALL(t, files) write_all(t, files, sizeof(files) / sizeof((files)[0]))

static const struct file files_of_runtimes[] = {
	{"v2/docker/" ID_A "/cgroup.procs", ""},
	{"var/lib/docker/containers/" ID_A "/config.v2.json",
	 "{\"ID\":\"" ID_A "\",\"Name\":\"/dtrain\"}"},
	{"var/lib/docker/containers/" ID_C "/config.v2.json", "{\"Name\":\"/twin\"}"},
	{"var/lib/docker/containers/broken/config.v2.json", "{\"Name\":"},
	{"var/lib/docker/containers/odd/config.v2.json", "[7]"},
	{"v2/machine.slice/libpod-" ID_B ".scope/cgroup.procs", ""},
	{"var/lib/containers/storage/overlay-containers/containers.json",
	 "[{\"id\":\"" ID_B "\",\"names\":[\"ptrain\",\"twin\"]},"
	 "{\"id\":\"" ID_C "0\",\"names\":[\"ended\"]},{\"names\":[7]},7]"},
	{"v2/default/mytask/cgroup.procs", ""},
	{"run/containerd/io.containerd.runtime.v2.task/default/mytask/config.json",
	 "{\"linux\":{\"cgroupsPath\":\"/default/mytask\"}}"},
	{"v2/kubepods/burstable/pod" UID_NEW "/" ID_C "/cgroup.procs", ""},
	{"run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID_C "/config.json",
	 "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"worker\"},"
	 "\"linux\":{\"cgroupsPath\":\"kubepods-burstable-pod.slice:cri:" ID_C "\"}}"},
	/* A pod of that name that was deleted has left its logs. */
	{"var/log/pods/ml_train-0_" UID_OLD "/worker/0.log", ""},
	{"var/log/pods/ml_train-0_" UID_NEW "/worker/0.log", ""},
	{"var/log/pods/ml_web_" UID_SYSTEMD "/web/0.log", ""},
	{"var/log/pods/kube-system_etcd-n1_" UID_STATIC "/etcd/0.log", ""},
	{"v2/kubepods.slice/kubepods-pod22222222_b6e6_4246_bd66_d48d429dbc12.slice/"
	 "cgroup.procs",
	 ""},
	{"v2/kubepods/pod" UID_STATIC "/cgroup.procs", ""},
	/* Below the kubelet's --cgroup-root, by systemd and without. */
	{"var/log/pods/ml_root_33333333-b6e6-4246-bd66-d48d429dbc12/a/0.log", ""},
	{"v2/kubelet.slice/kubelet-kubepods.slice/"
	 "kubelet-kubepods-pod33333333_b6e6_4246_bd66_d48d429dbc12.slice/cgroup.procs",
	 ""},
	{"var/log/pods/ml_plain_44444444-b6e6-4246-bd66-d48d429dbc12/a/0.log", ""},
	{"v2/kubelet/kubepods/burstable/pod44444444-b6e6-4246-bd66-d48d429dbc12/"
	 "cgroup.procs",
	 ""},
	{"v2/machine.slice/machine-qemu\\x2d3\\x2dlab\\x2d1.scope/cgroup.procs", ""},
	{"v2/machine/qemu-4-old.libvirt-qemu/cgroup.procs", ""},
};

static const struct {
	enum selector_request request;
	const char *value, *text; /* or the text of the refusal */
	int err;
} cases[] = {
	{SELECTOR_CONTAINER, "dtrain", "container: dtrain, cgroup: /docker/" ID_A, 0},
	/* By its id, of which 12 digits are enough: its name is known, too. */
	{SELECTOR_CONTAINER, ID_A, "container: " ID_A ", cgroup: /docker/" ID_A ", name: dtrain",
	 0},
	{SELECTOR_CONTAINER, "fedcba987654",
	 "container: fedcba987654, cgroup: /machine.slice/libpod-" ID_B ".scope, name: ptrain", 0},
	{SELECTOR_NAME, "dtrain", "container: dtrain, cgroup: /docker/" ID_A, 0},
	{SELECTOR_CONTAINER, "ptrain",
	 "container: ptrain, cgroup: /machine.slice/libpod-" ID_B ".scope", 0},
	{SELECTOR_CONTAINER, "mytask", "container: mytask, cgroup: /default/mytask", 0},
	{SELECTOR_CONTAINER, "worker",
	 "container: worker, cgroup: /kubepods/burstable/pod" UID_NEW "/" ID_C, 0},
	/* Known to its runtime, but it does not run. */
	{SELECTOR_CONTAINER, "ended", "no running container 'ended'", -ENOENT},
	{SELECTOR_CONTAINER, "twin", "'twin' names several containers, in the cgroups", -ENOTUNIQ},
	{SELECTOR_POD, "ml/train-0", "pod: ml/train-0, cgroup: /kubepods/burstable/pod" UID_NEW, 0},
	{SELECTOR_POD, UID_NEW,
	 "pod: " UID_NEW ", cgroup: /kubepods/burstable/pod" UID_NEW ", name: ml/train-0", 0},
	{SELECTOR_POD, "ml/web",
	 "pod: ml/web, cgroup: "
	 "/kubepods.slice/kubepods-pod22222222_b6e6_4246_bd66_d48d429dbc12.slice",
	 0},
	{SELECTOR_POD, "ml/root",
	 "pod: ml/root, cgroup: /kubelet.slice/kubelet-kubepods.slice/"
	 "kubelet-kubepods-pod33333333_b6e6_4246_bd66_d48d429dbc12.slice",
	 0},
	{SELECTOR_POD, "ml/plain",
	 "pod: ml/plain, cgroup: /kubelet/kubepods/burstable/"
	 "pod44444444-b6e6-4246-bd66-d48d429dbc12",
	 0},
	{SELECTOR_POD, "kube-system/etcd-n1",
	 "pod: kube-system/etcd-n1, cgroup: /kubepods/pod" UID_STATIC, 0},
	{SELECTOR_POD, "ml/train", "no running pod 'ml/train'", -ENOENT},
	{SELECTOR_POD, "train-0", "no running pod 'train-0'", -ENOENT},
	{SELECTOR_VM, "lab-1",
	 "vm: lab-1, cgroup: '/machine.slice/machine-qemu\\x2d3\\x2dlab\\x2d1.scope'", 0},
	{SELECTOR_VM, "old", "vm: old, cgroup: /machine/qemu-4-old.libvirt-qemu", 0},
	{SELECTOR_VM, "lab", "no virtual machine", -ENOENT},
};

/* Names that a runtime or the kubelet gave, in the forms in which they keep them. */
static void names_of_runtimes(void **state)
{
	struct trees *t = *state;

	WRITE_ALL(t, files_of_runtimes);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct selector sel;
		struct errtext err = {""};
		int e = selector_resolve(&t->places, cases[i].request, cases[i].value, &sel, &err);

		if (e != cases[i].err || !strstr(e ? err.text : sel.text, cases[i].text))
			fail_msg("%s: %d %s", cases[i].value, e, e ? err.text : sel.text);
		if (!e)
			selector_free(&sel);
	}
}

static void expect_name(struct trees *t, bool pod, const char *id, const char *want)
{
	char *name;

	assert_int_equal((pod ? job_names_of_pod : job_names_of_container)(t->s.dir, id, &name), 0);
	if (!want)
		assert_null(name);
	else
		assert_string_equal(name, want);
	free(name);
}

static const struct file files_of_ids[] = {
	{"var/lib/docker/containers/" ID_A "/config.v2.json",
	 "{\"ID\":\"" ID_A "\",\"Name\":\"/dtrain\"}"},
	{"var/lib/docker/containers/broken/config.v2.json", "{\"Name\":"},
	{"var/lib/docker/containers/odd/config.v2.json", "{\"Name\":\"a\\nb\"}"},
	{"var/lib/docker/containers/empty/config.v2.json", "{\"Name\":\"/\"}"},
	{"var/lib/containers/storage/overlay-containers/containers.json",
	 "[{\"id\":\"" ID_B "\",\"names\":[7,\"\\u0001\",\"ptrain\"]}]"},
	{"run/containerd/io.containerd.runtime.v2.task/default/mytask/config.json",
	 "{\"linux\":{\"cgroupsPath\":\"/default/mytask\"}}"},
	{"run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID_C "/config.json",
	 "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"worker\"}}"},
	{"var/log/pods/ml_train-0_" UID_NEW "/worker/0.log", ""},
	{"var/log/pods/kube-system_etcd-n1_" UID_STATIC "/etcd/0.log", ""},
	{"var/log/pods/a_b_c_" UID_OLD "/etcd/0.log", ""},
};

/* The same files, from ids to names. */
static void names_of_ids(void **state)
{
	struct trees *t = *state;

	WRITE_ALL(t, files_of_ids);
	expect_name(t, false, ID_A, "dtrain");
	expect_name(t, false, ID_B, "ptrain");
	expect_name(t, false, ID_C, "worker");
	expect_name(t, false, "mytask", "mytask");
	expect_name(t, false, "broken", NULL);
	expect_name(t, false, "odd", NULL);
	expect_name(t, false, "empty", NULL);
	expect_name(t, false, "0123456789ab", NULL);
	expect_name(t, true, UID_NEW, "ml/train-0");
	expect_name(t, true, UID_STATIC, "kube-system/etcd-n1");
	expect_name(t, true, UID_OLD, NULL);
	expect_name(t, true, UID_SYSTEMD, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_of_runtimes, setup, teardown),
		cmocka_unit_test_setup_teardown(names_of_ids, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
