# Init of a kernel NFS client. SERVER: its address, or empty for this machine's
# host; EXPORT: the path; FAMILY: 6 or empty; OPTIONS: for mount.
# Then runs script after script, as the host names them on standard input.
step modprobe -d /run/testbed/modules nfsv3
case "$SERVER$FAMILY" in
'') SERVER=$HOST ;;
6) SERVER="[$HOST6]" ;;
esac
stty -echo 2>/dev/null
step mount -t nfs -o "$OPTIONS" "$SERVER:$EXPORT" /mnt
echo "testbed: ready"
while read -r number; do
    (cd /mnt && exec sh "/run/testbed/script-$number") \
        </dev/null >"/run/testbed/output-$number" 2>&1
    status=$?
    echo "testbed: script $number ended with $status"
done
