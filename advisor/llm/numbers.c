/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A statement may have numbers only as placeholders, never in digits or words. A name with digits
 * may stay if it occurs verbatim in the prompt.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "advisor/llm/check_impl.h"
#include "advisor/llm/redact_path.h"

static const char numbers[] =
	" zero nil naught nought two three four five six seven eight nine ten eleven twelve "
	"thirteen fourteen fifteen sixteen seventeen eighteen nineteen couple twenty thirty "
	"forty fourty fifty sixty seventy eighty ninety ninty dozen hundred thousand million "
	"billion trillion half halves halfway third quarter fourth fifth sixth seventh "
	"eighth ninth tenth eleventh twelfth twentieth hundredth thousandth millionth twice "
	"double doubled doubling thrice triple tripled tripling treble quadruple quintuple "
	"halve halved quadrupled halving bn mn mln bln mio lakh crore myriad umpteen zillion "
	"gazillion fortnight squared cubed minus magnitude percent pct ";

static const char units[] =
	" b byte kb kib kilobyte kibibyte mb mib megabyte mebibyte gb gib gigabyte gibibyte "
	"tb tib terabyte tebibyte k m g t ns nanosecond us microsecond ms msec millisecond s "
	"sec second min minute h hr hour day week month year percent cent pct percentage x "
	"fold times page sector block folio bit kbit mbit gbit iops hz mhz ghz degree dollar "
	"euro point ";

/* A word of the list, in lowercase, or its plural. */
static bool is_in(const char *list, const char *at, size_t len)
{
	char word[24];

	if (len + 3 > sizeof(word))
		return false;
	sprintf(word, " %.*s ", (int)len, at);
	return strcasestr(list, word) ||
	       (len > 2 && tolower((unsigned char)at[len - 1]) == 's' && is_in(list, at, len - 1));
}

/* "forty", and compounds such as "fortyfour", "fiftypercent", "threefold". */
static bool is_number(const char *at, size_t len)
{
	if (is_in(numbers, at, len))
		return true;
	for (size_t n = 3; n + 3 <= len; n++)
		if ((is_in(numbers, at, n) || is_in(" one ", at, n)) &&
		    (is_in(numbers, at + n, len - n) || is_in(" one fold times ", at + n, len - n)))
			return true;
	return false;
}

static size_t word_len(const char *at)
{
	size_t n = 0;

	while (redact_path_word(at[n]))
		n++;
	return n;
}

static bool has_digit(const char *at, size_t len)
{
	return strcspn(at, "0123456789") < len;
}

/* "readahead(2)": with its manual section. */
static size_t with_section(const char *at, size_t len)
{
	return at[len] == '(' && isdigit((unsigned char)at[len + 1]) && at[len + 2] == ')' ? len + 3
											   : len;
}

/* Length of the longest name at `at` that begins with a letter and was in the prompt: "ext4",
 * "x86_64-rc1", "readahead(2)". 0: none. */
static size_t name_at(const struct pack *p, const char *at)
{
	size_t word = word_len(at), joined = 0;

	while (redact_path_word(at[joined]) || (at[joined] && strchr("./-", at[joined])))
		joined++;
	while (joined && strchr("./-", at[joined - 1]))
		joined--;
	for (int i = 0; i < 4; i++) {
		size_t len = i < 2 ? joined : word;

		len = i % 2 ? len : with_section(at, len);
		if (has_digit(at, len) && find_term(p, at, len))
			return len;
	}
	return 0;
}

/* Length of this unit in the text ("pages/s" also as "pages per second"); 0: another unit. */
static size_t is_unit(const char *text, const char *unit)
{
	size_t n = strcspn(unit, "/");
	bool rate = !strcmp(unit + n, "/s");

	if (!strcmp(unit, "%") && !strncasecmp(text, "percent", 7))
		return redact_path_word(text[7]) ? 0 : 7;
	if (!n || strncasecmp(text, unit, n) != 0)
		return 0;
	if (rate && !strncasecmp(text + n, " per second", 11))
		n += 11;
	else if (rate)
		n = strncasecmp(text + n, "/s", 2) == 0 ? n + 2 : 0;
	return n && (*unit == '%' || !redact_path_word(text[n])) ? n : 0;
}

