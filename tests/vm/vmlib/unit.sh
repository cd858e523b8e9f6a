# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The first process of a guest: a machine that systemd boots, with cachemon and its units installed.
# Two services started from the units, one after the other, watch another one and write their
# results to /out. Needs CACHEMON and REPO.
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
mkfifo /run/go /run/done
head -c $((512 * 4096)) /dev/urandom >/scratch/data
chmod 600 /scratch/data
sync
mkdir cachemon@.service.d
cat >cachemon@.service.d/out.conf <<'UNIT'
[Service]
StandardError=append:/out/unit.err
UNIT
cat >nightly.service <<'UNIT'
[Service]
ExecStart=/bin/sh -c 'read x </run/go; cat /scratch/data >/dev/null; echo >/run/done; read x </run/go'
UNIT
mkdir cachemon.service.d
cat >cachemon.service.d/out.conf <<'UNIT'
[Service]
StandardError=append:/out/daemon.err
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
cat >/run/proof.sh <<'PROOF'
unit="cachemon@$(systemd-escape --path /system.slice/nightly.service).service"
db=/var/lib/cachemon-watch/cachemon.db
systemctl start nightly.service "$unit"
# The first interval is in the database: the probes are on and unneeded privileges were dropped.
until [ "$(sqlite3 "file:$db?mode=ro" 'SELECT count(*) FROM interval' 2>/dev/null || echo 0)" -gt 0 ]
do
	systemctl is-active --quiet "$unit" || break
	sleep 0.1
done
pid=$(systemctl show -P MainPID "$unit")
cat "/proc/$pid/status" >/out/unit.status
echo >/run/go
read -r _ </run/done
systemctl stop "$unit"
systemctl show "$unit" >/out/unit.show
systemctl status --no-pager "$unit" >/out/unit.text 2>&1
cachemon report --db "$db" --format json -o /out/report.json
systemctl start small.service
echo >/run/go
until [ "$(systemctl show -P ActiveState nightly.service)" = inactive ]; do sleep 0.1; done
# The daemon is active when it is ready. Its status changes with the service that it finds.
systemctl start cachemon.service
systemctl show cachemon.service >/out/daemon.ready
systemctl start nightly.service
db=/var/lib/cachemon/node.db
until [ "$(sqlite3 "file:$db?mode=ro" 'SELECT count(*) FROM interval' 2>/dev/null || echo 0)" -gt 0 ]
do
	systemctl is-active --quiet cachemon.service || break
	sleep 0.1
done
systemctl show cachemon.service >/out/daemon.watches
cat "/proc/$(systemctl show -P MainPID cachemon.service)/status" >/out/daemon.status
echo >/run/go
read -r _ </run/done
cachemon jobs --json >/out/daemon.jobs
echo 'intervall: 1s' >/etc/cachemon/node.yaml
systemctl reload cachemon.service
until grep -q intervall /out/daemon.err; do sleep 0.1; done
systemctl stop cachemon.service
systemctl show cachemon.service >/out/daemon.show
cachemon report --db "$db" --format json -o /out/daemon.json
echo >/run/go
echo 0 >/out/status
PROOF
exec /lib/systemd/systemd --unit=proof.service --show-status=no --log-target=kmsg
