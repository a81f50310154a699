# Init of a kernel NFS server. EXPORT_SIZE: of the exported tmpfs;
# EXPORT_OPTIONS: for exportfs; THREADS: nfsd's.
tmpfs /srv "$EXPORT_SIZE"
mkdir /srv/export
step modprobe -d /run/testbed/modules nfsd
step mount -t nfsd nfsd /proc/fs/nfsd
mkdir -p /var/lib/nfs/sm /var/lib/nfs/v4recovery
: >/var/lib/nfs/etab
: >/var/lib/nfs/rmtab
step rpcbind -w
step rpc.mountd --port 20048
step exportfs -o "$EXPORT_OPTIONS" '*:/srv/export'
step rpc.nfsd --no-nfs-version 4 "$THREADS"
echo "testbed: ready"
while :; do sleep 1000; done
