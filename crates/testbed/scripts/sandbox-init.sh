# Process 1 of a sandbox. $1: the sandbox's directory on the host.
#
# Runs until its standard input ends: when the test drops the sandbox, or when the
# test's process ends for any reason. The kernel then kills every process of the
# sandbox's process namespace.
set -eu
# /proc is still the host's here, so this is the pid in the host's namespace.
read -r pid rest </proc/self/stat
mount -t proc proc /proc
# Directories where daemons keep sockets and state; the host's are not changed.
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /var/lib/nfs
ip link set lo up
# The sandbox routes between the kernels in it.
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
echo "$pid"

cat >/dev/null || true

kill -KILL -1 2>/dev/null || true
rm -rf --one-file-system -- "$1"
