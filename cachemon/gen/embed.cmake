# SPDX-License-Identifier: BSD-2-Clause
# cmake -DOUT=header -DFILES="a.sql;b.sql" -P embed.cmake: text files as C strings, in name order,
# in an array with the name of the header.
list(SORT FILES)
get_filename_component(array ${OUT} NAME_WE)
set(body "/* made by cachemon/gen/embed.cmake */\n")
set(table "")
foreach(f ${FILES})
	get_filename_component(n ${f} NAME_WE)
	string(MAKE_C_IDENTIFIER ${n} c)
	file(READ ${f} hex HEX)
	string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
	string(APPEND body "static const char ${array}_${c}[] = {${bytes}0};\n")
	string(APPEND table "\t{\"${n}\", ${array}_${c}},\n")
endforeach()
string(APPEND body "static const struct {\n\tconst char *name;\n\tconst char *text;\n} ${array}[] = {\n${table}};\n")
file(WRITE ${OUT} "${body}")
