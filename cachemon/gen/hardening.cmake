# SPDX-License-Identifier: BSD-2-Clause
# What makes a fault in a program harder to use. cachemon is started by root, through sudo and with file
# capabilities, so builds with optimization have all of it that compiler, C library and linker know.
# tests/system/hardening.py looks at the installed program.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)

set(OPTIMIZED $<OR:$<CONFIG:Release>,$<CONFIG:RelWithDebInfo>,$<CONFIG:MinSizeRel>>)

function(harden_compiler)
	foreach(flag ${ARGN})
		string(MAKE_C_IDENTIFIER "HAS${flag}" known)
		check_c_compiler_flag("-Werror ${flag}" ${known})
		if(${known})
			target_compile_options(flags INTERFACE $<${OPTIMIZED}:${flag}>)
		endif()
	endforeach()
endfunction()

function(harden_linker)
	foreach(flag ${ARGN})
		string(MAKE_C_IDENTIFIER "HAS${flag}" known)
		check_linker_flag(C ${flag} ${known})
		if(${known})
			target_link_options(flags INTERFACE $<${OPTIMIZED}:${flag}>)
		endif()
	endforeach()
endfunction()

# The highest level that the compiler and the C library have: 3 since gcc 12 and glibc 2.34. A
# distribution's compiler may have one already.
function(harden_fortify)
	foreach(level 3 2)
		set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${level}")
		check_c_source_compiles("#include <stdio.h>
#if !defined(__USE_FORTIFY_LEVEL) || __USE_FORTIFY_LEVEL < ${level}
#error no such level
#endif
int main(void) { return 0; }" HAS_FORTIFY_${level})
		if(HAS_FORTIFY_${level})
			target_compile_options(flags INTERFACE
				$<${OPTIMIZED}:-U_FORTIFY_SOURCE>
				$<${OPTIMIZED}:-D_FORTIFY_SOURCE=${level}>)
			return()
		endif()
	endforeach()
endfunction()

# -fPIE, not -fPIC: nothing of these static libraries is for a shared one.
harden_compiler(-fPIE -fstack-protector-strong -fstack-clash-protection)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
	harden_compiler(-fcf-protection=full)
	# Debian 12's startup files lack the mark of a shadow stack, and are right for one. They are not right for
	# indirect branch tracking, so that the linker decides about that.
	harden_linker(-Wl,-z,shstk)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
	harden_compiler(-mbranch-protection=standard)
endif()
harden_linker(-pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,-z,separate-code)
harden_fortify()
