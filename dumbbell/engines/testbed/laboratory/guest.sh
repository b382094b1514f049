#!/bin/sh
# First process of a guest: from a kernel to a machine that answers over ssh. The root file system is the host's, which cannot be written
# to. $laboratory (from the kernel's command line) is the folder with what is this machine's own: `addresses` (lines for ip), `sysctls`
# (value and file), `sshd_config`, `host_key`, `authorized_keys`. Must not end, as the kernel panics if its first process does.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /var/tmp
# sshd refuses keys below a folder that others may write to.
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=700 tmpfs /root
mkdir /run/laboratory /run/lock /run/sshd
cd /run/laboratory || exit
(umask 077 && cp "$laboratory"/* .)

# Whether the host lets its root log in is not this machine's business.
echo 'root:*:20000:0:99999:7:::' > shadow
mount --bind shadow /etc/shadow
cat name > /proc/sys/kernel/hostname
ip -batch addresses
while read -r value file; do echo "$value" > "$file"; done < sysctls

/usr/sbin/sshd -D -E /run/laboratory/sshd.log -f /run/laboratory/sshd_config &
# It writes its process id once it listens.
until [ -s sshd.pid ]; do
	kill -0 $! || { cat sshd.log; exit; }
	sleep 0.02
done
# The laboratory's folder may lie below it, and is not needed any more.
mount -t tmpfs tmpfs /tmp
echo READY
# As the first process it is the parent of whatever has lost its own, and waits for that, too.
while :; do
	sleep 86400 &
	wait $!
done
