/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Strict parsing of user input. The whole string counts: no blanks, no sign, only base ten. Garbage
 * is -EINVAL, a well-formed value outside the range is -ERANGE; then outputs are unchanged.
 * Independent of the locale.
 */
#ifndef PARSE_H
#define PARSE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int parse_u64(const char *s, uint64_t *ret_value);

/* 1 … INT_MAX. */
int parse_pid(const char *s, pid_t *ret_pid);

/* A decimal number with a unit; without one it is in seconds: 500ms, 0.5s, 5, 1.5m, 2h. Greater
 * than 0. PARSE_DURATION_FORMS is for error messages. */
#define PARSE_DURATION_FORMS "500ms, 5s, 1.5m, 2h; a number alone is seconds"
int parse_duration(const char *s, uint64_t *ret_ns);

/* The age of something: whole days, 0d too, or a duration as above: 7d, 12h. So many days that
 * they have no number are the greatest age, INT64_MAX. */
int parse_age(const char *s, uint64_t *ret_ns);

/* 500, 64K, 10M, 2G, 1T: bytes, or powers of 1024. */
int parse_bytes(const char *s, uint64_t *ret_bytes);

/* 1, 0.5, 1%: greater than 0, at most 100; up to 15 digits. */
int parse_percent(const char *s, double *ret_percent);

/* The index of s in names, exactly as written there. */
int parse_enum(const char *s, const char *const *names, size_t nr_names, size_t *ret_index);

#endif
