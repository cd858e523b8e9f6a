# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The first process of a guest: a machine that systemd boots, with cachemon's units installed.
# The script PROOF starts one, which watches a service of the user 65534, and writes results to
# /out. Needs CACHEMON, REPO and PROOF.
cp "$CACHEMON" /usr/local/bin/cachemon
cp "$REPO/examples/systemd/cachemon@.service" /etc/systemd/system/
sed 's|@CMAKE_INSTALL_FULL_BINDIR@|/usr/local/bin|' "$REPO/examples/systemd/cachemon.service.in" \
	>/etc/systemd/system/cachemon.service
mkdir -p /run/systemd/system /etc/cachemon
printf '%s\n' 'interval: 1s' 'jobs:' '  kinds: [unit]' '  include: ["unit:nightly.service"]' \
	>/etc/cachemon/node.yaml
cd /run/systemd/system || exit
# A whole machine takes minutes to boot under emulation; only the service manager is needed here.
rm -rf /lib/systemd/system/*.target.wants /etc/systemd/system/*.wants /lib/systemd/system-generators \
	/.dockerenv
mkfifo -m 666 /run/go /run/done
head -c $((512 * 4096)) /dev/urandom >/scratch/data
chown 65534:65534 /scratch/data
chmod 600 /scratch/data
sync
mkdir cachemon@.service.d
cat >cachemon@.service.d/out.conf <<'UNIT'
[Service]
StandardError=append:/out/unit.err
UNIT
cat >nightly.service <<'UNIT'
[Service]
User=65534
# It reads the file for each word, and ends at an empty line.
ExecStart=/bin/sh -c 'while read x </run/go && [ $x ]; do cat /scratch/data >/dev/null; echo >/run/done; done'
UNIT
mkdir cachemon.service.d
cat >cachemon.service.d/out.conf <<'UNIT'
[Service]
StandardError=append:/out/daemon.err
ExecStopPost=+/bin/sh -c 'echo $SERVICE_RESULT >>/out/daemon.results'
RestartSec=1s
# The kernel checks the programs, which takes minutes under emulation.
TimeoutStartSec=10min
UNIT
cat >small.service <<'UNIT'
[Service]
Type=oneshot
MemoryMax=16M
ExecStart=/usr/local/bin/cachemon watch --db /run/small.db -- touch /out/small.ran
StandardError=file:/out/small.err
UNIT
cat >proof.service <<'UNIT'
[Service]
Type=oneshot
ExecStart=/bin/sh /run/proof.sh
ExecStopPost=/bin/sh -c 'cut -d" " -f1 /proc/uptime >/out/ended; sync; systemctl poweroff -ff'
StandardOutput=append:/out/log
StandardError=append:/out/log
UNIT
cp "$PROOF" /run/proof.sh
cp "$REPO/examples/systemd/metrics.conf" /run/
exec /lib/systemd/systemd --unit=proof.service --show-status=no --log-target=kmsg
