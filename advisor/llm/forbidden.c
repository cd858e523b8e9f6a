/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <regex.h>
#include <string.h>

#include "advisor/llm/check_impl.h"

bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

bool word_next(const char **at, struct word *ret)
{
	const char *c = *at, *begin;

	while (*c && !isalnum((unsigned char)*c))
		c++;
	begin = c;
	while (isalnum((unsigned char)*c))
		c++;
	*ret = (struct word){begin, (size_t)(c - begin)};
	*at = c;
	return ret->len > 0;
}

bool word_is(struct word w, const char *text)
{
	size_t i = 0;

	while (i < w.len && text[i] == tolower((unsigned char)w.at[i]))
		i++;
	return i == w.len && !text[i];
}

bool word_is_one_of(struct word w, const char *list)
{
	struct word one;

	while (word_next(&list, &one))
		if (one.len == w.len && strncasecmp(one.at, w.at, w.len) == 0)
			return true;
	return false;
}

/* How many words in a row are the same at both places, up to max. */
static size_t same_words(const char *a, const char *b, size_t max)
{
	struct word x, y;
	size_t nr = 0;

	while (nr < max && word_next(&a, &x) && word_next(&b, &y) && x.len == y.len &&
	       strncasecmp(x.at, y.at, x.len) == 0)
		nr++;
	return nr;
}

bool phrase_in_any(const char *text, const char *list)
{
	struct word w, part;

	while (word_next(&text, &w))
		for (const char *phrase = list; *phrase;) {
			const char *end = strchrnul(phrase, ','), *at = phrase;
			size_t words = 0;

			while (word_next(&at, &part) && part.at < end)
				words++;
			if (same_words(w.at, phrase, words) == words)
				return true;
			phrase = end + (*end == ',');
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

/* What speaks of the instructions, or of the one who words, and not of the run. */
static const char phrases[] =
	"previous instructions, prior instructions, above instructions, "
	"earlier instructions, these instructions, my instructions, your instructions, "
	"the instructions, new instructions, system prompt, this prompt, the prompt, "
	"language model, as an ai, an ai model, ai assistant, json schema, the schema, "
	"placeholder, placeholders, reference word, i cannot, i can t, i am unable, "
	"i will not, i was told, i was asked, i am told, i am asked, untrusted, jailbreak, "
	"developer mode";

static bool repeats(const char *instructions, const char *text)
{
	struct word said, told;

	while (word_next(&text, &said)) {
		const char *at = instructions;

		while (word_next(&at, &told))
			if (same_words(told.at, said.at, ECHO_WORDS) == ECHO_WORDS)
				return true;
	}
	return false;
}

bool echo_in(const struct pack *p, const char *text)
{
	if (p->canary && *p->canary && strcasestr(text, p->canary))
		return true;
	if (phrase_in_any(text, phrases))
		return true;
	return p->instructions && repeats(p->instructions, text);
}

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

static const char shell[] =
	/* "$(x)", "a && b", ">> file": signs that only a shell reads; several bars are a table's.
	 */
	"\\$|&&|[|][|]|>>|<<|&>|>&| 2>|^[^|]*[|][^|]*$|"
	/* "> /proc/x", "< /etc/x"; "</x" is markup. */
	"> *[/~]|< +[/~]|<~|"
	/* "-x" or "--long" at the beginning of a word. */
	"(^|[[:space:]('\"[])--?[[:alpha:]]|"
	/* "NAME=value", "vm.x=1"; not in a link or inside of a tag. */
	"^([^<]*[ ('\"])?[[:alnum:]_.]+=[^=[:space:]]";

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
	return has_call(text) || phrase_in_any(text, calls) || expression_in(shell, text);
}

static const char markup[] =
	/* A single '_' is part of many names, a single '*' of none that is shown. */
	"[<>`*\\@{}^|]|~~|//|\\]\\(|\\]\\[|\\]:|!\\[|==|__|"
	"www[.]|(https?|ftps?|file|mailto|tel|javascript|vbscript|blob|ssh):|"
	"data:(text|image|application)|"
	/* "&lt;", "&#60;" */
	"&(#[[:alnum:]]*|[[:alnum:]]+);|"
	/* "# " and "- " in front, as of lists; "_word_". */
	"^(#+ |[-+=>] |--|[+][+]|>>)|(^|[^[:alnum:]_])_[[:alnum:]][^_]*_([^[:alnum:]]|$)";

static bool is_host_char(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '.';
}

/* "evil.example" at the beginning of a word. New ends of such names come every year: any word is
 * one, and only names of what was sent are none. "e.g." has none. */
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

/* Levels that no rule has: whoever says them raises or hides a finding. */
static const char levels[] =
	"critical critically severe severely catastrophic catastrophe urgent urgently fatal "
	"emergency blocker disastrous disaster harmless negligible unimportant insignificant "
	"irrelevant cosmetic trivial";

static const char hiding[] =
	"false positive, false positives, false alarm, can be ignored, may be ignored, "
	"should be ignored, must be ignored, could be ignored, be safely ignored, "
	"safely ignore, ignore this, ignore it, ignore the finding, ignore the findings, "
	"ignore these, ignore all, disregard, nothing to worry, no need to worry, "
	"no reason to worry, no problem, not a problem, no action, nothing needs to be done, "
	"nothing is wrong, nothing wrong, no issue, no issues, not an issue, "
	"no longer relevant, not relevant, not important, of no concern, does not matter, "
	"do not matter, need not act, of no importance, of little importance, not a concern";

static const char scales[] = "severity priority";

/* By enum severity; words that are not a rule's have none of its levels. */
static const char *const of_rules[SEVERITY_NR] = {"info", "low", "medium", "high"};
static const char of_others[] =
	"lowest lower lowered highest higher raised minor major moderate top none maximum "
	"minimal zero reduced increased downgraded upgraded overstated understated "
	"exaggerated wrong";

/* A word is a level, and not that of the finding. */
static bool is_other(const struct pack_finding *about, struct word w)
{
	for (int i = 0; i < SEVERITY_NR; i++)
		if (word_is(w, of_rules[i]))
			return !about || (int)about->severity != i;
	return word_is_one_of(w, of_others);
}

/* "high severity", "severity: low", "severity is rather low". */
static bool is_rated(const struct pack_finding *about, const char *text)
{
	enum { BEHIND = 4 };
	struct word before = {0}, w, next;

	while (word_next(&text, &w)) {
		const char *at = text;

		if (word_is_one_of(w, scales)) {
			if (before.at && is_other(about, before))
				return true;
			for (int i = 0; i < BEHIND && word_next(&at, &next); i++)
				if (is_other(about, next))
					return true;
		}
		before = w;
	}
	return false;
}

/* Where there is nothing to hide, that may be said. */
static bool has_grave(const struct pack *p, const struct pack_finding *about)
{
	if (about)
		return about->severity > SEVERITY_INFO;
	for (size_t i = 0; i < p->nr_findings; i++)
		if (p->findings[i].severity > SEVERITY_INFO)
			return true;
	return false;
}

bool severity_differs(const struct pack *p, const struct pack_finding *about, const char *text)
{
	const char *at = text;
	struct word w;

	while (word_next(&at, &w))
		if (word_is_one_of(w, levels))
			return true;
	return is_rated(about, text) || (has_grave(p, about) && phrase_in_any(text, hiding));
}
