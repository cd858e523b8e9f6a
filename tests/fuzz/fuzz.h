/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by all fuzzers: the entry point for libFuzzer, and the assertion. */
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

#endif
