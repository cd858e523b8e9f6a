/* SPDX-License-Identifier: BSD-2-Clause */
#define _XOPEN_SOURCE_EXTENDED 1
#define NCURSES_WIDECHAR       1
#include "cachemon/top/screen.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

/* Replaces a macro of term.h. */
#undef columns

#include "cachemon/top/view.h"

/* curses.h has names of its own for these. */
enum { FROM = STDIN_FILENO, TO = STDOUT_FILENO, ESCAPE_MS = 25 };

struct top_screen {
	SCREEN *screen;
	bool colours;
	struct top_canvas last; /* what the terminal shows; no cells: nothing */
};

/* Without colours, only attributes mark what matters. */
static const struct {
	attr_t attributes, without_colours;
	short foreground, background; /* -1: the terminal's own */
} looks[TOP_NR_LOOKS] = {
	[TOP_PLAIN] = {A_NORMAL, A_NORMAL, -1, -1},
	[TOP_FAINT] = {A_NORMAL, A_NORMAL, COLOR_CYAN, -1},
	[TOP_STRONG] = {A_BOLD, A_BOLD, -1, -1},
	[TOP_HEADING] = {A_NORMAL, A_BOLD | A_UNDERLINE, COLOR_BLACK, COLOR_GREEN},
	[TOP_CHOSEN] = {A_NORMAL, A_REVERSE, COLOR_BLACK, COLOR_CYAN},
	[TOP_GOOD] = {A_NORMAL, A_NORMAL, COLOR_GREEN, -1},
	[TOP_POOR] = {A_NORMAL, A_NORMAL, COLOR_YELLOW, -1},
	[TOP_BAD] = {A_BOLD, A_BOLD, COLOR_RED, -1},
};

/* A capability that exists and is text. */
static bool is_string(const char *capability)
{
	return capability && (intptr_t)capability != -1;
}

bool top_screen_possible(int fd)
{
	const char *term = getenv("TERM");
	int problem = 0;
	const char *place;

	if (!isatty(fd) || !term || !*term || !strcmp(term, "dumb"))
		return false;
	if (setupterm(NULL, fd, &problem) != OK)
		return false;
	place = tigetstr("cup");
	return is_string(place);
}

/* tputs() passes no context to its output function. */
static struct {
	char text[512];
	size_t length;
} leave;

static int keep_leave(int ch)
{
	if (leave.length < sizeof(leave.text))
		leave.text[leave.length++] = (char)ch;
	return ch;
}

static void make_leave(void)
{
	static const char *const names[] = {"sgr0", "op", "cnorm", "rmkx", "rmcup"};

	leave.length = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *text = tigetstr(names[i]);

		if (is_string(text))
			tputs(text, 1, keep_leave);
	}
	/* Without an alternate screen the output continues on the next line. */
	if (!tigetstr("rmcup"))
		keep_leave('\n');
}

void top_screen_repair(int fd, const struct termios *modes)
{
	struct sigaction before;

	make_leave();
	sigaction(SIGTTOU, &(struct sigaction){.sa_handler = SIG_IGN}, &before);
	if (write(fd, leave.text, leave.length) >= 0)
		tcsetattr(fd, TCSADRAIN, modes);
	sigaction(SIGTTOU, &before, NULL);
}

/*
 * Restores the terminal too if the program ends by an unexpected signal: a crash or an abort. A
 * handler gets no arguments, so its data is in static memory.
 */
static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};
enum { NR_CRASHES = sizeof(crashes) / sizeof(crashes[0]), STACK_BYTES = 16384 };

static struct {
	struct termios modes; /* modes of the terminal before the screen */
	volatile sig_atomic_t armed;
	_Alignas(16) char stack[STACK_BYTES]; /* the normal stack may be broken */
} restore;

/* Only calls that are safe in a handler. */
static void on_crash(int signo)
{
	if (restore.armed) {
		restore.armed = 0;
		if (write(FROM, leave.text, leave.length) < 0) {
			/* There is no other way to report it. */
		}
		signal(SIGTTOU, SIG_IGN);
		tcsetattr(FROM, TCSANOW, &restore.modes);
	}
	/* The handler is removed, and the signal is not blocked. */
	raise(signo);
}

/* Makes a crash restore the terminal and its modes, and then continue as usual. */
static void arm_restore(void)
{
	stack_t stack = {.ss_sp = restore.stack, .ss_size = sizeof(restore.stack)};
	struct sigaction action = {.sa_handler = on_crash,
				   .sa_flags = SA_ONSTACK | SA_RESETHAND | SA_NODEFER};

	restore.armed = 1;
	sigaltstack(&stack, NULL);
	sigemptyset(&action.sa_mask);
	for (int i = 0; i < NR_CRASHES; i++)
		sigaction(crashes[i], &action, NULL);
}

static void disarm_restore(void)
{
	restore.armed = 0;
	for (int i = 0; i < NR_CRASHES; i++)
		signal(crashes[i], SIG_DFL);
}

