/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock that intervals and costs are told by. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC: nobody sets it. */
uint64_t clock_now_ns(void);

#endif
