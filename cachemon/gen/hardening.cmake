# SPDX-License-Identifier: BSD-2-Clause
# Compiler and linker options that make an error in a program harder to exploit. cachemon is started
# by root, through sudo and with file capabilities, so optimised builds use every protection that
# compiler, C library and linker have. tests/system/hardening.py checks the installed program.
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

# The highest level of the compiler and the C library: 3 since gcc 12 and glibc 2.34. A
# distribution's compiler may set one already.
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

# -fPIE, not -fPIC: these static libraries are not linked into shared ones.
harden_compiler(-fPIE -fstack-protector-strong -fstack-clash-protection)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
	harden_compiler(-fcf-protection=full)
	# Debian 12's startup files lack the mark of a shadow stack, but support it. They do not
	# support indirect branch tracking, so the linker decides about that.
	harden_linker(-Wl,-z,shstk)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
	harden_compiler(-mbranch-protection=standard)
endif()
harden_linker(-pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,-z,separate-code)
harden_fortify()
