/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/check_impl.h"
#include "cachemon/base/cleanup.h"

void words_put(const char *text, char *ret)
{
	*ret++ = ' ';
	for (; *text; text++)
		if (isalnum((unsigned char)*text))
			*ret++ = (char)tolower((unsigned char)*text);
		else if (ret[-1] != ' ')
			*ret++ = ' ';
	strcpy(ret, ret[-1] == ' ' ? "" : " ");
}

/* Whether an entry of the list ("git clone, docker run" or "rm|dd") occurs in words from
 * words_put(). */
static bool words_have(const char *words, const char *list)
{
	char phrase[64];
	size_t len;

	for (; *list; list += len + strspn(list + len, ",| ")) {
		len = strcspn(list, ",|");
		snprintf(phrase, sizeof(phrase), " %.*s ", (int)len, list);
		if (strstr(words, phrase))
			return true;
	}
	return false;
}

bool expression_in(const char *expression, const char *text)
{
	regex_t re;
	bool found;

	if (regcomp(&re, expression, REG_EXTENDED | REG_ICASE | REG_NOSUB))
		return true;
	found = regexec(&re, text, 0, NULL, 0) != REG_NOMATCH;
	regfree(&re);
	return found;
}

enum { ECHO_WORDS = 12 };

/* Phrases about the instructions or the model instead of the run. */
static const char phrases[] =
	"previous instructions, prior instructions, above instructions, "
	"earlier instructions, these instructions, my instructions, your instructions, "
	"the instructions, new instructions, system prompt, this prompt, the prompt, "
	"language model, as an ai, an ai model, ai assistant, json schema, the schema, "
	"placeholder, placeholders, reference word, i cannot, i can t, i am unable, "
	"i will not, i was told, i was asked, i am told, i am asked, untrusted, jailbreak, "
	"developer mode";

/* Whether this many consecutive words occur in the instructions. True on -ENOMEM. */
static bool repeats(const char *instructions, const char *words)
{
	_cleanup_free_ char *told = malloc(strlen(instructions) + 3);
	bool found = !told;

	if (told)
		words_put(instructions, told);
	for (; words[1] && !found; words = strchr(words + 1, ' ')) {
		const char *end = words;
		size_t nr = 0;

		while (nr < ECHO_WORDS && end[1] && (end = strchr(end + 1, ' ')))
			nr++;
		if (nr == ECHO_WORDS)
			found = memmem(told, strlen(told), words, (size_t)(end - words) + 1);
	}
	return found;
}

bool echo_in(const struct pack *p, const struct said *s)
{
	return (p->canary && *p->canary && strcasestr(s->plain, p->canary)) ||
	       words_have(s->words, phrases) ||
	       (p->instructions && repeats(p->instructions, s->words));
}

/* Programs, with the words that make a command of them. */
static const char calls[] =
	"git clone, docker run, podman run, systemd run, reboot now, shutdown now, sh c, "
	"mount o, mount t, kill 9, python c, perl e, run as root, mkfs";

/* Programs whose names are not English words. */
#define PROGRAMS                                                                                   \
	"sudo|doas|rm|rmdir|chmod|chown|chattr|curl|wget|echo|printf|dd|fdisk|bash|zsh|eval|exec|" \
	"systemctl|crontab|nohup|setenforce|iptables|modprobe|insmod|swapoff|blockdev|hdparm|"     \
	"umount|tee|powershell|xargs|awk|sed|killall|pkill|ssh|scp|apt|yum|dnf|pip|npm|shred|"     \
	"wipefs|mkswap|swapon|kubectl|rsync|setfacl|ionice|losetup|mdadm"
/* Programs whose names are English words: forbidden only before a path. */
#define WITH_PATHS                                                                                 \
	"cat|cp|mv|ls|ln|sh|mount|touch|mkdir|find|source|python|perl|tail|head|less|vmtouch|"     \
	"kill|sync|sysctl"

/* "x.sh", "rm_file" and "exec-time" are other words; "sysctl a.b" is a setting. */
static const char programs[] = "(^|[^[:alnum:]])((" PROGRAMS ")([^[:alnum:]_-]|$)|(" WITH_PATHS
			       ") [/~]|sysctl [^ ]*[.=-])";

static const char shell[] =
	/* "$(x)", "a && b", ">> file": shell syntax. Several bars are a table's. */
	"\\$|&&|[|][|]|>>|<<|&>|>&| 2>|^[^|]*[|][^|]*$|"
	/* "> /proc/x", "< /etc/x"; "</x" is markup. */
	"> *[/~]|< +[/~]|<~|"
	/* "-x" or "--long" at the beginning of a word. */
	"(^|[[:space:]('\"[])--?[[:alpha:]]|"
	/* "NAME=value", "vm.x=1"; not in a link or inside of a tag. */
	"^([^<]*[ ('\"])?[[:alnum:]_.]+=[^=[:space:]]";

