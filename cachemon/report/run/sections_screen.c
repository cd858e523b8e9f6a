/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/sections.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/escape.h"
#include "cachemon/base/quote.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/figures/show.h"
#include "cachemon/report/run/findings.h"
#include "cachemon/report/run/prose.h"

/* At least one on the lowest screen. */
enum { JOBS_MAX = SCREEN_NR };

static const struct doc_column fact_columns[] = {{"", DOC_LEFT}, {"", DOC_WRAP}};

/* A text to free, or NULL for out of memory. */
static void fact(struct doc_table *t, const char *name, char *text)
{
	doc_cell(t, "%s", name);
	doc_cell_text(t, text);
}

/* Local time on a screen; "2026-03-01 10:20 UTC" in a page that may be sent to others. */
static struct shown start_time(const struct model_run *run, bool whole)
{
	struct shown ret = {"-"};

	if (!run->started_ns.known)
		return ret;
	if (!whole)
		return show_local(run->started_ns.value);
	ret = show_rfc3339(run->started_ns.value);
	ret.s[strcspn(ret.s, "T")] = ' ';
	snprintf(ret.s + strlen("2026-03-01 10:20"), sizeof(" UTC"), " UTC");
	return ret;
}

static char *started_text(const struct model *m, bool whole)
{
	const struct model_run *run = &m->run;
	char *user = run->user.data ? prose_name(&run->user, PROSE_NAME_MAX) : NULL;
	char *host = prose_name(&run->host, PROSE_NAME_MAX);
	char *kernel = prose_name(&run->kernel, PROSE_NAME_MAX);
	char *version = prose_name(&run->cachemon, PROSE_NAME_MAX);
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (out) {
		fprintf(out, "%s", start_time(run, whole).s);
		if (whole)
			fprintf(out, ", took %s", show_ns(run->duration_ns).s);
		fprintf(out, ", by user %s on %s", user ? user : "unknown", host ? host : "-");
		if (whole)
			fprintf(out, " (Linux %s, cachemon %s)", kernel ? kernel : "-",
				version ? version : "-");
	}
	free(user);
	free(host);
	free(kernel);
	free(version);
	return text_end(&b);
}

static char *limit_text(const struct model *m, const struct model_job *job)
{
	struct shown memory = show_bytes(m->run.memory_bytes, false);
	char *ret = NULL;

	if (job->limit_bytes.known)
		text_print(&ret, "%s for the job, of %s of memory",
			   show_bytes(job->limit_bytes, false).s, memory.s);
	else
		text_print(&ret, "%s for the job; the machine has %s of memory",
			   job->limit_known ? "none" : "unknown", memory.s);
	return ret;
}

/* "train (Slurm job 12, step batch, partition gpu)"; without a name what is in the brackets. */
static char *slurm_text(const struct model_job *job)
{
	char *name = job->job_name.data ? prose_name(&job->job_name, PROSE_NAME_MAX) : NULL;
	char *id = prose_name(&job->external_id, PROSE_NAME_MAX);
	char *step = job->step.data ? prose_name(&job->step, PROSE_NAME_MAX) : NULL;
	char *partition = job->partition.data ? prose_name(&job->partition, PROSE_NAME_MAX) : NULL;
	char *ret = NULL;

	text_print(&ret, "%s%sSlurm job %s%s%s%s%s%s", name ?: "", name ? " (" : "", id ?: "-",
		   step ? ", step " : "", step ?: "", partition ? ", partition " : "",
		   partition ?: "", name ? ")" : "");
	free(name);
	free(id);
	free(step);
	free(partition);
	return ret;
}

enum head { HEAD_LEAST, HEAD_SCREEN, HEAD_WHOLE };

/* The run's description: command, user, machine, time, limit. job: NULL: several different jobs. */
static void put_head(struct doc *d, const struct model *m, const struct model_job *job,
		     enum head head)
{
	static const struct bytes slurm = {"slurm", 5};
	struct doc_table t = DOC_TABLE(NULL, fact_columns);
	bool started = job && !strncmp(job->selector.data ?: "", "command: ", strlen("command: "));
	struct bytes what = started ? model_command(job) : job ? job->selector : (struct bytes){0};

