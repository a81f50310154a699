# Init of a kernel NFS server. EXPORT_SIZE: of the exported tmpfs;
# EXPORT_OPTIONS: for exportfs; THREADS: of nfsd; NFS4: not empty to serve NFSv4, too;
# UDP: an option of rpc.nfsd, or empty;
# KERBEROS: not empty to serve with the keytab /run/testbed/keytab; TLS: not empty to start tlshd;
# NFS2: not empty to serve versions 2 and 3 with the module /run/testbed/nfsd.ko.
tmpfs /srv "$EXPORT_SIZE"
mkdir /srv/export
step modprobe -d /run/testbed/modules nfsd
if [ -n "$NFS2" ]; then
    # modprobe has loaded the modules that nfsd depends on.
    step rmmod nfsd
    step insmod /run/testbed/nfsd.ko
fi
step mount -t nfsd nfsd /proc/fs/nfsd
load_modules_on_demand
mkdir -p /var/lib/nfs/sm /var/lib/nfs/v4recovery
: >/var/lib/nfs/etab
: >/var/lib/nfs/rmtab
case $(uname -r) in
6.1.*)
    # The names of clients are kept by the kernel itself, in v4recovery. Otherwise it would start
    # nfsdcltrack for every client that comes and goes: up to half a second in User Mode Linux.
    echo /none >/sys/module/nfsd/parameters/cltrack_prog
    ;;
*)
    # Nothing else keeps the names of clients for the grace period.
    mkdir -p /run/rpc_pipefs /var/lib/nfs/nfsdcld
    step mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs
    step nfsdcld
    ;;
esac
step rpcbind -w
[ -z "$TLS" ] || start_tlshd
step rpc.mountd --port 20048
step exportfs -o "$EXPORT_OPTIONS" '*:/srv/export'
if [ -n "$NFS2" ]; then
    # rpc.nfsd switches version 2 off.
    echo "+2 +3 -4" >/proc/fs/nfsd/versions
    echo "tcp 2049" >/proc/fs/nfsd/portlist
    echo "udp 2049" >/proc/fs/nfsd/portlist
    echo "$THREADS" >/proc/fs/nfsd/threads
    step grep -q '+2' /proc/fs/nfsd/versions
elif [ -z "$NFS4" ]; then
    step rpc.nfsd $UDP --no-nfs-version 4 "$THREADS"
else
    # There are no clients to reclaim state: no grace period is needed.
    echo 10 >/proc/fs/nfsd/nfsv4gracetime
    step rpc.nfsd $UDP "$THREADS"
    # Refused where none has begun.
    echo Y >/proc/fs/nfsd/v4_end_grace 2>/dev/null
    # Locks also wait for the grace period of lockd: 50 s.
    echo Y >/proc/fs/lockd/nlm_end_grace
fi
if [ -n "$KERBEROS" ]; then
    step modprobe -d /run/testbed/modules rpcsec_gss_krb5
    # Of the replay cache.
    tmpfs /var/tmp
    export KRB5_CONFIG=/run/testbed/krb5.conf KRB5_KTNAME=/run/testbed/keytab
    rpc.svcgssd -f -n >/run/testbed/svcgssd.log 2>&1 &
    chmod 777 /srv/export
fi
run_scripts /srv/export
