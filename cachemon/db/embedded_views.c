/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/db/embedded_views.h"

#include "view_texts.h"

bool embedded_view(size_t i, const char **ret_name, const char **ret_text)
{
	if (i >= sizeof(view_texts) / sizeof(view_texts[0]))
		return false;
	*ret_name = view_texts[i].name;
	*ret_text = view_texts[i].text;
	return true;
}
