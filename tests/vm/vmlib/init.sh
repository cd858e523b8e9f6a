#!/bin/busybox sh
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The guest's first process. The machine's own files are the lower layer of its root and are never
# written; the guest writes to memory. The share "out" has the settings and the command, and gets the
# results.
export PATH=/bin
/bin/busybox --install -s /bin
# The kernel calls this to load a module.
printf '#!/bin/sh\nexec chroot /root /sbin/modprobe "$@"\n' >/sbin/modprobe
chmod 755 /sbin/modprobe
stop() {
	[ $# -eq 0 ] || echo "guest: $*"
	sync
	poweroff -f
}

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while read -r module; do
	insmod "/modules/$module" || echo "guest: $module does not load"
done </modules/order
mount -t virtiofs -o ro root /lower || stop "the root share does not mount"
mount -t virtiofs out /out || stop "the share for results does not mount"
# shellcheck disable=SC1091 # it is there then
. /out/settings
layers=/lower
if [ -n "$BASE" ]; then
	# Programs of this architecture, over the machine's own.
	mount -t virtiofs -o ro base /base || stop "the share of the root's base does not mount"
	layers=/base:/lower
fi
mount -t tmpfs upper /upper && mkdir /upper/data /upper/work
mount -t overlay -o "lowerdir=$layers,upperdir=/upper/data,workdir=/upper/work" root /root ||
	stop "the root's overlay does not mount"
mkdir -p /root/out /root/scratch
mount --move /out /root/out

mount -t proc proc /root/proc
mount -t sysfs sys /root/sys
mount --bind /dev /root/dev
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
ln -s /proc/self/fd /dev/fd
ln -s fd/0 /dev/stdin
ln -s fd/1 /dev/stdout
ln -s fd/2 /dev/stderr
mount -t tmpfs run /root/run && mkdir /root/run/lock
mount -t tracefs trace /root/sys/kernel/tracing
mount -t debugfs debug /root/sys/kernel/debug
mount -t securityfs security /root/sys/kernel/security
mount -t bpf bpf /root/sys/fs/bpf
mount -t cgroup2 cgroup /root/sys/fs/cgroup
for controller in cpu io memory; do
	echo "+$controller" >/root/sys/fs/cgroup/cgroup.subtree_control
done
mkdir -p "/root/lib/modules/$(uname -r)"
mount --bind "/lower$KERNEL/lib/modules/$(uname -r)" "/root/lib/modules/$(uname -r)"
# Its configuration is where Debian has it; a user reads there whether the kernel is preemptible.
if [ -f "/lower$KERNEL/config" ]; then
	mkdir -p /root/boot
	cp "/lower$KERNEL/config" "/root/boot/config-$(uname -r)"
fi
# No udev here creates their nodes in /dev.
chroot /root /sbin/modprobe -q -a loop fuse
ip link set lo up
hostname guest
if [ -n "$SCRATCH" ]; then
	mount -t "$SCRATCH" /dev/vda /root/scratch || stop "$SCRATCH does not mount"
fi

cut -d' ' -f1 /proc/uptime >/root/out/started
# The root is entered for good, because a command below a chroot needs more privileges to see where
# it is. A service manager reports its own status and ends the guest; other commands are run by this
# script.
first=/out/command
if [ -z "$FIRST" ]; then
	first=/run/first
	cat >/root/run/first <<END
/bin/sh /out/command
echo \$? >/out/status
cut -d' ' -f1 /proc/uptime >/out/ended
exec >/dev/console 2>&1
[ -z "$SCRATCH" ] || umount /scratch
sync
busybox poweroff -f
END
fi
exec switch_root /root /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	/bin/sh $first </dev/null >/root/out/log 2>&1