bool command_in(const struct said *s)
{
	return words_have(s->words, calls) || expression_in(shell, s->plain) ||
	       (words_have(s->words, PROGRAMS "|" WITH_PATHS) && expression_in(programs, s->plain));
}

static const char markup[] =
	/* One '_' may be part of a name; one '*' is never part of a name that is shown. */
	"[<>`*\\@{}^|]|~~|//|\\]\\(|\\]\\[|\\]:|!\\[|==|__|"
	"www[.]|(https?|ftps?|file|mailto|tel|javascript|vbscript|blob|ssh):|"
	"data:(text|image|application)|"
	/* "&lt;", "&#60;" */
	"&(#[[:alnum:]]*|[[:alnum:]]+);|"
	/* "# " and "- " at the start of a line, as in lists; "_word_". */
	"^(#+ |[-+=>] |--|[+][+]|>>)|(^|[^[:alnum:]_])_[[:alnum:]][^_]*_([^[:alnum:]]|$)";

static bool is_host_char(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '.';
}

/* "evil.example" at the beginning of a word. New top-level domains appear every year, so any
 * ending counts as one, except in names from the prompt. "e.g." has no ending. */
static bool is_host(const struct pack *p, const char *text, const char *at)
{
	size_t len = 0, last;

	if (!isalnum((unsigned char)*at) || (at > text && (is_host_char(at[-1]) || at[-1] == '_')))
		return false;
	while (is_host_char(at[len]))
		len++;
	while (len && (at[len - 1] == '.' || at[len - 1] == '-'))
		len--;
	for (last = len; last && isalpha((unsigned char)at[last - 1]);)
		last--;
	if (!last || at[last - 1] != '.' || at[len] == '_')
		return false;
	return len - last >= 2 && !find_term(p, at, len);
}

bool markup_in(const struct pack *p, const char *text)
{
	if (expression_in(markup, text))
		return true;
	for (const char *at = text; *at; at++)
		if (is_host(p, text, at))
			return true;
	return false;
}

/* Severities that no rule has: such a word would raise or hide a finding. */
static const char levels[] =
	"critical, critically, severe, severely, catastrophic, catastrophe, urgent, "
	"urgently, fatal, emergency, blocker, disastrous, disaster, harmless, "
	"negligible, unimportant, insignificant, irrelevant, cosmetic, trivial";

static const char hiding[] =
	"false positive, false positives, false alarm, can be ignored, may be ignored, "
	"should be ignored, must be ignored, could be ignored, be safely ignored, "
	"safely ignore, ignore this, ignore it, ignore the finding, ignore the findings, "
	"ignore these, ignore all, disregard, nothing to worry, no need to worry, "
	"no reason to worry, no problem, not a problem, no action, nothing needs to be done, "
	"nothing is wrong, nothing wrong, no issue, no issues, not an issue, "
	"no longer relevant, not relevant, not important, of no concern, does not matter, "
	"do not matter, need not act, of no importance, of little importance, not a concern";

/* Severity words that no rule uses. */
static const char of_others[] =
	"lowest|lower|lowered|highest|higher|raised|minor|major|moderate|top|none|"
	"maximum|minimal|zero|reduced|increased|downgraded|upgraded|overstated|"
	"understated|exaggerated|wrong";

/* "high severity", "severity: low", "severity is rather low": a severity other than the
 * finding's. */
static bool is_rated(const struct pack_finding *about, const char *words)
{
	static const char scales[] = "(severity|priority)";
	char others[512], expression[1200];
	size_t len = strlen(strcpy(others, of_others));

	for (int i = 0; i < SEVERITY_NR; i++)
		if (!about || (int)about->severity != i)
			len += (size_t)snprintf(others + len, sizeof(others) - len, "|%s",
						severity_names[i]);
	snprintf(expression, sizeof(expression), " ((%s) %s|%s ([a-z0-9]+ ){0,3}(%s)) ", others,
		 scales, scales, others);
	return expression_in(expression, words);
}

/* Allowed if there are no findings to hide. */
static bool has_grave(const struct pack *p, const struct pack_finding *about)
{
	if (about)
		return about->severity > SEVERITY_INFO;
	for (size_t i = 0; i < p->nr_findings; i++)
		if (p->findings[i].severity > SEVERITY_INFO)
			return true;
	return false;
}

bool severity_differs(const struct pack *p, const struct pack_finding *about, const struct said *s)
{
	return words_have(s->words, levels) || is_rated(about, s->words) ||
	       (has_grave(p, about) && words_have(s->words, hiding));
}
