/* SPDX-License-Identifier: BSD-2-Clause */
#include "image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "tool.h"

struct image {
	char dir[256], file[272], mount[272], loop[64];
	bool mounted;
	pid_t owner;
};

static struct image the_image;

void image_unmount(void)
{
	struct image *i = &the_image;
	const char *const detach[] = {"losetup", "--detach", i->loop, NULL};

	/* Children inherit the exit handler, but not the image. */
	if (!i->dir[0] || i->owner != getpid())
		return;
	if (i->mounted && umount2(i->mount, 0))
		umount2(i->mount, MNT_DETACH);
	if (i->loop[0])
		tool_run(detach, NULL);
	unlink(i->file);
	rmdir(i->mount);
	rmdir(i->dir);
	*i = (struct image){};
}

static int make_file(const char *path, uint64_t bytes)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), r;

	if (fd < 0)
		return -1;
	r = ftruncate(fd, (off_t)bytes);
	close(fd);
	return r;
}

/* Direct I/O if possible: otherwise the device's own thread reads the image through the page
 * cache, and is measured with the job. */
static int attach_loop(struct image *i)
{
	const char *const direct[] = {"losetup",	"--find", "--show",
				      "--direct-io=on", i->file,  NULL};
	const char *const cached[] = {"losetup", "--find", "--show", i->file, NULL};
	char *out;
	int r = tool_run(direct, &out);

	if (r) {
		free(out);
		r = tool_run(cached, &out);
	}
	if (!r)
		snprintf(i->loop, sizeof(i->loop), "%.*s", (int)strcspn(out, "\n"), out);
	free(out);
	return r;
}

static int pin_readahead(const struct image *i)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/block/%s/queue/read_ahead_kb",
		 strrchr(i->loop, '/') + 1);
	f = fopen(path, "we");
	if (!f)
		return -1;
	fprintf(f, "%d\n", IMAGE_READ_AHEAD_KB);
	return fclose(f);
}

const char *image_mount(const char *dir, const char *fstype, uint64_t bytes)
{
	struct image *i = &the_image;
	char mkfs[32];
	const char *const format[] = {mkfs, "-q", i->file, NULL};
	static bool registered;

	if (!registered && !atexit(image_unmount))
		registered = true;
	image_unmount();
	i->owner = getpid();
	snprintf(mkfs, sizeof(mkfs), "mkfs.%s", fstype);
	snprintf(i->dir, sizeof(i->dir), "%s/cachemon-bench.XXXXXX", dir);
	if (!mkdtemp(i->dir))
		bench_fail("cannot make a directory in %s: %s", dir, strerror(errno));
	snprintf(i->file, sizeof(i->file), "%.250s/image", i->dir);
	snprintf(i->mount, sizeof(i->mount), "%.250s/mount", i->dir);
	if (mkdir(i->mount, 0700) || make_file(i->file, bytes))
		bench_fail("cannot make an image in %s: %s", i->dir, strerror(errno));
	if (tool_run(format, NULL)) {
		printf("skipped: %s does not work here\n", mkfs);
		image_unmount();
		return NULL;
	}
	if (attach_loop(i))
		bench_fail("losetup gives no loop device for %s", i->file);
	if (mount(i->loop, i->mount, fstype, 0, NULL)) {
		printf("skipped: this kernel does not mount %s: %s\n", fstype, strerror(errno));
		image_unmount();
		return NULL;
	}
	i->mounted = true;
	if (pin_readahead(i))
		bench_fail("cannot set read_ahead_kb of %s: %s", i->loop, strerror(errno));
	return i->mount;
}
