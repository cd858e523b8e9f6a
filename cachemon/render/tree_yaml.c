/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* Keeps the first error; libyaml owns the event from here in any case. */
static void emit(struct tree *t, yaml_event_t *event, int made)
{
	if (!made || !yaml_emitter_emit(t->state, event))
		t->failed = true;
}

static void put_scalar(struct tree *t, const char *text, size_t len, bool plain)
{
	yaml_event_t event;

	/* Strings are always quoted, so that no name is taken for a number, a date, yes or null. */
	emit(t, &event,
	     yaml_scalar_event_initialize(
		     &event, NULL, NULL, (const yaml_char_t *)text, (int)len, plain, !plain,
		     plain ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE));
}

static void put_key(struct tree *t, const char *key)
{
	yaml_event_t event;

	if (key)
		emit(t, &event,
		     yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)key,
						  (int)strlen(key), 1, 0, YAML_PLAIN_SCALAR_STYLE));
}

static void yaml_open(struct tree *t, const char *key, enum tree_shape shape)
{
	yaml_event_t event;

	put_key(t, key);
	if (shape != TREE_OBJECT)
		emit(t, &event,
		     yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
							  shape == TREE_LINE
								  ? YAML_FLOW_SEQUENCE_STYLE
								  : YAML_BLOCK_SEQUENCE_STYLE));
	else
		emit(t, &event,
		     yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
							 YAML_BLOCK_MAPPING_STYLE));
}

static void yaml_close(struct tree *t, bool array)
{
	yaml_event_t event;

	emit(t, &event,
	     array ? yaml_sequence_end_event_initialize(&event)
		   : yaml_mapping_end_event_initialize(&event));
}

static void yaml_plain(struct tree *t, const char *key, const char *text)
{
	put_key(t, key);
	put_scalar(t, text, strlen(text), true);
}

static void yaml_string(struct tree *t, const char *key, const char *s, size_t len)
{
	put_key(t, key);
	put_scalar(t, s, len, false);
}

static int yaml_finish(struct tree *t)
{
	yaml_event_t event;

	emit(t, &event, yaml_document_end_event_initialize(&event, 1));
	emit(t, &event, yaml_stream_end_event_initialize(&event));
	yaml_emitter_delete(t->state);
	free(t->state);
	t->state = NULL;
	return 0;
}

int tree_yaml_begin(struct tree *ret, FILE *out)
{
	static const struct tree_ops ops = {
		.open = yaml_open,
		.close = yaml_close,
		.plain = yaml_plain,
		.string = yaml_string,
		.finish = yaml_finish,
	};
	yaml_emitter_t *emitter = calloc(1, sizeof(*emitter));
	yaml_event_t event;

	if (!emitter || !yaml_emitter_initialize(emitter)) {
		free(emitter);
		return -ENOMEM;
	}
	yaml_emitter_set_output_file(emitter, out);
	yaml_emitter_set_width(emitter, -1);
	/* Unicode off: escapes all non-ASCII characters, bidi marks and terminal controls
	 * included. */
	yaml_emitter_set_unicode(emitter, 0);
	*ret = (struct tree){.ops = &ops, .out = out, .state = emitter};
	emit(ret, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING));
	emit(ret, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1));
	return 0;
}
