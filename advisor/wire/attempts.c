/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/wire/attempts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "advisor/wire/judge.h"
#include "advisor/wire/key.h"
#include "advisor/wire/policy.h"
#include "advisor/wire/save.h"
#include "advisor/wire/say.h"
#include "advisor/wire/sse.h"
#include "advisor/wire/transport.h"
#include "advisor/wire/wire_utf8.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/clock.h"

/* Of the question, over all attempts. */
struct run {
	const struct attempts_job *job;
	struct key key;
	struct save save;
	struct policy policy;
	struct frame_end *end;
	bool shown; /* pieces of an attempt that are to be forgotten if another follows */
};

/* Of one attempt. */
struct attempt {
	struct run *run;
	struct sse sse;
	struct wire_reply reply;
	size_t told; /* of its text */
	struct transport_result transport;
	struct verdict verdict;
};

static uint64_t left_ns(const struct run *run)
{
	uint64_t now = clock_now_ns();

	return now < run->job->deadline_ns ? run->job->deadline_ns - now : 0;
}

static void warn(struct run *run, const char *text)
{
	if (!run->end->warning[0])
		utf8_inert(run->end->warning, sizeof(run->end->warning), text, strlen(text),
			   sizeof(run->end->warning) - 1);
}

static void keep(struct run *run, const char *part, char *bytes, size_t len)
{
	struct errtext err = {0};

	if (bytes)
		key_mask(&run->key, bytes, len);
	if (save_part(&run->save, run->end->attempts, part, bytes, len, &err))
		warn(run, err.text);
}

static void mask(const struct run *run, char *text)
{
	key_mask(&run->key, text, strlen(text));
}

/* Servers may cut a character in two; those who listen get it whole. What may become the key waits
 * until it is seen not to. */
static int tell(struct attempt *a)
{
	size_t told = a->told;
	size_t clear = told + key_mask(&a->run->key, a->reply.text + told, a->reply.len - told);
	size_t whole = utf8_whole(a->reply.text, clear);
	int err = 0;

	if (whole > a->told) {
		a->run->shown = true;
		err = frame_text(a->run->job->fd, a->reply.text + a->told, whole - a->told);
		a->told = whole;
	}
	return err;
}

static int on_event(void *arg, const char *data, size_t len)
{
	struct attempt *a = arg;
	int err = wire_event(a->run->job->config->api, data, len, &a->reply);

	if (!err && a->reply.len)
		err = tell(a);
	if (err)
		return err;
	return a->reply.done || a->reply.failed;
}

static int on_bytes(void *arg, const char *bytes, size_t len)
{
	struct attempt *a = arg;

	return sse_feed(&a->sse, bytes, len, on_event, a);
}

/* 0, or -errno when not even an attempt can be made. */
static int attempt(struct run *run, struct attempt *a)
{
	const struct attempts_job *job = run->job;
	_cleanup_free_ char *body = NULL;
	struct transport_call call = {
		.config = job->config,
		.endpoint = job->endpoint,
		.key = &run->key,
		.stream = run->policy.shape.stream,
		.left_ns = left_ns(run),
		.stall_ns = job->stall_ns,
		.piece = on_bytes,
		.arg = a,
	};
	int err =
		wire_request(&run->policy.shape, job->config->model, job->prompt, &body, &call.len);

	if (err)
		return err;
	if (run->shown && frame_again(job->fd))
		return -EPIPE;
	run->shown = false;
	run->end->attempts++;
	keep(run, "request.json", body, call.len);
	call.body = body;
	err = transport_do(&call, &a->transport);
	if (err)
		return err;
	keep(run, "headers", a->transport.headers, a->transport.headers_len);
	keep(run, "response", a->transport.body, a->transport.len);
	a->verdict = judge(job->config->api, &a->transport, &a->reply);
	/* Of a stream, or written so that it was not seen in the bytes. */
	mask(run, a->verdict.error.message);
	mask(run, a->reply.model);
	return 0;
}

static void forget(struct attempt *a)
{
	sse_free(&a->sse);
	wire_reply_free(&a->reply);
	transport_result_free(&a->transport);
}

static uint32_t chance(void)
{
	uint32_t random = UINT32_MAX;

	return getrandom(&random, sizeof(random), GRND_NONBLOCK) == (ssize_t)sizeof(random)
		       ? random
		       : UINT32_MAX;
}

