/* SPDX-License-Identifier: BSD-2-Clause */
/* Sharing out whole pages in proportion to weights, so that the shares add up to all of them. */
#ifndef SHARE_OUT_H
#define SHARE_OUT_H

#include <stddef.h>
#include <stdint.h>

/*
 * By largest remainder: each share is its part of the whole, rounded down or up. Weights of 2^32
 * and more in sum are fine. When all are 0 so are the shares, and the pages stay with the caller.
 */
void share_out(uint64_t pages, const uint64_t *weights, size_t nr, uint64_t *ret_shares);

#endif
