/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <string.h>

#include "advisor/llm/check_impl.h"
#include "advisor/llm/phrase.h"

/* Programs whose names are no words of prose. Those that are (mount, kill, find) show by their
 * options. */
static const char programs[] =
	"sudo doas rm rmdir chmod chown chattr curl wget echo printf dd mkfs fdisk bash zsh "
	"eval exec systemctl crontab nohup setenforce iptables modprobe insmod swapoff "
	"blockdev hdparm umount tee powershell xargs awk sed killall pkill ssh scp apt yum "
	"dnf pip npm shred wipefs mkswap swapon kubectl rsync setfacl ionice losetup mdadm";

/* Programs with the words that make commands of them. */
static const char calls[] =
	"git clone, docker run, podman run, systemd run, reboot now, shutdown now, sh c, "
	"mount o, mount t, kill 9, python c, perl e, run as root";

/* Programs that are words of prose unless a path follows. */
static const char with_paths[] =
	"cat cp mv ls ln sh mount touch mkdir find source python perl tail head less vmtouch "
	"kill sync sysctl";

/* "$(x)", "$HOME", "a && b", ">> file": signs that only a shell reads. */
static bool has_shell_sign(const char *text)
{
	static const char *const signs[] = {"$", "&&", "||", ">>", "<<", " 2>", "&>", ">&"};
	const char *bar = strchr(text, '|');

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (strstr(text, signs[i]))
			return true;
	return bar && !strchr(bar + 1, '|'); /* several are a table's */
}

/* "> /proc/x", "< /etc/x"; "</x" is markup. */
static bool is_redirection(const char *at)
{
	size_t n = 1 + strspn(at + 1, " ");

	if (*at != '>' && (*at != '<' || at[1] == '/'))
		return false;
	return at[n] == '/' || at[n] == '~';
}

/* "-x" or "--long" at the beginning of a word. */
static bool is_option(const char *text, const char *at)
{
	bool begins = at == text || isspace((unsigned char)at[-1]) || strchr("('\"[", at[-1]);

	if (*at != '-' || !begins)
		return false;
	at += at[1] == '-';
	return isalpha((unsigned char)at[1]);
}

/* The '=' of "NAME=value", "vm.x=1"; not that of a link or inside of a tag. */
static bool is_assignment(const char *text, const char *at)
{
	const char *name = at;

	if (*at != '=' || !at[1] || isspace((unsigned char)at[1]) || at[1] == '=')
		return false;
	while (name > text && (isalnum((unsigned char)name[-1]) || strchr("_.", name[-1])))
		name--;
	if (name == at || (name > text && !strchr(" ('\"", name[-1])))
		return false;
	return !memchr(text, '<', (size_t)(name - text));
}

static bool has_call(const char *text)
{
	struct word w;

	while (word_next(&text, &w)) {
		const char *behind = w.at + w.len;

		if (*behind == ' ' && (behind[1] == '/' || behind[1] == '~') &&
		    word_is_one_of(w, with_paths))
			return true;
		/* "x.sh", "rm_file" and "exec-time" are other words. */
		if (word_is_one_of(w, programs) && !strchr("_-", *behind))
			return true;
		if (word_is(w, "mkfs") || (word_is(w, "sysctl") && *behind == ' ' &&
					   strcspn(behind + 1, ".=-") < strcspn(behind + 1, " ")))
			return true;
	}
	return false;
}

bool command_in(const char *text)
{
	if (has_call(text) || phrase_in_any(text, calls) || has_shell_sign(text))
		return true;
	for (const char *at = text; *at; at++)
		if (is_redirection(at) || is_option(text, at) || is_assignment(text, at))
			return true;
	return false;
}
