/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A number stands in a statement as a placeholder, and in no other way: neither in digits nor in
 * words. A name that has digits in it stays where it stands so in what was sent.
 */
#include <ctype.h>
#include <string.h>

#include "advisor/llm/check_impl.h"

/* "one" is a pronoun, too, and a number before a unit only. */
static const char numbers[] =
	"zero nil naught nought two three four five six seven eight nine ten eleven twelve "
	"thirteen fourteen fifteen sixteen seventeen eighteen nineteen couple twenty thirty "
	"forty fourty fifty sixty seventy eighty ninety ninty dozen hundred thousand million "
	"billion trillion half halves halfway third quarter fourth fifth sixth seventh "
	"eighth ninth tenth eleventh twelfth twentieth hundredth thousandth millionth twice "
	"double doubled doubling thrice triple tripled tripling treble quadruple quintuple "
	"halve halved quadrupled halving bn mn mln bln mio lakh crore myriad umpteen zillion "
	"gazillion fortnight squared cubed minus magnitude percent pct";

static const char units[] =
	"b byte kb kib kilobyte kibibyte mb mib megabyte mebibyte gb gib gigabyte gibibyte "
	"tb tib terabyte tebibyte k m g t ns nanosecond us microsecond ms msec millisecond s "
	"sec second min minute h hr hour day week month year percent cent pct percentage x "
	"fold times page sector block folio bit kbit mbit gbit iops hz mhz ghz degree dollar "
	"euro point";

static size_t word_len(const char *at)
{
	size_t n = 0;

	while (word_char(at[n]))
		n++;
	return n;
}

/* A word of the list or its plural. */
static bool is_of(const char *list, struct word w)
{
	struct word single = {w.at, w.len - 1};

	return word_is_one_of(w, list) ||
	       (w.len > 2 && tolower((unsigned char)w.at[w.len - 1]) == 's' &&
		word_is_one_of(single, list));
}

/* "forty", and words in one as "fortyfour", "fiftypercent", "threefold". */
static bool is_number(struct word w)
{
	static const char ends[] = "one fold times";

	if (is_of(numbers, w))
		return true;
	for (size_t n = 3; n + 3 <= w.len; n++) {
		struct word rest = {w.at + n, w.len - n};

		if ((is_of(numbers, (struct word){w.at, n}) ||
		     word_is((struct word){w.at, n}, "one")) &&
		    (word_is_one_of(rest, ends) || is_of(numbers, rest)))
			return true;
	}
	return false;
}

/* "XIV": not one letter, and in the order that such numbers have. Larger ones look like what CLI,
 * MMC and CD stand for. */
static bool is_roman(struct word w)
{
	static const char *const places[] = {"XC", "XL", "X", "X", "X", "IX",
					     "V",  "IV", "I", "I", "I"};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size_t letters = strlen(places[i]);

		if (n + letters <= w.len && memcmp(w.at + n, places[i], letters) == 0)
			n += letters;
	}
	return n == w.len && w.len >= 2;
}

static bool has_digit(const char *at, size_t len)
{
	return strcspn(at, "0123456789") < len;
}

/* "readahead(2)": with the section of its manual page. */
static size_t with_section(const char *at, size_t len)
{
	return at[len] == '(' && isdigit((unsigned char)at[len + 1]) && at[len + 2] == ')' ? len + 3
											   : len;
}

/* The longest name at, which begins with a letter, that was sent: "ext4", "x86_64-rc1",
 * "readahead(2)". 0: there is none. */
static size_t name_at(const struct pack *p, const char *at)
{
	size_t word = word_len(at), joined = 0;
	size_t lens[4];

	while (word_char(at[joined]) || (at[joined] && strchr("./-", at[joined])))
		joined++;
	while (joined && strchr("./-", at[joined - 1]))
		joined--;
	lens[0] = with_section(at, joined);
	lens[1] = joined;
	lens[2] = with_section(at, word);
	lens[3] = word;
	for (int i = 0; i < 4; i++)
		if (has_digit(at, lens[i]) && find_term(p, at, lens[i]))
			return lens[i];
	return 0;
}

/* How much of the text is this unit, "pages/s" also as "pages per second"; 0: it is another. */
static size_t is_unit(const char *text, const char *unit)
{
	size_t n = strcspn(unit, "/");
	bool rate = !strcmp(unit + n, "/s");

	if (!strcmp(unit, "%") && !strncasecmp(text, "percent", 7))
		return word_char(text[7]) ? 0 : 7;
	if (!n || strncasecmp(text, unit, n) != 0)
		return 0;
	if (rate && !strncasecmp(text + n, " per second", 11))
		n += 11;
	else if (rate)
		n = strncasecmp(text + n, "/s", 2) == 0 ? n + 2 : 0;
	return n && (*unit == '%' || !word_char(text[n])) ? n : 0;
}

/* The unit that is shown with a value; "": none is. */
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
	return !word_char(front) && front != MARK_ALIAS && !strchr("+.,/#~'", front);
}

/* What makes another value of it from behind: letters, digits, marks; "B+" is another grade, and
 * "92 %+" more than it was; "of data per second", within a few words. A range of two is none. */
static const char foreign[] = "^([[:alnum:]_%+\1\2]|[.,:/'][[:alnum:]]| %|-[^\1]|-$|"
			      "( [[:alpha:]][[:alnum:]_-]*){0,3} per )";

/* The word behind a blank or a hyphen. */
static bool follows(const char *behind, struct word *ret)
{
	return (*behind == ' ' || *behind == '-') && isalpha((unsigned char)behind[1]) &&
	       word_next(&behind, ret);
}

/* Whether the value that comes for a placeholder stays what it is between what stands around it:
 * no sign, digit, factor or unit that is not its own. */
static bool stays(const struct pack_evidence *e, const char *text, const char *at,
		  const char **ret_behind)
{
	const char *behind = at + 1 + numbers_unit_again(e, at + 1);
	struct word w;

	*ret_behind = behind;
	if (!is_clear_before(text, at) || expression_in(foreign, behind))
		return false;
	if (!follows(behind, &w) || !is_of(units, w))
		return true;
	/* Its own unit, or how often, behind a bare number. */
	return !*shown_unit(e) && (is_unit(w.at, e->unit) || word_is(w, "times"));
}

/* How much of the text is a word that is no number; 0: it is one. */
static size_t take_word(const struct pack *p, const char *at)
{
	struct word w = {at, word_len(at)}, part;
	const char *next = at;
	size_t name = name_at(p, at);

	if (name)
		return name;
	if (has_digit(at, w.len))
		return find_any(p, w.at, w.len) ? w.len : 0;
	if (is_roman(w) && !find_term(p, at, w.len))
		return 0;
	if (word_is(w, "third") && follows(at + w.len, &part) &&
	    (word_is(part, "party") || word_is(part, "parties")))
		return w.len;
	while (next < at + w.len && word_next(&next, &part))
		if (is_number(part))
			return 0;
	return word_is(w, "one") && follows(at + w.len, &part) && is_of(units, part) ? 0 : w.len;
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
		else if (*at == '/' && (at == s->plain || !word_char(at[-1])) && name_at(p, at))
			used = name_at(p, at); /* a path as a whole */
		if (!used)
			return false;
		at += used;
	}
	return true;
}
