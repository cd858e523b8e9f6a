#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The guest's part of tests/vm/run: the report of cachemon doctor, the truth tests on each filesystem,
# each with its own log and result in /out, and a home on NFS if /out/home exists. FS.patterns there
# lists the patterns to run on filesystem FS, FS.level has the level of watch.
# usage: inside.sh BUILD
build=$1
cachemon=$build/cachemon/cachemon
here=$(dirname "$0")

"$cachemon" doctor --json >/out/doctor.json 2>/out/doctor.err
"$cachemon" watch --level full --db /tmp/first.db -- true >/out/watch.log 2>&1
echo $? >/out/watch.status
for list in /out/*.patterns; do
	fs=$(basename "$list" .patterns)
	if ! grep -qw "$fs" /proc/filesystems && ! modprobe -q "$fs"; then
		echo "this kernel has no $fs" >"/out/$fs.absent"
		continue
	fi
	[ "$(cat /out/watch.status)" = 0 ] || continue
	# shellcheck disable=SC2046 # words
	python3 "$here/../../truth/run.py" --cachemon "$cachemon" --wl "$build/tests/truth/wl" \
		--dir /scratch --fs "$fs" --timeout 600 --json "/out/$fs.json" \
		--level "$(cat "/out/$fs.level")" $(sed 's/^/--only /' "$list") \
		>"/out/$fs.log" 2>&1
	if [ "$fs" = nfs ]; then
		CACHEMON=$cachemon python3 "$here/../nfs_guest.py" --dir /scratch >/out/nfs.part 2>&1
	fi
done
if [ -e /out/home ]; then
	CACHEMON=$cachemon python3 "$here/../nfs_home.py" --dir /scratch >/out/home.part 2>&1
fi
