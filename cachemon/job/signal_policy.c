/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/job/signal_policy.h"

enum signal_action signal_policy_decide(const struct signal_seen *seen, struct signal_state *state)
{
	/* SI_USER, SI_QUEUE, SI_TKILL are <= 0: some process. */
	bool from_kernel = seen->code > 0;

	if (seen->signo != SIGINT && seen->signo != SIGTERM && seen->signo != SIGHUP &&
	    seen->signo != SIGQUIT)
		return SIGNAL_NOTE;
	if (state->cmd == 0)
		return state->stops++ == 0 ? SIGNAL_FINISH : SIGNAL_ABANDON;
	if (from_kernel && seen->signo == SIGINT)
		return state->stops++ == 0 ? SIGNAL_NOTE : SIGNAL_ABANDON;
	/* "kill 0" in CMD reaches cachemon too: echoing it would deliver it twice. */
	if (from_kernel || seen->sender == state->cmd)
		return SIGNAL_NOTE;
	return SIGNAL_FORWARD;
}
