/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules that travel in the binary, by number in the order of their names. false: there is no
 * such number. */
#ifndef EMBEDDED_RULES_H
#define EMBEDDED_RULES_H

#include <stdbool.h>
#include <stddef.h>

bool embedded_rule(size_t i, const char **ret_name, const char **ret_text);

#endif