	if (job)
		fact(&t, started ? "command" : "watched",
		     prose_name(&what, head == HEAD_LEAST ? PROSE_NAME_MAX : PROSE_TWO_LINES));
	if (job && bytes_equal(&job->kind, &slurm))
		fact(&t, "job", slurm_text(job));
	if (head != HEAD_LEAST)
		fact(&t, "started", started_text(m, head == HEAD_WHOLE));
	if (job && head != HEAD_LEAST)
		fact(&t, "limit", limit_text(m, job));
	if (m->run.exit_status.known && m->run.exit_status.value) {
		doc_cell(&t, "status");
		doc_cell(&t, "%" PRId64 " (exit status of the command)", m->run.exit_status.value);
	}
	doc_put_facts(d, &t);
}

static char *waiting_text(const struct model *m, const struct model_job *job)
{
	const struct analysis_job *a = findings_of(m, job);
	struct opt_i64 stall = counts_get(&job->counts, C_stall_ns);
	struct opt_i64 without = findings_without_waiting(m, job);
	struct shown waited = show_least(show_ns(stall), job->counts.bounds & BOUND_ROW);
	char *ret = NULL;

	if (!stall.known)
		text_print(&ret, "not measured");
	else if (!stall.value)
		text_print(&ret, "none: no task waited for the page cache");
	else if (!without.known)
		text_print(&ret, "%s for the page cache", waited.s);
	else if (a->several)
		text_print(
			&ret,
			"%s for the page cache, in all tasks together; shared evenly, without it "
			"the run would take about %s",
			waited.s, show_ns(without).s);
	else
		text_print(&ret, "%s for the page cache; without it the run would take about %s",
			   waited.s, show_ns(without).s);
	return ret;
}

/* "overall B 0.90, reuse A 1.00, prefetch -" */
static char *grades_text(const struct analysis_job *a)
{
	struct text_builder b;
	FILE *out = text_begin(&b);

	for (int i = 0; out && i < GRADE_NR; i++) {
		const struct analysis_grade *g = &a->grades[i];

		/* The sentence above already has the overall score. */
		fprintf(out, "%s%s %s%s%s", i ? ", " : "", grade_titles[i], g->letter ?: "-",
			i && g->letter ? " " : "",
			i && g->letter ? show_double(g->score, 2).s : "");
	}
	return text_end(&b);
}

static void put_figures(struct doc *d, const struct model *m, const struct model_job *job,
			bool grades)
{
	const struct analysis_job *a = findings_of(m, job);
	struct doc_table t = DOC_TABLE(NULL, fact_columns);

	if (a && grades)
		fact(&t, "grades", grades_text(a));
	fact(&t, "waiting", waiting_text(m, job));
	doc_put_facts(d, &t);
}

static char *capital(char *text)
{
	if (text)
		*text = (char)toupper((unsigned char)*text);
	return text;
}

static void put_fix(struct doc_table *t, const struct finding *f)
{
	doc_cell_text(t, capital(strdup(f->rule->title)));
	doc_cell(t, "%s", f->rule->id);
	doc_cell(t, "%s", finding_gain(&f->gain).s);
	doc_cell_text(t, capital(prose_action(f)));
}

/* Returns the number of fixes written. */
static size_t put_fixes(struct doc *d, const struct model *m, const struct model_job *job)
{
	static const struct doc_column columns[] = {
		{"", DOC_LEFT}, {"", DOC_LEFT}, {"", DOC_LEFT}, {"", DOC_WRAP}};
	struct doc_table t = DOC_TABLE("Fix first", columns);
	const struct analysis_job *a = findings_of(m, job);
	size_t nr = 0;

	for (; a && nr < a->nr_fixes && nr < SECTIONS_FIXES; nr++)
		put_fix(&t, &a->findings[nr]);
	doc_put_steps(d, &t);
	return nr;
}

static void put_reads(struct doc *d, const struct model *m, const struct model_job *job, bool why)
{
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (out)
		prose_reads(out, m, job, why);
	doc_para_text(d, text_end(&b));
}

