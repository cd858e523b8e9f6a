# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # the lists are for those who source this
# Sourced by tests/cross/run and tests/cross/boot: their common build.
# shellcheck source=../common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

SKIP=77
CROSS=${CACHEMON_BUILD:-$BUILD}-aarch64
# qemu-user emulates /proc/self itself, without mounts: these run on a real kernel only.
NOT_UNDER_QEMU="fs_support"
# Programs that wait for each other for the store's timeout: emulation is slower than that.
NOT_EMULATED="store_crash store_open"

skip() {
	echo "${0##*/}: skipped: $*"
	echo "0 passed, 0 failed, 1 skipped"
	exit "$SKIP"
}

fail() {
	echo "${0##*/}: $*"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
}

# cross_build TARGET...: ends the part if the compiler is missing or the build fails.
cross_build() {
	local sysroot

	[[ $(uname -m) != aarch64 ]] || skip "this machine is one: the other parts are about it"
	(install_packages "${PACKAGES_BUILD[@]}" "${PACKAGES_CROSS[@]}") || skip "no cross compiler"
	sysroot=$(as_owner "$REPO/tests/cross/sysroot" 2>&1) || skip "$sysroot"
	(
		# Both parts may run at the same time.
		exec {lock}>"$CROSS.lock"
		flock "$lock"
		build_tree "$CROSS" --toolchain "$REPO/tests/cross/aarch64.cmake" \
			"-DCMAKE_SYSROOT=$sysroot" -DBUILD_TESTING=ON -- "$@"
	) || fail "the build failed (above)"
	readelf -h "$CROSS/cachemon/cachemon" | grep -q 'Machine: *AArch64' ||
		fail "what was built is not for aarch64"
	say "built in $CROSS"
}
