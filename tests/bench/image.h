/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A filesystem of a given type on a loop device, with a fixed read_ahead_kb. Owns image, device and
 * mount, and removes them even if the benchmark exits early.
 */
#ifndef BENCH_IMAGE_H
#define BENCH_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#define IMAGE_READ_AHEAD_KB 128

/* Makes one in dir and returns its mount point, or NULL if mkfs or the kernel does not know the
 * type (printed on stdout). One at a time. */
const char *image_mount(const char *dir, const char *fstype, uint64_t bytes);
void image_unmount(void);

#endif
