/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/rules/embedded.h"

#include "note_texts.h"
#include "rule_texts.h"
#include "shared_texts.h"

#define EMBEDDED(function, texts)                                                                  \
	bool function(size_t i, const char **ret_name, const char **ret_text)                      \
	{                                                                                          \
		if (i >= sizeof(texts) / sizeof(texts[0]))                                         \
			return false;                                                              \
		*ret_name = texts[i].name;                                                         \
		*ret_text = texts[i].text;                                                         \
		return true;                                                                       \
	}

EMBEDDED(embedded_rule, rule_texts)
EMBEDDED(embedded_note, note_texts)
EMBEDDED(embedded_shared, shared_texts)
