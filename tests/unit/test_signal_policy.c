/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: job access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>

#include "cachemon/job/command.h"

static void policy(void **state)
{
	enum { CMD = 500, OTHER = 600 };
	static const struct {
		pid_t cmd;
		unsigned int stops;
		struct signal_seen seen;
		enum signal_action action;
		unsigned int stops_after;
	} rows[] = {
		/* From the terminal: CMD got it too. */
		{CMD, 0, {SIGINT, SI_KERNEL, 0}, SIGNAL_NOTE, 1},
		{CMD, 1, {SIGINT, SI_KERNEL, 0}, SIGNAL_ABANDON, 2},
		{CMD, 0, {SIGQUIT, SI_KERNEL, 0}, SIGNAL_NOTE, 0},
		{CMD, 1, {SIGQUIT, SI_KERNEL, 0}, SIGNAL_NOTE, 1},
		{CMD, 0, {SIGHUP, SI_KERNEL, 0}, SIGNAL_NOTE, 0},
		/* Sent to cachemon only. */
		{CMD, 0, {SIGINT, SI_USER, OTHER}, SIGNAL_FORWARD, 0},
		{CMD, 1, {SIGINT, SI_USER, OTHER}, SIGNAL_FORWARD, 1},
		{CMD, 0, {SIGTERM, SI_USER, OTHER}, SIGNAL_FORWARD, 0},
		{CMD, 5, {SIGTERM, SI_QUEUE, OTHER}, SIGNAL_FORWARD, 5},
		{CMD, 0, {SIGHUP, SI_TKILL, OTHER}, SIGNAL_FORWARD, 0},
		{CMD, 0, {SIGQUIT, SI_USER, 0}, SIGNAL_FORWARD, 0},
		/* Sent by CMD's own kill(0): not sent back. */
		{CMD, 0, {SIGTERM, SI_USER, CMD}, SIGNAL_NOTE, 0},
		/* No CMD, or not yet started. */
		{0, 0, {SIGINT, SI_KERNEL, 0}, SIGNAL_FINISH, 1},
		{0, 1, {SIGINT, SI_KERNEL, 0}, SIGNAL_ABANDON, 2},
		{0, 0, {SIGTERM, SI_USER, OTHER}, SIGNAL_FINISH, 1},
		{0, 1, {SIGTERM, SI_USER, OTHER}, SIGNAL_ABANDON, 2},
		{0, 0, {SIGHUP, SI_KERNEL, 0}, SIGNAL_FINISH, 1},
		/* Other signals are not forwarded. */
		{CMD, 0, {SIGUSR1, SI_USER, OTHER}, SIGNAL_NOTE, 0},
		{0, 0, {SIGWINCH, SI_KERNEL, 0}, SIGNAL_NOTE, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct signal_state s = {.cmd = rows[i].cmd, .stops = rows[i].stops};

		if (command_signal_action(&rows[i].seen, &s) != rows[i].action ||
		    s.stops != rows[i].stops_after)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
