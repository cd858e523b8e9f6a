/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared texts of the notes that travel in the binary, by number in the order of their names.
 * false: there is no such number. */
#ifndef EMBEDDED_SHARED_H
#define EMBEDDED_SHARED_H

#include <stdbool.h>
#include <stddef.h>

bool embedded_shared(size_t i, const char **ret_name, const char **ret_text);

#endif
