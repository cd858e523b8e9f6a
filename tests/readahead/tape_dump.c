/* SPDX-License-Identifier: BSD-2-Clause */
/* readahead_tape RECORDING PATTERN KB: prints a recorded run as the data of a trace_chunk. */
#include <stdio.h>
#include <stdlib.h>

#include "tape.h"

static int dump(struct tape *t)
{
	size_t written = fwrite(t->data, 1, t->size, stdout);

	fprintf(stderr, "%zu\n", t->events);
	return written == t->size && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	FILE *recording = argc == 4 ? fopen(argv[1], "re") : NULL;
	struct tape t;
	int status = EXIT_FAILURE;

	if (!recording) {
		fprintf(stderr, "readahead_tape: needs RECORDING PATTERN KB\n");
		return status;
	}
	if (tape_record(&t, recording, argv[2], (unsigned int)strtoul(argv[3], NULL, 10))) {
		status = dump(&t);
		tape_free(&t);
	}
	fclose(recording);
	return status;
}
