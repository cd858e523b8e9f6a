/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/kallsyms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "ffffffff81000000 T name" or "... t name	[module]". */
static int parse_symbol(char *line, uint64_t *ret_addr, char *ret_type, char **ret_name)
{
	char *at;

	*ret_addr = strtoull(line, &at, 16);
	if (at == line || at[0] != ' ' || !at[1] || at[2] != ' ')
		return -1;
	*ret_type = at[1];
	*ret_name = at + 3;
	(*ret_name)[strcspn(*ret_name, "\t\n")] = 0;
	return 0;
}

size_t kallsyms_find(const char *path, struct kallsym *syms, size_t nr)
{
	char line[1024], type, *name;
	FILE *f = fopen(path, "re");
	size_t found = 0;
	uint64_t addr;

	for (size_t i = 0; i < nr; i++)
		syms[i].start = syms[i].end = 0;
	while (f && found < nr && fgets(line, sizeof(line), f)) {
		if (parse_symbol(line, &addr, &type, &name))
			continue;
		for (size_t i = 0; i < nr; i++) {
			if (syms[i].start && !syms[i].end && addr > syms[i].start) {
				syms[i].end = addr;
				found++;
			} else if (!syms[i].start && (type == 't' || type == 'T') &&
				   !strcmp(name, syms[i].name)) {
				syms[i].start = addr;
			}
		}
	}
	if (f)
		fclose(f);
	for (size_t i = 0; i < nr; i++)
		if (!syms[i].end)
			syms[i].start = 0;
	return found;
}
