# SPDX-License-Identifier: BSD-2-Clause
# cmake -DROOT=dir -DOUT=dir -DFIGURES=figures.txt -DFILES="a.sql;b.sql" -P include.cmake: copies
# text files to OUT. A line "@path@" becomes the file of that path below ROOT, without its licence
# line. Then "@NAME(x.)@" becomes the SQL of that figure with columns of x, and "@about(NAME)@" its
# description.
include(${CMAKE_CURRENT_LIST_DIR}/figures.cmake)
figures_read(${FIGURES})
foreach(f ${FILES})
	get_filename_component(name ${f} NAME)
	file(READ ${f} text)
	while("${text}" MATCHES "\n@([^@\n]+)@\n")
		set(line "${CMAKE_MATCH_0}")
		file(READ ${ROOT}/${CMAKE_MATCH_1} included)
		string(REGEX REPLACE "^-- SPDX[^\n]*\n" "" included "${included}")
		string(REPLACE "${line}" "\n${included}" text "${text}")
	endwhile()
	while("${text}" MATCHES "@([a-z_]+)\\(([a-z_.]*)\\)@")
		if(CMAKE_MATCH_1 STREQUAL "about")
			set(figure "${ABOUT_${CMAKE_MATCH_2}}")
		else()
			string(REPLACE "$" "${CMAKE_MATCH_2}" figure "${SQL_${CMAKE_MATCH_1}}")
		endif()
		if(figure STREQUAL "")
			message(FATAL_ERROR "${f}: no figure ${CMAKE_MATCH_0}")
		endif()
		string(REPLACE "${CMAKE_MATCH_0}" "${figure}" text "${text}")
	endwhile()
	file(WRITE ${OUT}/${name} "${text}")
endforeach()