void sections_head(struct doc *d, const struct model *m, const struct model_job *job)
{
	put_head(d, m, job, HEAD_WHOLE);
	sections_judgement(d, m, job);
	put_figures(d, m, job, false);
	put_fixes(d, m, job);
}

static void put_caveats(struct doc *d, const struct model *m, enum screen_detail detail)
{
	struct text_builder b;
	FILE *out = text_begin(&b);
	bool any = out && prose_caveats(out, "Caution: ", m);
	char *text = text_end(&b);

	if (detail == SCREEN_LEAST) {
		free(text);
		if (any)
			doc_para(d, "Caution: the figures are incomplete; --full shows why.");
		return;
	}
	if (m->run.sliced.known && m->run.sliced.value)
		doc_para(d, "~ marks an estimate from part of the reads, with its 90 %% interval.");
	doc_para_text(d, text);
}

/* The first fix; NULL: none. */
static const struct finding *first_fix(const struct model *m, const struct model_job *job)
{
	const struct analysis_job *a = findings_of(m, job);

	return a && a->nr_fixes ? &a->findings[0] : NULL;
}

static size_t fixes_left(const struct model *m, const struct model_job *job, size_t shown)
{
	const struct analysis_job *a = job ? findings_of(m, job) : NULL;

	return a && a->nr_fixes > shown ? a->nr_fixes - shown : 0;
}

/* A line of a terminal, without the indent of commands. */
enum { COMMAND_WIDTH = 76 };

/* Commands with the path would not fit on lines, and could not be copied: then one more line names
 * it for all of them. */
static bool db_is_long(const char *db, const char *again)
{
	return db && strlen("cachemon report --db '' -o report.html") + strlen(db) + strlen(again) >
			     COMMAND_WIDTH;
}

size_t sections_screen_end_lines(enum screen_detail detail, const char *db, const char *again)
{
	return (detail == SCREEN_LEAST ? 2 : 4) + db_is_long(db, again);
}

/* Commands to copy, and their purposes in a column if that has room, else where one has. db:
 * quoted, or "". */
static char *commands_text(const char *db, bool apart, const char *again, const char *full,
			   bool least, const struct finding *f)
{
	enum { NR = 3 };
	const char *const whys[NR] = {full, "a page to send", "meaning and undo"};
	const char *option = apart || !*db ? "" : " --db ", *path = apart ? "" : db;
	size_t nr = least ? 1 : f ? NR : NR - 1, wide = 0, longest = strlen("  # a page to send");
	char *commands[NR] = {NULL};
	struct text_builder b;
	FILE *out = text_begin(&b);
	char *text;
	bool failed =
		text_print(&commands[0], "cachemon report%s%s%s --full", option, path, again) ||
		text_print(&commands[1], "cachemon report%s%s%s -o report.html", option, path,
			   again) ||
		(f && text_print(&commands[2], "cachemon explain %s", f->rule->id));

	for (size_t i = 0; !failed && i < nr; i++)
		wide = strlen(commands[i]) > wide ? strlen(commands[i]) : wide;
	if (wide + longest > COMMAND_WIDTH)
		wide = 0;
	if (out && apart)
		fprintf(out, "export CACHEMON_DB=%s\n", db);
	for (size_t i = 0; !failed && out && i < nr; i++) {
		bool fits = strlen(commands[i]) + longest <= COMMAND_WIDTH;

		fprintf(out, "%-*s%s%s\n", fits ? (int)wide : 0, commands[i], fits ? "  # " : "",
			fits ? whys[i] : "");
	}
	for (size_t i = 0; i < NR; i++)
		free(commands[i]);
	text = text_end(&b);
	if (!failed)
		return text;
	free(text);
	return NULL;
}

