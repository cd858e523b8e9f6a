/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kernel memory of the maps: how much the state of pages takes per GiB of densely cached file, as
 * charged by the kernel, and whether 'cachemon doctor' predicts the total of all maps.
 */
#include <bpf/bpf.h>
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "phase.h"
#include "tool.h"

#define MAPS_MAX 64
#define BLOCK	 (1 << 20)

struct map_seen {
	unsigned int id;
	char name[16];
	unsigned long long entries, bytes; /* max_entries, memlock */
};

struct maps {
	struct map_seen v[MAPS_MAX];
	int nr;
};

struct sparse {
	int fd;
	uint64_t bytes;
};

static int read_all(void *ctx, int op, long n, uint64_t *cpu_ns)
{
	static char block[BLOCK];
	struct sparse *f = ctx;

	for (uint64_t at = 0; at < f->bytes; at += BLOCK)
		if (pread(f->fd, block, BLOCK, (off_t)at) != BLOCK)
			return errno ? -errno : -EIO;
	return 0;
}

static void name_of(struct map_seen *m)
{
	struct bpf_map_info info = {};
	unsigned int len = sizeof(info);
	int fd = bpf_map_get_fd_by_id(m->id);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
		bench_fail("cannot look at map %u: %s", m->id, strerror(errno));
	memcpy(m->name, info.name, sizeof(m->name));
	close(fd);
}

/* Reads the fdinfo of a descriptor: true for a map not seen before. */
static bool map_of_fd(const char *dir, const char *name, const struct maps *known,
		      struct map_seen *ret)
{
	char path[300], line[128];
	FILE *f;

	*ret = (struct map_seen){};
	snprintf(path, sizeof(path), "%s/%.200s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "map_id: %u", &ret->id);
		sscanf(line, "max_entries: %llu", &ret->entries);
		sscanf(line, "memlock: %llu", &ret->bytes);
	}
	fclose(f);
	for (int i = 0; i < known->nr; i++)
		if (known->v[i].id == ret->id)
			return false;
	return ret->id;
}

static void maps_of_process(pid_t pid, struct maps *ret)
{
	struct dirent *d;
	char path[64];
	DIR *dir;

	ret->nr = 0;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	dir = opendir(path);
	if (!dir)
		bench_fail("cannot read %s: %s", path, strerror(errno));
	while ((d = readdir(dir)) && ret->nr < MAPS_MAX) {
		struct map_seen m = {};

		if (!map_of_fd(path, d->d_name, ret, &m))
			continue;
		name_of(&m);
		ret->v[ret->nr++] = m;
	}
	closedir(dir);
}

static const struct map_seen *find(const struct maps *maps, const char *name)
{
	for (int i = 0; i < maps->nr; i++)
		if (!strcmp(maps->v[i].name, name))
			return &maps->v[i];
	bench_fail("cachemon holds no map '%s'", name);
}

static uint64_t count_entries(const struct map_seen *map)
{
	unsigned char key[256], next[256];
	int fd = bpf_map_get_fd_by_id(map->id);
	void *from = NULL;
	uint64_t nr = 0;

	if (fd < 0)
		bench_fail("cannot open map %s: %s", map->name, strerror(errno));
	while (!bpf_map_get_next_key(fd, from, next)) {
		memcpy(key, next, sizeof(key));
		from = key;
		nr++;
	}
	close(fd);
	return nr;
}

static void compare_doctor(const char *cachemon, const struct maps *maps)
{
	const char *const argv[] = {cachemon, "doctor", "--json", NULL};
	const char *const sum[] = {"maps", "bytes", NULL};
	struct cJSON *json = tool_json(argv);
	const struct cJSON *list, *m;
	double predicted = tool_number(json, sum), charged = 0;

	for (int i = 0; i < maps->nr; i++)
		charged += (double)maps->v[i].bytes;
	printf("all maps: %.0f bytes predicted by doctor, %.0f charged by the kernel: %+.2f %%\n",
	       predicted, charged, 100 * (predicted - charged) / charged);
	list = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, "maps"),
						"list");
	cJSON_ArrayForEach(m, list)
	{
		const char *const bytes[] = {"bytes", NULL};
		const char *name =
			cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(m, "name"));
		const struct map_seen *seen = find(maps, name);

		printf("  %-14s %10.0f predicted %10llu charged\n", name, tool_number(m, bytes),
		       seen->bytes);
	}
	cJSON_Delete(json);
}

static void measure(const struct bench_options *o, struct worker *worker)
{
	struct phase full = {.name = "level full",
			     .kind = PHASE_WATCH,
			     .cachemon = o->cachemon,
			     .args = {"--level", "full"}};
	double per_entry, per_gib, gib = (double)o->file_bytes / (1 << 30);
	const struct map_seen *blocks;
	struct phase_entered e;
	struct worker_result r;
	struct phase_env env;
	struct maps maps;
	uint64_t used;

	phase_env_init(&env, o, worker, NULL);
	phase_enter(&env, &full, &e);
	worker_do(worker, 0, 1, &r);
	maps_of_process(e.watcher.pid, &maps);
	blocks = find(&maps, "blocks");
	used = count_entries(blocks);
	compare_doctor(o->cachemon, &maps);
	phase_leave(&full, &e);
	per_entry = (double)blocks->bytes / (double)blocks->entries;
	per_gib = per_entry * (double)used / gib;
	printf("page state: %lu entries for %.2f GiB read densely, %.1f bytes each as charged\n",
	       (unsigned long)used, gib, per_entry);
	bench_goal("MB of page state for a GiB of densely cached file", per_gib / 1e6, 0.5, false);
	phase_env_free(&env);
}

int main(int argc, char **argv)
{
	struct bench_options o = {.dir = "/var/tmp",
				  .rounds = 1,
				  .blocks = 1,
				  .ops = 1,
				  .file_bytes = 2ull << 30,
				  .patience_s = 600};
	struct sparse file;
	struct worker worker;

	bench_options(argc, argv, &o);
	file.bytes = o.file_bytes;
	file.fd = open(o.dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (file.fd < 0 || ftruncate(file.fd, (off_t)file.bytes))
		bench_fail("cannot make a file in %s: %s", o.dir, strerror(errno));
	worker_start(read_all, &file, false, &worker);
	measure(&o, &worker);
	worker_stop(&worker);
	return 0;
}
