# SPDX-License-Identifier: BSD-2-Clause
# cmake -DROOT=dir -DOUT=dir -DFILES="a.sql;b.sql" -P include.cmake: copies text files to OUT; a line
# "@path@" becomes the file of that path below ROOT, without the licence line it begins with.
foreach(f ${FILES})
	get_filename_component(name ${f} NAME)
	file(READ ${f} text)
	while("${text}" MATCHES "\n@([^@\n]+)@\n")
		set(line "${CMAKE_MATCH_0}")
		file(READ ${ROOT}/${CMAKE_MATCH_1} included)
		string(REGEX REPLACE "^-- SPDX[^\n]*\n" "" included "${included}")
		string(REPLACE "${line}" "\n${included}" text "${text}")
	endwhile()
	file(WRITE ${OUT}/${name} "${text}")
endforeach()
