#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What tests/vm/run does inside a guest: what cachemon says it can see, and the truth tests on each
# filesystem, each with its own log and result in /out.
# usage: inside.sh BUILD "FILESYSTEM..." TRUTH-ARGUMENT...
build=$1
filesystems=$2
shift 2
cachemon=$build/cachemon/cachemon
here=$(dirname "$0")

"$cachemon" doctor --json >/out/doctor.json 2>/out/doctor.err
"$cachemon" watch --level full --db /tmp/first.db -- true >/out/watch.log 2>&1
echo $? >/out/watch.status
for fs in $filesystems; do
	if ! grep -qw "$fs" /proc/filesystems && ! modprobe -q "$fs"; then
		echo "this kernel has no $fs" >"/out/$fs.absent"
		continue
	fi
	[ "$(cat /out/watch.status)" = 0 ] || continue
	python3 "$here/../../truth/run.py" --cachemon "$cachemon" --wl "$build/tests/truth/wl" \
		--dir /scratch --fs "$fs" --json "/out/$fs.json" "$@" >"/out/$fs.log" 2>&1
done
