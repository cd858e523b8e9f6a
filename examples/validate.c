// SPDX-License-Identifier: BSD-2-Clause
/*
 * validate FILE: reads the records of FILE in a new order in each epoch, like a validation step,
 * and drops the file from the page cache after each epoch although the next one reads it again.
 * KEEP=1 in the environment is the fix: the file stays until the end.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NR_EPOCHS    50
#define RECORD_BYTES 16384
#define NR_RECORDS   1024 /* in 16 MiB, so that a spinning disk finishes in five minutes */
#define SPREAD	     31	  /* coprime to NR_RECORDS: each record is read once per epoch */

static uint64_t checksum;

static bool read_epoch(int fd, off_t records, int epoch)
{
	static uint64_t record[RECORD_BYTES / sizeof(uint64_t)];

	for (off_t i = 0; i < NR_RECORDS; i++) {
		off_t at = (i * (SPREAD + 2 * epoch) + epoch) % NR_RECORDS % records;

		if (pread(fd, record, sizeof(record), at * RECORD_BYTES) != sizeof(record))
			return false;
		for (size_t k = 0; k < sizeof(record) / sizeof(record[0]); k++)
			checksum = checksum * 31 + record[k];
	}
	return true;
}

int main(int argc, char **argv)
{
	const char *keep = getenv("KEEP");
	struct stat st;
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;

	if (argc != 2) {
		fprintf(stderr, "usage: [KEEP=1] validate FILE\n");
		return 2;
	}
	if (fd < 0 || fstat(fd, &st) || st.st_size < RECORD_BYTES) {
		fprintf(stderr, "validate: %s cannot be read, or is shorter than a record\n",
			argv[1]);
		return 1;
	}
	for (int epoch = 0; epoch < NR_EPOCHS; epoch++) {
		if (!read_epoch(fd, st.st_size / RECORD_BYTES, epoch)) {
			perror("validate: reading");
			return 1;
		}
		if (!keep || strcmp(keep, "1") != 0)
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	printf("checksum %016llx\n", (unsigned long long)checksum);
	return 0;
}
