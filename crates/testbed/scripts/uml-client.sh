# Init of a kernel NFS client. SERVER: its address, or empty for this machine's
# host; EXPORT: the path; FAMILY: 6 or empty; OPTIONS: for mount;
# TLS: not empty to start tlshd.
load_modules_on_demand
[ -z "$TLS" ] || start_tlshd
case "$OPTIONS" in
nfsvers=2,*) step modprobe -d /run/testbed/modules nfsv2 ;;
nfsvers=3,*) step modprobe -d /run/testbed/modules nfsv3 ;;
*) step modprobe -d /run/testbed/modules nfsv4 ;;
esac
case "$SERVER$FAMILY" in
'') SERVER=$HOST ;;
6) SERVER="[$HOST6]" ;;
esac
case "$OPTIONS" in
# mount.nfs has no version 2 any more; without a helper the kernel calls MOUNT itself.
nfsvers=2,*) step mount -i -t nfs -o "$OPTIONS,addr=$SERVER" "$SERVER:$EXPORT" /mnt ;;
*) step mount -t nfs -o "$OPTIONS" "$SERVER:$EXPORT" /mnt ;;
esac
run_scripts /mnt
