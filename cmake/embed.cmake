# SPDX-License-Identifier: BSD-2-Clause
# cmake -DOUT=header -DFILES="a.sql;b.sql" -P embed.cmake: text files as C strings, in name order.
list(SORT FILES)
set(body "/* made by cmake/embed.cmake */\n")
set(table "")
foreach(f ${FILES})
	get_filename_component(n ${f} NAME_WE)
	file(READ ${f} hex HEX)
	string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
	string(APPEND body "static const char embed_${n}[] = {${bytes}0};\n")
	string(APPEND table "\t{\"${n}\", embed_${n}},\n")
endforeach()
string(APPEND body "static const struct {\n\tconst char *name;\n\tconst char *text;\n} embedded[] = {\n${table}};\n")
file(WRITE ${OUT} "${body}")
