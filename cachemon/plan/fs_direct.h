/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which direct reads a plan counts. Owns what the roles of direct reads mean for filesystems.
 */
#ifndef FS_DIRECT_H
#define FS_DIRECT_H

#include "plan/probe_plan.h"

/* Bits of enum fs_direct. */
unsigned int fs_direct_of_plan(const struct probe_plan *plan);

#endif
