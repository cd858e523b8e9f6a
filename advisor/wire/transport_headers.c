/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "advisor/wire/transport_impl.h"

static struct curl_slist *add(struct curl_slist *list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(list, line);

	if (!longer)
		transfer_headers_free(list);
	return longer;
}

static struct curl_slist *add_key(struct curl_slist *list, const struct transport_call *call)
{
	char line[KEY_MAX + 64];

	snprintf(line, sizeof(line), "%s%s",
		 call->config->api == LLM_ANTHROPIC ? "x-api-key: " : "Authorization: Bearer ",
		 call->key->text);
	list = add(list, line);
	explicit_bzero(line, sizeof(line));
	return list;
}

struct curl_slist *transfer_headers(const struct transport_call *call)
{
	struct curl_slist *list = add(NULL, "Content-Type: application/json");

	if (list)
		list = add(list, call->stream ? "Accept: text/event-stream, application/json"
					      : "Accept: application/json");
	/* Servers that do not know "Expect: 100-continue" would let a long request wait. */
	if (list)
		list = add(list, "Expect:");
	if (list && call->config->api == LLM_ANTHROPIC)
		list = add(list, "anthropic-version: 2023-06-01");
	if (list && call->key->len)
		list = add_key(list, call);
	return list;
}

void transfer_headers_free(struct curl_slist *list)
{
	for (struct curl_slist *l = list; l; l = l->next)
		explicit_bzero(l->data, strlen(l->data));
	curl_slist_free_all(list);
}

int64_t transport_retry_after_ns(const char *value, int64_t now)
{
	char rest = '\0';
	unsigned int seconds = 0;
	time_t date;

	if (strspn(value, "0123456789") == strlen(value) && *value)
		/* More digits than that are a time nobody waits for. */
		return sscanf(value, "%9u%c", &seconds, &rest) == 1 ? (int64_t)seconds * 1000000000
								    : INT64_MAX;
	date = curl_getdate(value, NULL);
	if (date == -1)
		return -1;
	if (date <= now)
		return 0;
	return date - now < 1000000000 ? (int64_t)(date - now) * 1000000000 : INT64_MAX;
}
