/* SPDX-License-Identifier: BSD-2-Clause */
/* The notes that travel in the binary, by number in the order of their names. false: there is no
 * such number. */
#ifndef EMBEDDED_NOTES_H
#define EMBEDDED_NOTES_H

#include <stdbool.h>
#include <stddef.h>

bool embedded_note(size_t i, const char **ret_name, const char **ret_text);

#endif
