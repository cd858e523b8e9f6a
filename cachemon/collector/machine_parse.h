/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses texts of procfs and sysfs about the machine. Pure: knows no path. Missing numbers are
 * MACHINE_UNKNOWN.
 */
#ifndef MACHINE_PARSE_H
#define MACHINE_PARSE_H

#include "cachemon/account/sample_machine.h"

/* /proc/meminfo: present sizes, and constants. */
void machine_parse_meminfo(const char *text, struct sample_memory *ret, int64_t *ret_total,
			   int64_t *ret_swap);

/* A number alone on its line. */
int64_t machine_parse_number(const char *text);

/* The number of CPUs or nodes in a list such as "0-3,8". */
int64_t machine_parse_list(const char *text);

/* lru_gen/enabled, "0x0007": 1 if multi-gen LRU is on. */
int64_t machine_parse_mglru(const char *text);

/* The word in brackets ("always [madvise] never"), NUL-terminated; "" if there is no such word. */
void machine_parse_chosen(const char *text, char *ret, size_t size);

/* DEVNAME of a uevent file. */
void machine_parse_device_name(const char *text, char *ret, size_t size);

/* Requests for reads of a device that ended since it was there, and the sum of their times, in the
 * device's stat file; false: not such a text. */
bool machine_parse_reads(const char *text, int64_t *ret_reads, int64_t *ret_ms);

/* The same in /proc/diskstats; false: the device has no line. */
bool machine_parse_diskstats(const char *text, unsigned int major, unsigned int minor,
			     int64_t *ret_reads, int64_t *ret_ms);

/* Whether files of that filesystem come over a network. */
bool machine_is_network(const char *fstype);

#endif