static void begin_colours(struct top_screen *s)
{
	s->colours =
		s->colours && has_colors() && start_color() == OK && use_default_colors() == OK;
	for (short i = 0; s->colours && i < TOP_NR_LOOKS; i++)
		init_pair((short)(i + 1), looks[i].foreground, looks[i].background);
}

int top_screen_open(bool colours, struct top_screen **ret)
{
	struct top_screen *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	r = tcgetattr(FROM, &restore.modes) ? -errno : 0;
	if (!r) {
		/* The terminal's own size, even if a shell has exported one. */
		unsetenv("COLUMNS");
		unsetenv("LINES");
		s->screen = newterm(NULL, stdout, stdin);
		r = s->screen ? 0 : -ENOTTY;
	}
	if (r) {
		free(s);
		return r;
	}
	make_leave();
	arm_restore();
	s->colours = colours;
	begin_colours(s);
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	set_escdelay(ESCAPE_MS);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	*ret = s;
	return 0;
}

void top_screen_close(struct top_screen *s)
{
	struct sigaction before;

	if (!s)
		return;
	/*
	 * The shell of a crashed watch has the terminal already: without this, restoring it from
	 * the background would fail.
	 */
	sigaction(SIGTTOU, &(struct sigaction){.sa_handler = SIG_IGN}, &before);
	endwin();
	sigaction(SIGTTOU, &before, NULL);
	disarm_restore();
	delscreen(s->screen);
	top_canvas_free(&s->last);
	free(s);
}

void top_screen_size(const struct top_screen *s, int *ret_columns, int *ret_rows)
{
	getmaxyx(stdscr, *ret_rows, *ret_columns);
}

static uint32_t special_key(wint_t key)
{
	static const struct {
		wint_t from;
		uint32_t to;
	} keys[] = {
		{KEY_UP, TOP_KEY_UP},
		{KEY_DOWN, TOP_KEY_DOWN},
		{KEY_LEFT, TOP_KEY_LEFT},
		{KEY_RIGHT, TOP_KEY_RIGHT},
		{KEY_PPAGE, TOP_KEY_PAGE_UP},
		{KEY_NPAGE, TOP_KEY_PAGE_DOWN},
		{KEY_HOME, TOP_KEY_HOME},
		{KEY_END, TOP_KEY_END},
		{KEY_ENTER, TOP_KEY_ENTER},
		{KEY_BACKSPACE, TOP_KEY_BACKSPACE},
		{KEY_BTAB, TOP_KEY_BACK_TAB},
		{KEY_RESIZE, TOP_KEY_RESIZE},
		{KEY_F(1), '?'},
		{KEY_F(10), 'q'},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].from == key)
			return keys[i].to;
	return TOP_KEY_RESIZE; /* not awaited, but not the end of input */
}

uint32_t top_screen_key(struct top_screen *s)
{
	wint_t key = 0;
	int r = get_wch(&key);

	if (r == ERR)
		return TOP_KEY_NONE;
	if (r == KEY_CODE_YES)
		return special_key(key);
	return key == '\r' ? TOP_KEY_ENTER : (uint32_t)key;
}

static void draw_line(const struct top_screen *s, const struct top_canvas *c, int row)
{
	const struct top_cell *cells = &c->cells[(size_t)row * (size_t)c->columns];

	move(row, 0);
	clrtoeol();
	for (int i = 0; i < c->columns; i++) {
		wchar_t text[4] = {cells[i].ch[0], cells[i].ch[1], cells[i].ch[2]};
		enum top_look look = cells[i].look;
		cchar_t ch;

		if (!text[0])
			continue;
		/* A blank with a look that does not show on blanks. */
		if (text[0] == L' ' && !text[1] && look != TOP_HEADING && look != TOP_CHOSEN)
			continue;
		setcchar(&ch, text,
			 s->colours ? looks[look].attributes : looks[look].without_colours,
			 (short)(s->colours ? look + 1 : 0), NULL);
		mvadd_wch(row, i, &ch);
	}
}

void top_screen_draw(struct top_screen *s, const struct top_canvas *c)
{
	size_t line = (size_t)c->columns * sizeof(*c->cells);
	bool same_size = s->last.cells && s->last.columns == c->columns && s->last.rows == c->rows;

	if (!same_size) {
		top_canvas_free(&s->last);
		erase();
		if (top_canvas_new(c->columns, c->rows, c->utf8, &s->last))
			s->last.cells = NULL;
	}
	for (int row = 0; row < c->rows; row++) {
		size_t at = (size_t)row * (size_t)c->columns;

		if (same_size && !memcmp(&s->last.cells[at], &c->cells[at], line))
			continue;
		draw_line(s, c, row);
		if (s->last.cells)
			memcpy(&s->last.cells[at], &c->cells[at], line);
	}
	refresh();
}
