/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "cachemon/cmd/cmd.h"
#include "cachemon/watch/watch.h"
#include "cachemon/cmd/watch_view.h"

/* The kernel checks the probes before it takes them, which a reader would wait for in silence. */
static int prepare(const struct watch_options *o, struct watch_run **ret, struct errtext *err)
{
	bool live = watch_live_possible(stderr);
	int status;

	if (live)
		watch_live_note(stderr, "loading the probes ...");
	status = watch_run_new(o, ret, err);
	if (live)
		watch_live_clear(stderr);
	return status;
}

int cmd_watch(int argc, char **argv)
{
	struct watch_options o;
	struct watch_run *run = NULL;
	struct errtext err = {"out of memory"};
	int status, signal_fd;

	watch_options_parse(argc, argv, &o);
	if (o.live && watch_view_check(&o, &err)) {
		fprintf(stderr, "cachemon watch: %s\n", err.text);
		return EXIT_USAGE;
	}
	signal_fd = watch_signals_open();
	if (signal_fd < 0)
		status = errtext_set(&err, signal_fd, "cannot receive signals: %s",
				     strerror(-signal_fd));
	else
		status = prepare(&o, &run, &err);
	if (!status)
		status = watch_run_start(run, &err);
	if (status) {
		fprintf(stderr, "cachemon: %s\n", err.text);
		/* As a shell: what kept CMD from running is CMD's status, else 125. */
		if (!o.command)
			status = EXIT_FAILED;
		else if (!run || !watch_run_command(run) ||
			 command_reap(watch_run_command(run), &status) || status < 126)
			status = COMMAND_FAILED;
		if (run)
			watch_run_abort(run, status);
	} else {
		status = watch_loop(&o, run, signal_fd);
	}
	watch_run_free(run);
	return status;
}