/* The unit that is shown with a value; "": none. */
static const char *shown_unit(const struct pack_evidence *e)
{
	const char *blank = strrchr(e->shown, ' ');

	return blank && !isdigit((unsigned char)blank[1]) ? blank + 1 : "";
}

size_t numbers_unit_again(const struct pack_evidence *e, const char *behind)
{
	size_t gap = *behind == ' ' ? 1 : 0, used = is_unit(behind + gap, shown_unit(e));

	return used ? gap + used : 0;
}

static bool is_clear_before(const char *text, const char *at)
{
	char front = at > text ? at[-1] : ' ';

	if (front == '-') /* a range of two placeholders */
		return at - 1 > text && at[-2] == MARK_PLACEHOLDER;
	return !redact_path_word(front) && front != MARK_ALIAS && !strchr("+.,/#~'", front);
}

/* Text that changes the value when it follows: letters, digits, signs. "B+" is another grade,
 * and "92 %+" more than 92 %; so is "of data per second", within a few words. A range of two is
 * allowed. */
static const char foreign[] = "^([[:alnum:]_%+\1\2]|[.,:/'][[:alnum:]]| %|-[^\1]|-$|"
			      "( [[:alpha:]][[:alnum:]_-]*){0,3} per )";

/* Whether the word after a blank or a hyphen is a unit. */
static bool unit_follows(const char *behind)
{
	size_t len = 0;

	while (*behind && isalnum((unsigned char)behind[1 + len]))
		len++;
	return (*behind == ' ' || *behind == '-') && is_in(units, behind + 1, len);
}

/* Whether the text around a placeholder leaves its value unchanged: no foreign sign, digit,
 * factor or unit. */
static bool stays(const struct pack_evidence *e, const char *text, const char *at,
		  const char **ret_behind)
{
	const char *behind = at + 1 + numbers_unit_again(e, at + 1);

	*ret_behind = behind;
	if (!is_clear_before(text, at) || expression_in(foreign, behind))
		return false;
	/* After a bare number, its own unit or a count is allowed. */
	return !unit_follows(behind) || (!*shown_unit(e) && (is_unit(behind + 1, e->unit) ||
							     !strncasecmp(behind + 1, "times", 5)));
}

/* "XIV". Larger Roman numerals look like CLI, MMC and CD. */
static bool is_roman(const char *at, size_t len)
{
	size_t used = *at == 'X' && strspn(at + 1, "LC") ? 2 : 0;

	return len > 1 && used + strspn(at + used, "XVI") >= len;
}

/* Length of a word that is not a number; 0: it is one. */
static size_t take_word(const struct pack *p, const char *at)
{
	size_t len = word_len(at), name = name_at(p, at), part;

	if (name)
		return name;
	if (has_digit(at, len))
		return find_any(p, at, len) ? len : 0;
	if (is_roman(at, len) && !find_term(p, at, len))
		return 0;
	if (tolower((unsigned char)*at) == 't' && expression_in("^third[ -]part(y|ies)", at))
		return len;
	for (size_t begin = 0; begin < len; begin += part + 1) {
		part = strcspn(at + begin, "_");
		part = part < len - begin ? part : len - begin;
		if (is_number(at + begin, part))
			return 0;
	}
	/* Otherwise the word is a pronoun. */
	return len == 3 && is_in(" one ", at, len) && unit_follows(at + len) ? 0 : len;
}

bool numbers_hold(const struct pack *p, const struct said *s)
{
	size_t placeholder = 0, used;

	for (const char *at = s->plain; *at;) {
		if (*at == MARK_PLACEHOLDER) {
			if (!stays(s->filled[placeholder++], s->plain, at, &at))
				return false;
			continue;
		}
		if (isdigit((unsigned char)*at) || *at == '%')
			return false;
		used = 1;
		if (isalpha((unsigned char)*at) || *at == '_')
			used = take_word(p, at);
		else if (*at == '/' && (at == s->plain || !redact_path_word(at[-1])) &&
			 name_at(p, at))
			used = name_at(p, at); /* a path as a whole */
		if (!used)
			return false;
		at += used;
	}
	return true;
}
