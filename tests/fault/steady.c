/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steady DIR STATUS: writes its process id to DIR/started, reads DIR/data repeatedly until DIR/stop
 * exists, writes its counts to DIR/done, and ends with STATUS. It ends by itself after ten minutes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 16384, ROUNDS_MAX = 120000 };

static FILE *create(const char *name)
{
	FILE *f = fopen(name, "w");

	if (!f) {
		perror(name);
		exit(99);
	}
	return f;
}

/* The file appears complete. */
static void publish(FILE *f, const char *temporary, const char *name)
{
	if (fclose(f) || rename(temporary, name)) {
		perror(name);
		exit(99);
	}
}

int main(int argc, char **argv)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	unsigned long long calls = 0, bytes = 0;
	static char buf[CHUNK];
	FILE *f;
	int fd;

	if (argc != 3 || chdir(argv[1])) {
		fprintf(stderr, "usage: steady DIR STATUS\n");
		return 99;
	}
	fd = open("data", O_RDONLY);
	f = create("started.new");
	fprintf(f, "%d\n", getpid());
	publish(f, "started.new", "started");
	for (int round = 0; round < ROUNDS_MAX && access("stop", F_OK); round++) {
		ssize_t n;

		for (off_t at = 0; (n = pread(fd, buf, CHUNK, at)) > 0; at += n) {
			calls++;
			bytes += n;
		}
		nanosleep(&pause, NULL);
	}
	f = create("done.new");
	fprintf(f, "{\"calls\": %llu, \"bytes\": %llu}\n", calls, bytes);
	publish(f, "done.new", "done");
	return atoi(argv[2]);
}