static void wait_ns(uint64_t ns)
{
	struct timespec left = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

/* A server that takes the beginning of a prompt only and says nothing of it: no tokenizer makes so
 * few tokens of so much text. */
static void look_for_cut_prompt(struct run *run, const struct wire_reply *reply)
{
	enum { BYTES_A_TOKEN_MAX = 6, SMALL = 4000 };
	size_t bytes = strlen(run->job->prompt->system) + strlen(run->job->prompt->user);
	char text[256];

	if (bytes < SMALL || reply->tokens_in <= 0 ||
	    (uint64_t)reply->tokens_in * BYTES_A_TOKEN_MAX >= bytes)
		return;
	snprintf(text, sizeof(text),
		 "%.100s counts %lld tokens in a prompt of %zu bytes: it seems to have read a part "
		 "of it only; is its context large enough?",
		 run->job->endpoint->host, (long long)reply->tokens_in, bytes);
	warn(run, text);
}

/* The last attempt says how it ended. */
static void conclude(struct run *run, struct attempt *a, const struct policy_next *next,
		     char **ret_text, size_t *ret_len)
{
	const char *model = say_is_model(a->reply.model) ? a->reply.model : run->job->config->model;
	struct frame_end *end = run->end;
	struct say_facts facts = {
		.config = run->job->config,
		.host = run->job->endpoint->host,
		.with_key = run->key.len != 0,
		.max_tokens = run->job->prompt->max_tokens,
		.attempts = end->attempts,
		.limit_ns = run->job->limit_ns,
		.stall_ns = run->job->stall_ns,
		.transport = &a->transport,
		.reply = &a->reply,
		.verdict = &a->verdict,
		.next = next,
		.retry_after_ns = a->transport.retry_after_ns,
		.time_over = left_ns(run) < POLICY_LEFT_MIN_NS,
	};

	end->outcome = say_outcome(&a->verdict);
	end->tokens_in = a->reply.tokens_in;
	end->tokens_out = a->reply.tokens_out;
	end->too_long = a->verdict.complaint == COMPLAINT_LONG;
	utf8_inert(end->model, sizeof(end->model), model, strlen(model), sizeof(end->model) - 1);
	if (end->outcome != LLM_ANSWERED) {
		say_reason(&facts, end->reason, sizeof(end->reason));
		return;
	}
	look_for_cut_prompt(run, &a->reply);
	key_mask(&run->key, a->reply.text, a->reply.len);
	end->has_text = 1;
	*ret_len = a->reply.len;
	*ret_text = TAKE_PTR(a->reply.text);
}

static int run_all(struct run *run, char **ret_text, size_t *ret_len)
{
	struct policy_next next;

	do {
		struct attempt a = {.run = run};
		int err;

		wire_reply_init(&a.reply);
		err = attempt(run, &a);
		if (err) {
			forget(&a);
			return err;
		}
		next = policy_after(&run->policy, &a.verdict, a.transport.retry_after_ns,
				    left_ns(run), chance());
		if (next.act == POLICY_END)
			conclude(run, &a, &next, ret_text, ret_len);
		forget(&a);
		if (next.act == POLICY_AGAIN)
			wait_ns(next.wait_ns);
	} while (next.act != POLICY_END);
	return 0;
}

void attempts_run(const struct attempts_job *job, struct frame_end *end, char **ret_text,
		  size_t *ret_len)
{
	struct run run = {
		.job = job,
		.save = {-1},
		.policy.shape = {.api = job->config->api, .stream = job->stream},
		.end = end,
	};
	struct errtext err = {0};
	int r;

	memset(end, 0, sizeof(*end));
	end->tokens_in = end->tokens_out = -1;
	*ret_text = NULL;
	*ret_len = 0;
	if (key_read(job->config->key_env, job->config->key_file, &run.key, &err)) {
		end->outcome = LLM_NOT_ALLOWED;
		utf8_inert(end->reason, sizeof(end->reason), err.text, strlen(err.text), SAY_MAX);
		return;
	}
	if (save_open(job->config->save_dir, &run.save, &err))
		warn(&run, err.text);
	r = run_all(&run, ret_text, ret_len);
	if (r) {
		end->outcome = LLM_UNREACHABLE;
		snprintf(end->reason, sizeof(end->reason), "the request could not be made: %s",
			 strerror(-r));
	}
	save_close(&run.save);
	key_wipe(&run.key);
}
