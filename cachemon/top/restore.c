/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/top/restore.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};
enum { NR_CRASHES = sizeof(crashes) / sizeof(crashes[0]), STACK_BYTES = 16384 };

static struct {
	int fd;
	struct termios modes;
	char leave[TOP_RESTORE_MAX];
	size_t length;
	volatile sig_atomic_t armed;
	_Alignas(16) char stack[STACK_BYTES]; /* that of the program may be what is broken */
} state = {.fd = -1};

/* Only what a handler may call. */
static void on_crash(int signo)
{
	if (state.armed) {
		state.armed = 0;
		if (write(state.fd, state.leave, state.length) < 0) {
			/* There is no other way to say so. */
		}
		signal(SIGTTOU, SIG_IGN);
		tcsetattr(state.fd, TCSANOW, &state.modes);
	}
	/* The handler is gone, and the signal not blocked. */
	raise(signo);
}

int top_restore_save(int fd)
{
	state.fd = fd;
	return tcgetattr(fd, &state.modes) ? -errno : 0;
}

void top_restore_arm(const char *leave, size_t length)
{
	stack_t stack = {.ss_sp = state.stack, .ss_size = sizeof(state.stack)};
	struct sigaction action = {.sa_handler = on_crash,
				   .sa_flags = SA_ONSTACK | SA_RESETHAND | SA_NODEFER};

	state.length = length < sizeof(state.leave) ? length : sizeof(state.leave);
	memcpy(state.leave, leave, state.length);
	state.armed = 1;
	sigaltstack(&stack, NULL);
	sigemptyset(&action.sa_mask);
	for (int i = 0; i < NR_CRASHES; i++)
		sigaction(crashes[i], &action, NULL);
}

void top_restore_disarm(void)
{
	state.armed = 0;
	for (int i = 0; i < NR_CRASHES; i++)
		signal(crashes[i], SIG_DFL);
}
