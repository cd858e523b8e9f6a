/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/wire/client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "advisor/wire/child.h"
#include "advisor/wire/endpoint.h"
#include "advisor/wire/frames.h"
#include "advisor/wire/wire_utf8.h"
#include "advisor/wire/wire.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/clock.h"

#define SECOND UINT64_C(1000000000)

/* The client keeps to the limit itself; one that does not is ended a little later. */
enum { LIMIT_S = 120, STALL_S = 45, GRACE_S = 2 };

const char *const llm_outcome_names[LLM_OUTCOME_NR] = {
	[LLM_ANSWERED] = "answered",	   [LLM_NOT_CONFIGURED] = "not_configured",
	[LLM_NOT_ALLOWED] = "not_allowed", [LLM_UNREACHABLE] = "unreachable",
	[LLM_REFUSED] = "refused",	   [LLM_BROKEN] = "broken",
	[LLM_DECLINED] = "declined",
};

static void say(struct llm_answer *a, enum llm_outcome outcome, const char *reason)
{
	a->outcome = outcome;
	utf8_inert(a->reason, sizeof(a->reason), reason, strlen(reason), 500);
}

/* What needs no network to be known. False: it ends here, and is said. */
static bool may_ask(const struct llm_config *config, const struct invoker *as,
		    struct endpoint *endpoint, struct llm_answer *a)
{
	struct errtext err = {0};
	char text[512];

	if (!config->url || !config->model) {
		say(a, LLM_NOT_CONFIGURED,
		    !config->url ? "no model is configured: set CACHEMON_LLM_URL and "
				   "CACHEMON_LLM_MODEL"
				 : "it is not said which model to ask: set CACHEMON_LLM_MODEL");
		return false;
	}
	if (endpoint_make(config->url, config->api, endpoint, &err)) {
		say(a, LLM_NOT_ALLOWED, err.text[0] ? err.text : "no memory");
		return false;
	}
	memcpy(a->host, endpoint->host, sizeof(a->host));
	utf8_inert(a->model, sizeof(a->model), config->model, strlen(config->model),
		   sizeof(a->model) - 1);
	if (endpoint->plain && !endpoint->loopback && !config->allow_http) {
		snprintf(text, sizeof(text),
			 "%.100s is another machine, and http:// would let anybody on the way "
			 "read: use https://, or allow it with --llm-allow-http",
			 endpoint->host);
		say(a, LLM_NOT_ALLOWED, text);
		return false;
	}
	if (as->uid == 0) {
		say(a, LLM_NOT_ALLOWED,
		    "root does not talk to the network: run this as a user, or as root by sudo of "
		    "a user");
		return false;
	}
	return true;
}

/* One frame; 1: it was the last. */
static int take_frame(const struct frame *f, const struct llm_listener *listener,
		      struct llm_answer *a)
{
	struct frame_end end;
	int err;

	switch (f->type) {
	case FRAME_TEXT:
		if (listener && listener->text)
			listener->text(listener->arg, f->bytes, f->len);
		return 0;
	case FRAME_AGAIN:
		if (listener && listener->again)
			listener->again(listener->arg);
		return 0;
	default:
		err = frame_end_take(f, &end, &a->text, &a->len);
		if (err)
			return err;
		a->outcome = (enum llm_outcome)end.outcome;
		a->attempts = end.attempts;
		a->tokens_in = end.tokens_in;
		a->tokens_out = end.tokens_out;
		a->too_long = end.too_long;
		memcpy(a->reason, end.reason, sizeof(a->reason));
		memcpy(a->warning, end.warning, sizeof(a->warning));
		if (end.model[0])
			memcpy(a->model, end.model, sizeof(a->model));
		return 1;
	}
}

/* All frames that are whole: 0, 1 after the last, -errno. */
static int take_frames(struct frames *frames, const struct llm_listener *listener,
		       struct llm_answer *a)
{
	struct frame f;
	size_t at = 0;
	int r, got = 0;

	while ((r = frames_next(frames, &at, &f)) == 1 && !got)
		got = take_frame(&f, listener, a);
	frames_drop(frames, at);
	return got ? got : r;
}

