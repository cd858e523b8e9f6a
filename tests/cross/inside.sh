#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The guest's part of tests/cross/boot; writes the results to /out.
# usage: inside.sh BUILD "UNIT-TEST..." "PATTERN..."
build=$1
units=$2
patterns=$3
cachemon=$build/cachemon/cachemon
here=$(dirname "$0")

"$cachemon" doctor >/out/doctor.text 2>&1
(cd /scratch && "$cachemon" selftest) >/out/selftest.text 2>&1
echo $? >/out/selftest.status
for unit in $units; do
	"$build/tests/test_$unit" >"/out/unit-$unit.text" 2>&1
	echo $? >"/out/unit-$unit.status"
done
# shellcheck disable=SC2046,SC2086 # words
python3 "$here/../truth/run.py" --cachemon "$cachemon" --wl "$build/tests/truth/wl" --dir /scratch \
	--fs ext4 $(printf -- '--only %s ' $patterns) >/out/truth.text 2>&1
