/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules, notes and shared texts in the binary, by number in the order of their names. false:
 * no such number. */
#ifndef RULES_EMBEDDED_H
#define RULES_EMBEDDED_H

#include <stdbool.h>
#include <stddef.h>

bool embedded_rule(size_t i, const char **ret_name, const char **ret_text);
bool embedded_note(size_t i, const char **ret_name, const char **ret_text);
bool embedded_shared(size_t i, const char **ret_name, const char **ret_text);

#endif