/* 0: nothing came in time; 1: something did, or the end; -errno. */
static int wait_for(int fd, uint64_t until_ns)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t now = clock_now_ns();
	int r;

	if (now >= until_ns)
		return 0;
	r = poll(&p, 1, (int)((until_ns - now) / 1000000) + 1);
	return r < 0 ? -errno : r;
}

/* Until the last frame (1), the end of the pipe (0), or -ETIME, -errno. */
static int listen_to(const struct child *child, uint64_t until_ns,
		     const struct llm_listener *listener, struct llm_answer *a)
{
	struct frames frames = {0};
	char bytes[4096];
	int r = 0;

	while (r == 0) {
		ssize_t n;

		r = wait_for(child->fd, until_ns);
		if (r <= 0) {
			r = r == -EINTR ? 0 : r ? r : -ETIME;
			continue;
		}
		n = read(child->fd, bytes, sizeof(bytes));
		if (n == 0) {
			r = 0;
			break;
		}
		r = n > 0 ? frames_feed(&frames, bytes, (size_t)n) : errno == EINTR ? 0 : -errno;
		if (!r)
			r = take_frames(&frames, listener, a);
	}
	frames_free(&frames);
	return r;
}

/* The client is gone and has not said why. */
static void explain(int r, int status, uint64_t limit_ns, struct llm_answer *a)
{
	char text[256];
	int sig = status >= 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (r == -ETIME)
		snprintf(text, sizeof(text), "no answer of %.100s within %.1f s: given up", a->host,
			 (double)limit_ns / (double)SECOND);
	else if (r == 0 && (sig == SIGINT || sig == SIGTERM))
		snprintf(text, sizeof(text), "the question was interrupted");
	else if (r == 0 && sig)
		snprintf(text, sizeof(text), "the client of the model was ended by signal %d", sig);
	else
		snprintf(text, sizeof(text), "the client of the model ended without a word");
	say(a, LLM_UNREACHABLE, text);
}

static int ask(const struct attempts_job *job, const struct invoker *as,
	       const struct llm_listener *listener, struct llm_answer *a, struct errtext *err)
{
	struct child child = {-1, -1};
	int r = child_start(job, as, &child, err), status;

	if (r)
		return r;
	r = listen_to(&child, job->deadline_ns + GRACE_S * SECOND, listener, a);
	status = child_end(&child);
	if (r == -ENOMEM)
		return errtext_set(err, r, "no memory for the model's answer");
	if (r != 1)
		explain(r, status, job->limit_ns, a);
	return 0;
}

int llm_ask(const struct llm_config *config, const struct llm_prompt *prompt,
	    const struct invoker *as, const struct llm_listener *listener, struct llm_answer *ret,
	    struct errtext *err)
{
	struct endpoint endpoint = {0};
	struct llm_answer a = {.tokens_in = -1, .tokens_out = -1};
	uint64_t start = clock_now_ns();
	struct attempts_job job = {
		.config = config,
		.prompt = prompt,
		.endpoint = &endpoint,
		.stream = listener != NULL,
		.limit_ns = config->limit_ns ? config->limit_ns : LIMIT_S * SECOND,
		.stall_ns = config->stall_ns ? config->stall_ns : STALL_S * SECOND,
		.fd = -1,
	};
	int r = 0;

	job.deadline_ns = start + job.limit_ns;
	if (may_ask(config, as, &endpoint, &a))
		r = ask(&job, as, listener, &a, err);
	endpoint_free(&endpoint);
	if (r) {
		llm_answer_free(&a);
		return r;
	}
	a.duration_ns = clock_now_ns() - start;
	*ret = a;
	return 0;
}

void llm_answer_free(struct llm_answer *a)
{
	free(a->text);
	memset(a, 0, sizeof(*a));
}

int llm_request_body(const struct llm_config *config, const struct llm_prompt *prompt, bool stream,
		     char **ret_body, size_t *ret_len, struct errtext *err)
{
	const struct wire_shape shape = {.api = config->api, .stream = stream};
	int r = wire_request(&shape, config->model ? config->model : "", prompt, ret_body, ret_len);

	if (r)
		return errtext_set(err, r,
				   r == -EINVAL ? "the schema of the answer is no JSON"
						: "no memory for the request");
	return 0;
}