/* One job of several. */
static void put_one_of(struct doc *d, const struct model *m, const struct model_job *job,
		       bool grades)
{
	char *name = prose_name(&job->name, PROSE_NAME_MAX);
	const struct finding *f = first_fix(m, job);

	doc_heading(d, 3, "Job %s, %s", name ? name : "-", show_ns(job->wall_ns).s);
	free(name);
	sections_judgement(d, m, job);
	if (f)
		doc_para(d, "Fix first: %s [%s]. Gain: %s.", f->rule->title, f->rule->id,
			 finding_gain(&f->gain).s);
	put_figures(d, m, job, grades);
}

static size_t count_watched(const struct model *m)
{
	size_t nr = 0;

	for (size_t i = 0; i < m->nr_jobs; i++)
		nr += !model_others(&m->jobs[i]);
	return nr;
}

static void put_title(struct doc *d, const struct model *m, const struct model_job *job,
		      size_t watched)
{
	char *name = job ? prose_name(&job->name, PROSE_NAME_MAX) : NULL;
	bool alive = job && job->alive.known && job->alive.value > 0;
	char tasks[256] = "";

	if (job)
		snprintf(tasks, sizeof(tasks), ", %s %s%s%s%s", show_count(job->processes, false).s,
			 show_plural(job->processes, "process", "processes"), alive ? " (" : "",
			 alive ? show_count(job->alive, false).s : "",
			 alive ? " still running)" : "");
	if (watched > 1)
		doc_begin(d, "cachemon: run %" PRId64 ", %zu jobs, %s", m->run.id, watched,
			  show_ns(m->run.duration_ns).s);
	else
		doc_begin(d, "cachemon: run %" PRId64 ", %s%s, %s%s", m->run.id,
			  !job ? "no job" : "job ", name ? name : "", show_ns(m->run.duration_ns).s,
			  tasks);
	free(name);
}

/* As in a shell: the command was not found, or could not be executed. */
static bool not_started(const struct model *m, const struct model_job *job)
{
	return m->run.exit_status.known && m->run.exit_status.value >= 126 &&
	       m->run.exit_status.value <= 127 && job->processes.known && !job->processes.value;
}

size_t sections_screen(struct doc *d, const struct model *m, enum screen_detail detail)
{
	const struct model_job *job = model_main_job(m);
	bool least = detail == SCREEN_LEAST;
	size_t watched = count_watched(m);
	size_t shown = 0, fixes = 0;

	put_title(d, m, job, watched);
	put_head(d, m, watched < 2 ? job : NULL, least ? HEAD_LEAST : HEAD_SCREEN);
	if (job && watched < 2 && not_started(m, job)) {
		doc_para(d, "The command could not be started.");
	} else if (job && watched < 2) {
		sections_judgement(d, m, job);
		put_reads(d, m, job, detail == SCREEN_ALL);
		put_figures(d, m, job, !least);
		fixes = put_fixes(d, m, job);
	}
	for (size_t i = 0; watched > 1 && i < m->nr_jobs && shown < JOBS_MAX - (size_t)detail;
	     i++) {
		if (model_others(&m->jobs[i]))
			continue;
		put_one_of(d, m, &m->jobs[i], !least);
		shown++;
	}
	if (shown && shown < watched)
		doc_para(d, "%zu more %s: select one with --job.", watched - shown,
			 watched - shown == 1 ? "job" : "jobs");
	put_caveats(d, m, detail);
	return fixes;
}

void sections_screen_end(struct doc *d, const struct model *m, enum screen_detail detail,
			 const char *db, const char *again, size_t fixes)
{
	_cleanup_free_ char *word = NULL;
	size_t left = count_watched(m) < 2 ? fixes_left(m, model_main_job(m), fixes) : 0;
	char full[64] = "all of it";
	const struct finding *f = NULL;
	char *text;

	for (size_t i = 0; i < m->nr_jobs && !f; i++)
		f = first_fix(m, &m->jobs[i]);
	if (left)
		snprintf(full, sizeof(full), "with %zu more %s", left, left == 1 ? "fix" : "fixes");
	text = db && quote_word(db, &word) ? NULL
					   : commands_text(word ?: "", db_is_long(db, again), again,
							   full, detail == SCREEN_LEAST, f);
	if (text)
		doc_code(d, "shell", text);
	else
		d->failed = true;
	free(text);
}
