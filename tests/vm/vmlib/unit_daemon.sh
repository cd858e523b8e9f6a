# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# In the guest of unit.sh: cachemon.service, its users, what systemd does with it, and its metrics.
db=/var/lib/cachemon/node.db
of() { systemctl show -P "$1" cachemon.service; }
intervals() { sqlite3 "file:$db?mode=ro" 'SELECT count(*) FROM interval' 2>/dev/null || echo 0; }
has_intervals() { [ "$(intervals)" -gt "$1" ]; }
started_again() { [ "$(of NRestarts) $(of ActiveState)" = "$1 active" ]; }
has_metrics() { curl -sf http://127.0.0.1:9752/metrics | tee /out/daemon.metrics | grep -q nightly; }
wait_for() {
	until "$@"; do
		[ "$(of ActiveState)" != failed ] || exit 1
		sleep 0.2
	done
}
# The service reads its file, and the interval of that ends.
read_once() {
	echo read >/run/go
	read -r _ </run/done
	wait_for has_intervals $(($(intervals) + 1))
}

systemctl enable --now cachemon.service
systemctl show cachemon.service >/out/daemon.ready
systemctl start nightly.service
wait_for has_intervals 0
systemctl show cachemon.service >/out/daemon.watches
cat "/proc/$(of MainPID)/status" >/out/daemon.status
read_once
setpriv --reuid 65534 --regid 65534 --clear-groups cachemon jobs --json >/out/daemon.jobs
setpriv --reuid 65533 --regid 65533 --clear-groups cachemon jobs --json >/out/others.jobs
cachemon jobs unit:nightly.service -o /scratch/job.db
cachemon report --db /scratch/job.db --format json -o /out/daemon.json
cp /etc/cachemon/node.yaml /run/right.yaml
echo 'intervall: 1s' >/etc/cachemon/node.yaml
systemctl reload cachemon.service
wait_for grep -q intervall /out/daemon.err

# systemd starts it again, with what metrics.listen needs.
cp /run/right.yaml /etc/cachemon/node.yaml
printf '%s\n' 'metrics:' '  listen: 127.0.0.1:9752' >>/etc/cachemon/node.yaml
cp /run/metrics.conf /run/systemd/system/cachemon.service.d/
systemctl daemon-reload
kill -9 "$(of MainPID)"
wait_for started_again 1
wait_for has_metrics
cat "/proc/$(of MainPID)/status" >/out/again.status
cat "/proc/$(pgrep -x cachemon-http)/status" >/out/http.status

# A daemon that does nothing: WatchdogSec is the unit's own.
read_once
kill -STOP "$(of MainPID)"
wait_for started_again 2
read_once
systemctl stop cachemon.service
systemctl show cachemon.service >/out/daemon.show
sqlite3 "$db" "SELECT run_id FROM job WHERE external_id = 'nightly.service' ORDER BY run_id" |
	while read -r run; do
		i=$((i + 1))
		cachemon report --db "$db" --run "$run" --format json -o "/out/run.$i.json"
	done
echo >/run/go
echo 0 >/out/status
