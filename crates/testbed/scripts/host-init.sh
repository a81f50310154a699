# Process 1 of a host of testbed::Hosts, in namespaces of its own.
#
# $1: its name; $2: its address, with the prefix's length; $3: the same of IPv6;
# $4: the gateway; $5: root's home; $6: the directory with its settings. The others:
# directories of the machine that must stay visible. The host "prime" is where the program
# under test is started: it has the machine's processes, /tmp and writable files.
# (mount -n: its notes in /run would be in the way of moving /run.)
set -eu
name=$1 address=$2 six=$3 gateway=$4 home=$5 settings=$6
shift 6

echo "$name" >/proc/sys/kernel/hostname
if [ "$name" = prime ]; then
    # This namespace's own and the sandbox's: below them is the machine's.
    umount -n /proc
    umount -n /proc
fi

# What is wanted from places that are about to be covered, in a new /run.
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
# The interfaces in /sys are those of the network that mounted it.
mount -n -t sysfs sysfs /sys
mount -n --move /run/cgroup /sys/fs/cgroup
# Names come from the sandbox, and from nowhere else; root has a known password.
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
# Nobody else has it: it can be used at once.
ip address add "$six" dev eth0 nodad
ip route add default via "$gateway"
if [ "$name" != prime ]; then
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin /usr/sbin/sshd -D -e -f /run/testbed/sshd_config &
fi
echo "testbed: ready"
# Ends with the test. Meanwhile the shell collects orphans, as a process 1 must.
cat >/dev/null || true
