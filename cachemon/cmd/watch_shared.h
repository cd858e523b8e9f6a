/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A watch whose command the daemon of the node counts, for any user: it is held until it counts,
 * and its rows come to the user's database at the end. Owns the choice between the daemon and
 * programs of its own.
 */
#ifndef WATCH_SHARED_H
#define WATCH_SHARED_H

#include <stdbool.h>

#include "cachemon/watch/watch.h"

/* Whether it is done, with an exit status; false: it is to be counted by programs of its own, and
 * why was printed unless there is no daemon. */
bool watch_shared(const struct watch_options *o, int signal_fd, int *ret_status);

#endif
