# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # the lists are for those who source this
# Sourced by examples/try, tests/run and tests/static: the packages they install, and the build. Works
# as root, as a user with sudo, and for a user if all packages are installed.

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${BUILD:-$REPO/build}

PACKAGES_BUILD=(bpftool clang cmake gcc libbpf-dev libc6-dev libcap-dev libcjson-dev
	libcrypt-dev libcurl4-openssl-dev libelf-dev libmd-dev libmicrohttpd-dev
	libncurses-dev libsqlite3-dev libyaml-dev make pkgconf scdoc zlib1g-dev)
PACKAGES_TEST=(btrfs-progs cmark-gfm debian-archive-keyring e2fsprogs fio fish jq libaio-dev libasan8
	libcap2-bin libcmocka-dev libfuse3-dev libubsan1 liburing-dev mandoc mount openssl procps python3
	python3-jsonschema python3-markdown-it python3-yaml sqlite3 sudo tmux util-linux xfsprogs xz-utils zsh)
PACKAGES_BROWSER=(chromium chromium-driver poppler-utils python3-selenium)
# For axe-core and the tokenizers, which Debian lacks: several hundred small packages, so only if
# there is no npm and a part that needs it runs.
PACKAGES_NPM=(npm)
PACKAGES_VM=(btrfs-progs busybox-static debian-archive-keyring kmod nfs-common nfs-kernel-server qemu-system-common qemu-system-x86
	zstd)
# A cluster of one node, and the header of its plugins. Only for the parts that need it, because its
# daemons start where systemd runs.
PACKAGES_SLURM=(libslurm-dev munge slurm-client slurm-wlm-basic-plugins slurmctld slurmd)
# A real loader of training data: half a gigabyte.
PACKAGES_TORCH=(python3-pil python3-torch)
PACKAGES_CROSS=(binutils debian-archive-keyring gcc-aarch64-linux-gnu qemu-user)
PACKAGES_CLANG=(clang-14 clang-16 clang-19)
# libFuzzer and the sanitizers of Debian's default clang.
PACKAGES_FUZZ=(libclang-rt-dev)
PACKAGES_STATIC=(clang-format clang-tidy cppcheck shellcheck)

say() {
	printf '== %s\n' "$*"
}

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# The owner of the sources also owns what is built from them, even under sudo.
as_owner() {
	local uid gid

	uid=$(stat -c %u "$REPO")
	gid=$(stat -c %g "$REPO")
	if [[ $EUID -eq 0 && $uid -ne 0 ]] && getent passwd "$uid" >/dev/null; then
		setpriv --reuid "$uid" --regid "$gid" --init-groups -- "$@"
	else
		"$@"
	fi
}

# How to run a command as root: directly, or by sudo if that needs no password (a test must not
# ask).
can_be_root() {
	[[ $EUID -eq 0 ]] || sudo -n true 2>/dev/null
}

as_root() {
	if [[ $EUID -eq 0 ]]; then
		"$@"
	else
		sudo "$@"
	fi
}

# Runs a command whose output matters only when it fails.
quietly() {
	local log status=0

	log=$(mktemp)
	"$@" >"$log" 2>&1 </dev/null || status=$?
	[[ $status -eq 0 ]] || tail -n 30 "$log" >&2
	rm -f "$log"
	return "$status"
}

is_installed() {
	[[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

install_packages() {
	local name missing=()

	if ! command -v apt-get >/dev/null; then
		say "no apt-get here: taking for granted what these Debian packages hold: $*"
		return
	fi
	for name; do
		is_installed "$name" || missing+=("$name")
	done
	[[ ${#missing[@]} -gt 0 ]] || return 0
	if [[ $EUID -ne 0 ]] && ! command -v sudo >/dev/null; then
		die "missing packages, and no sudo to install them; as root: apt-get install ${missing[*]}"
	fi
	say "installing ${#missing[@]} packages: ${missing[*]}"
	quietly as_root apt-get -q update ||
		die "apt-get update failed (above); repair it or install by hand: ${missing[*]}"
	quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get -qy -o DPkg::Lock::Timeout=120 \
		install --no-install-recommends "${missing[@]}" ||
		die "apt-get install failed (above); install by hand: ${missing[*]}"
}

# build_tree DIR CMAKE-ARGUMENT... -- TARGET...
build_tree() {
	local dir=$1 arguments=()

	shift
	while [[ $1 != -- ]]; do
		arguments+=("$1")
		shift
	done
	shift
	as_owner mkdir -p "$dir" 2>/dev/null ||
		die "cannot write to $dir; name another place with BUILD=DIR"
	quietly as_owner cmake -S "$REPO" -B "$dir" "${arguments[@]}" ||
		die "cmake failed (above); a fresh start: rm -r $dir"
	quietly as_owner cmake --build "$dir" -j 2 --target "$@" ||
		die "the build failed (above); to see all of it: cmake --build $dir"
}

# Each test program has many tests: its own counts are added up, and one that ends abnormally (a
# crash, a sanitizer's report, a timeout) is one failure. Only failures are shown. unit_tests DIR
# CTEST-ARGUMENT...
unit_tests() {
	local dir=$1 log status=0

	shift
	log=$(mktemp)
	as_owner env --default-signal ctest --test-dir "$dir" -L unit -j 2 -V "$@" \
		--no-tests=error >"$log" 2>&1 || true
	awk '
		/^[0-9]+: / { test = $1 + 0; text[test] = text[test] $0 "\n" }
		/^[0-9]+: \[  PASSED  \] [0-9]+ test/ { passed += $5 }
		/^[0-9]+: \[  SKIPPED \] [0-9]+ test/ { skipped += $5 }
		/^[0-9]+: \[  FAILED  \] [0-9]+ test/ { failed += $5; counted[test] = 1 }
		/^[ \t]+[0-9]+ - .*\(.*\)$/ {
			if (!counted[$1 + 0])
				failed++
			printf "%s%s\n", text[$1 + 0], $0
		}
		END {
			printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
			exit failed > 0 || !passed
		}
	' "$log" || status=$?
	rm -f "$log"
	return "$status"
}
