/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/rules/embedded_shared.h"

#include "shared_texts.h"

bool embedded_shared(size_t i, const char **ret_name, const char **ret_text)
{
	if (i >= sizeof(embedded) / sizeof(embedded[0]))
		return false;
	*ret_name = embedded[i].name;
	*ret_text = embedded[i].text;
	return true;
}
