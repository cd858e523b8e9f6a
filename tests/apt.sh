# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by scripts that download packages and unpack them without installing: a separate apt, which
# does not change the machine's own.

KEYS=/usr/share/keyrings/debian-archive-keyring.gpg

# The machine's own mirrors also have other suites, and a mirror of Debian has its security updates.
# No mirrors: apt reports it.
mirror_of() {
	local archive=debian uris

	[[ $1 != *-security ]] || archive=debian-security
	# shellcheck disable=SC2016 # apt's words, not the shell's
	uris=$(apt-get indextargets --no-release-info --format '$(REPO_URI)' 'Created-By: Packages' \
		2>/dev/null | sed 's:/*$::')
	grep -m 1 "/$archive\$" <<<"$uris" ||
		sed -nE "s:/debian(-security)?\$:/$archive:;T;p;q" <<<"$uris"
}

# apt_of DIR ARCHITECTURE TOOL ARGUMENT...: of the machine's own apt, uses only its mirrors and the
# way to reach them.
apt_of() {
	local dir=$1 arch=$2 tool=$3

	shift 3
	"$tool" -q -o Dir::Etc::sourcelist="$dir/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::Etc::preferences=- -o Dir::Etc::preferencesparts=- -o APT::Default-Release= \
		-o Dir::State="$dir/state" -o Dir::State::Lists="$dir/lists" \
		-o Dir::State::status="$dir/status" -o Dir::Cache="$dir/cache" \
		-o Acquire::Check-Valid-Until=false -o Acquire::PDiffs=false \
		-o Acquire::Languages=none -o Acquire::Retries=2 -o APT::Update::Error-Mode=any \
		-o APT::Sandbox::User= -o APT::Architecture="$arch" -o APT::Architectures="$arch" "$@"
}

# make_apt DIR ARCHITECTURE SUITE...
make_apt() {
	local dir=$1 arch=$2 suite

	shift 2
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/state"
	: >"$dir/status"
	for suite; do
		echo "deb [arch=$arch signed-by=$KEYS] $(mirror_of "$suite") $suite main"
	done >"$dir/sources.list"
}

# The error from apt's log; exits.
apt_failed() {
	echo "$2: $(grep -E '^(E|W): ' "$1" | head -n 1 || tail -n 1 "$1")"
	exit 1
}
