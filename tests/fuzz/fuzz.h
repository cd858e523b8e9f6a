/* SPDX-License-Identifier: BSD-2-Clause */
/* What all fuzzers have: the entry that libFuzzer calls, and what must hold. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(truth)                                                                                \
	do {                                                                                       \
		if (!(truth)) {                                                                    \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #truth);                \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* Sizes of pieces that are the same for the same input. */
static inline size_t piece_of(uint64_t *seed, size_t left)
{
	size_t most;

	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	most = 1 + (*seed >> 33) % ((*seed >> 60) ? 7 : 61);
	return most < left ? most : left;
}

#endif
