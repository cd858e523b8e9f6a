/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps of a CacheBench workload, by name, over files of one directory. Owns the open files;
 * the caller determines the order.
 */
#ifndef STEPS_H
#define STEPS_H

#include <stdint.h>

#define KIB	 1024ULL
#define ARGS_MAX 8

struct step {
	const char *verb;
	const char *file;	   /* a file or a directory of files, below the current directory */
	uint64_t number[ARGS_MAX]; /* 0 if not given */
};

/* Random places from here on are those of this number, from 0; 0 changes nothing. */
void step_places(int number);
/* Exits with a message for an unknown step, or when a call fails. */
void step_perform(const struct step *s);

#endif
