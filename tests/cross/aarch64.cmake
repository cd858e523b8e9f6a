# SPDX-License-Identifier: BSD-2-Clause
# A build for aarch64 on another machine, with Debian's cross compiler:
#   cmake --toolchain tests/cross/aarch64.cmake -DCMAKE_SYSROOT="$(tests/cross/sysroot)" ...
# Test programs run under qemu-user if it is installed.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CMAKE_SYSROOT)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
	${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_PATH})
find_program(QEMU_USER NAMES qemu-aarch64 qemu-aarch64-static)
if(QEMU_USER)
	# Only its /lib: its other directories would hide the machine's /proc and /tmp.
	set(CMAKE_CROSSCOMPILING_EMULATOR ${QEMU_USER} -L ${CMAKE_SYSROOT}/usr)
endif()
