# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# In the guest of unit.sh: cachemon@.service, without root.
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
echo read >/run/go
read -r _ </run/done
systemctl stop "$unit"
systemctl show "$unit" >/out/unit.show
systemctl status --no-pager "$unit" >/out/unit.text 2>&1
cachemon report --db "$db" --format json -o /out/report.json
systemctl start small.service
echo >/run/go
echo 0 >/out/status
