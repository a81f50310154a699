# Process 1 of a host of testbed::Hosts, in namespaces of its own.
#
# $1: its name; $2: its IPv4 address with the prefix length; $3: its IPv6 address with
# the prefix length; $4: the gateway; $5: root's home; $6: the directory with its
# settings. The other arguments: directories of the machine that must stay visible. The
# program under test is started on the host "prime", which has the machine's processes,
# /tmp and writable files. (mount -n: the files that mount writes to /run would prevent
# moving /run.)
set -eu
name=$1 address=$2 six=$3 gateway=$4 home=$5 settings=$6
shift 6

echo "$name" >/proc/sys/kernel/hostname
if [ "$name" = prime ]; then
    # The mounts of this namespace and of the sandbox; the machine's is below them.
    umount -n /proc
    umount -n /proc
fi

# A new /run, with what is needed from directories that are mounted over below.
stage=/run/stage-$name
mkdir "$stage"
mount -n -t tmpfs -o mode=755 tmpfs "$stage"
mkdir "$stage/shared" "$stage/cgroup" "$stage/keep" "$stage/testbed" "$stage/sshd"
cp -p "$settings"/* "$stage/testbed/"
mount -n --bind /run/shared "$stage/shared"
mount -n --rbind /sys/fs/cgroup "$stage/cgroup"
number=0
for place; do
    number=$((number + 1))
    mkdir "$stage/keep/$number"
    mount -n --rbind "$place" "$stage/keep/$number"
done
mount -n --move "$stage" /run

# A host must not write to the machine's disk.
if [ "$name" != prime ]; then
    while read -r _ _ _ _ where _; do
        case $where in
        /proc | /proc/* | /sys | /sys/* | /dev | /dev/* | /run | /run/shared | /run/cgroup*) ;;
        *) mount -n -o remount,bind,ro "$(printf '%b' "$where")" 2>/dev/null || true ;;
        esac
    done </proc/self/mountinfo
    for place in /tmp /var/tmp; do
        mount -n -t tmpfs -o mode=1777 tmpfs "$place"
    done
    mount -n -t tmpfs -o mode=1777,size=64m tmpfs /dev/shm
fi
mount -n -t tmpfs -o mode=700 tmpfs "$home"
mount -n -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/shared /mnt/own
mount -n --move /run/shared /mnt/shared
number=0
for place; do
    number=$((number + 1))
    if [ -e "$place" ]; then
        umount -n -l "/run/keep/$number"
    else
        mkdir -p "$place"
        mount -n --move "/run/keep/$number" "$place"
    fi
done
# /sys shows the interfaces of the network namespace in which it was mounted.
mount -n -t sysfs sysfs /sys
mount -n --move /run/cgroup /sys/fs/cgroup
# Names are resolved from the sandbox's hosts file only; root has a known password.
for file in hosts nsswitch.conf shadow; do
    if [ -e "/etc/$file" ]; then
        mount -n --bind "/run/testbed/$file" "/etc/$file"
    fi
done
mkdir -m 700 "$home/.ssh"
if [ "$name" = prime ]; then
    cp /run/testbed/ssh_config "$home/.ssh/config"
else
    cp /run/testbed/authorized_keys "$home/.ssh/"
fi

echo "testbed: no network yet"
read -r _
ip link set lo up
ip address add "$address" dev eth0
ip link set eth0 up
# No other host has this address: duplicate address detection is not needed.
ip address add "$six" dev eth0 nodad
ip route add default via "$gateway"
if [ "$name" != prime ]; then
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin /usr/sbin/sshd -D -e -f /run/testbed/sshd_config &
fi
echo "testbed: ready"
# Ends with the test. Until then the shell collects orphans, as process 1 must.
cat >/dev/null || true
