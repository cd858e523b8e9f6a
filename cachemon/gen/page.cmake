# SPDX-License-Identifier: BSD-2-Clause
# cmake -DOUT=header -DFILES="style.css;script.js" -P page.cmake: the files embedded in a page,
# without indentation, as strings, each with the hash by which the page's policy allows it.
include(${CMAKE_CURRENT_LIST_DIR}/base64.cmake)
set(body "/* made by cachemon/gen/page.cmake */\n")
foreach(f ${FILES})
	get_filename_component(n ${f} NAME_WE)
	file(READ ${f} text)
	string(REGEX REPLACE "\n[\t\n ]+" "\n" text "${text}")
	string(SHA256 sum "${text}")
	base64_of_hex(hash ${sum})
	string(HEX "${text}" hex)
	string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
	string(APPEND body "static const char page_${n}[] = {${bytes}0};\n"
		"#define PAGE_HASH_${n} \"'sha256-${hash}'\"\n")
endforeach()
file(WRITE ${OUT} "${body}")
