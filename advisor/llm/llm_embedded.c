/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/llm_embedded.h"

#include <string.h>

#include "embedded_prompts.h"

const char *embedded_prompt(const char *name)
{
	for (size_t i = 0; i < sizeof(embedded) / sizeof(embedded[0]); i++)
		if (strcmp(embedded[i].name, name) == 0)
			return embedded[i].text;
	return "";
}
