/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peers_calls OBJECT PATH: counts as the exporter of CEEMS does, reads and writes of the filesystem
 * of PATH. Prints "refused NAME" for each program that the kernel refuses; one is enough for the
 * exporter to end, this program goes on without it. Then "ready", and for each line of input a line
 * "CGROUP CALL CALLS ERRORS BYTES" for each sum, and an empty line.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "peers_calls.h"

/* The kernel's own form of a device number. */
static __u32 device_of(const char *path)
{
	struct stat sb;

	if (stat(path, &sb))
		err(1, "%s", path);
	return major(sb.st_dev) << 20 | minor(sb.st_dev);
}

static struct bpf_object *open_object(const char *path, __u32 device)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	size_t size;
	void *value;

	if (!object)
		err(1, "cannot open %s", path);
	value = (void *)bpf_map__initial_value(bpf_object__find_map_by_name(object, ".rodata"),
					       &size);
	if (!value || size != sizeof(device))
		errx(1, "%s: unexpected constants", path);
	memcpy(value, &device, sizeof(device));
	return object;
}

/* Whether the kernel takes this program alone. */
static bool is_taken(const char *path, __u32 device, const char *name)
{
	struct bpf_object *object = open_object(path, device);
	struct bpf_program *p;
	bool taken;

	bpf_object__for_each_program(p, object)
		bpf_program__set_autoload(p, !strcmp(bpf_program__name(p), name));
	taken = !bpf_object__load(object);
	bpf_object__close(object);
	return taken;
}

static void print_sums(int fd)
{
	static const char *const names[] = {
#define X(call, name) #name,
		PEERS_CALLS(X)
#undef X
	};
	struct peers_key key, *before = NULL;
	struct peers_sum sum;

	for (; !bpf_map_get_next_key(fd, before, &key); before = &key)
		if (!bpf_map_lookup_elem(fd, &key, &sum))
			printf("%llu %s %llu %llu %llu\n", (unsigned long long)key.cgroup,
			       names[key.call], (unsigned long long)sum.calls,
			       (unsigned long long)sum.errors, (unsigned long long)sum.bytes);
	puts("");
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	struct bpf_program *p;
	char line[16];
	__u32 device;

	if (argc != 3)
		errx(2, "usage: peers_calls OBJECT PATH");
	libbpf_set_print(quiet);
	setlinebuf(stdout);
	device = device_of(argv[2]);
	object = open_object(argv[1], device);
	bpf_object__for_each_program(p, object)
	{
		if (is_taken(argv[1], device, bpf_program__name(p)))
			continue;
		printf("refused %s\n", bpf_program__section_name(p));
		bpf_program__set_autoload(p, false);
	}
	if (bpf_object__load(object))
		err(1, "cannot load %s", argv[1]);
	bpf_object__for_each_program(p, object) if (bpf_program__autoload(p) &&
						    !bpf_program__attach(p))
		err(1, "cannot attach %s", bpf_program__name(p));
	puts("ready");
	while (fgets(line, sizeof(line), stdin))
		print_sums(bpf_map__fd(bpf_object__find_map_by_name(object, "sums")));
	bpf_object__close(object);
	return 0;
}
