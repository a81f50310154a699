# Process 1 of a sandbox. $1: the sandbox's directory on the host.
#
# Lives until its standard input ends, which is when the test drops the
# sandbox, or when the test's process is gone for whatever reason. Nothing in
# the sandbox's process namespace outlives it: the kernel sees to that.
set -eu
# /proc still belongs to the host here, so this is our pid as the host sees it.
read -r pid rest </proc/self/stat
mount -t proc proc /proc
# Places where daemons leave sockets and state; the host's stay as they are.
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /var/lib/nfs
ip link set lo up
# Several kernels in one sandbox talk through it.
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
echo "$pid"

cat >/dev/null || true

kill -KILL -1 2>/dev/null || true
rm -rf --one-file-system -- "$1"
