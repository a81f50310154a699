# The beginning of every User Mode Linux init. The root is the host's or a tree's, read-only.
export PATH=/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin
export HOME=/tmp LANG=C.UTF-8

fail() {
    echo "testbed: failed: $1"
    sleep 60
}
step() {
    "$@" || fail "$*"
}
tmpfs() {
    step mount -t tmpfs -o "mode=755,size=${2:-50%}" tmpfs "$1"
}

# The kernel loads modules that it needs later, such as ciphers, by this program.
load_modules_on_demand() {
    printf '#!/bin/sh\nexec modprobe -d /run/testbed/modules "$@"\n' >/run/modprobe
    chmod 755 /run/modprobe
    echo /run/modprobe >/proc/sys/kernel/modprobe
}

# Starts tlshd, which makes the handshakes of RPC-with-TLS for the kernel, with the files in
# /run/testbed/tls.
start_tlshd() {
    step modprobe -d /run/testbed/modules tls
    for role in client server; do
        printf '[authenticate.%s]\nx509.truststore=/run/testbed/tls/ca.pem\n' "$role"
        printf 'x509.certificate=/run/testbed/tls/own.pem\nx509.private_key=/run/testbed/tls/own.key\n'
    done >/run/tlshd.conf
    tlshd -s -c /run/tlshd.conf >/run/testbed/tlshd.log 2>&1 &
}

# Prints that the machine is ready; then runs in the directory $1 the scripts whose
# numbers the host sends on standard input.
run_scripts() {
    stty -echo 2>/dev/null
    echo "testbed: ready"
    while read -r number; do
        (cd "$1" && exec sh "/run/testbed/script-$number") \
            </dev/null >"/run/testbed/output-$number" 2>&1
        status=$?
        echo "testbed: script $number ended with $status"
    done
    # The host has closed standard input.
    while :; do sleep 1000; done
}

step mount -t proc proc /proc
step mount -t sysfs sysfs /sys
tmpfs /run
tmpfs /tmp
tmpfs /var/lib/nfs
# The only directory that both this machine and the host can write to.
mkdir /run/testbed
case $(uname -r) in
6.1.*) step mount -t hostfs -o "$SHARED" none /run/testbed ;;
*) step mount -t hostfs -o "hostfs=$SHARED" none /run/testbed ;;
esac
# No daemon waits for a name server: there is none.
: >/run/resolv.conf
printf '127.0.0.1 localhost\n%s host\n%s guest\n' "$HOST" "$ADDRESS" >/run/hosts
for name in hosts resolv.conf; do
    [ ! -e "/etc/$name" ] || step mount --bind "/run/$name" "/etc/$name"
done
step modprobe -d /run/testbed/modules ipv6
step ip link set lo up
step ip address add "$ADDRESS/24" dev vec0
step ip -6 address add "$ADDRESS6/64" dev vec0 nodad
step ip link set vec0 up
# Other machines of the sandbox are reached through the host.
step ip route add default via "$HOST"
step ip -6 route add default via "$HOST6"
