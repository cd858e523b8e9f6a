/* SPDX-License-Identifier: BSD-2-Clause */
/* The views that travel in the binary, by number in the order of their names. false: there is no
 * such number. */
#ifndef EMBEDDED_VIEWS_H
#define EMBEDDED_VIEWS_H

#include <stdbool.h>
#include <stddef.h>

bool embedded_view(size_t i, const char **ret_name, const char **ret_text);

#endif
