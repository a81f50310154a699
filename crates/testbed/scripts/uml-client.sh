# Init of a kernel NFS client. SERVER: its address, or empty for this machine's
# host; EXPORT: the path; FAMILY: 6 or empty; OPTIONS: for mount.
case "$OPTIONS" in
nfsvers=3,*) step modprobe -d /run/testbed/modules nfsv3 ;;
*) step modprobe -d /run/testbed/modules nfsv4 ;;
esac
case "$SERVER$FAMILY" in
'') SERVER=$HOST ;;
6) SERVER="[$HOST6]" ;;
esac
step mount -t nfs -o "$OPTIONS" "$SERVER:$EXPORT" /mnt
run_scripts /mnt
