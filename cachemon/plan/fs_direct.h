/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which direct reads a plan counts. Owns what the roles of direct reads mean for filesystems.
 */
#ifndef FS_DIRECT_H
#define FS_DIRECT_H

#include "cachemon/plan/probe_plan.h"

/* Bits of enum fs_direct. Of reads whose end is not seen a plan counts no more than what was asked,
 * also of those that are refused: that is not counted. */
unsigned int fs_direct_of_plan(const struct probe_plan *plan);

#endif
