# Init of a kernel SMB client. SERVER: its address, or empty for this machine's host;
# SHARE: the share; OPTIONS: for mount; the user and the password are in a file.
load_modules_on_demand
step modprobe -d /run/testbed/modules cifs
[ -n "$SERVER" ] || SERVER=$HOST
mount -t cifs -o "$OPTIONS,credentials=/run/testbed/credentials" "//$SERVER/$SHARE" /mnt || {
    dmesg | grep -i cifs
    fail "mount -t cifs -o $OPTIONS //$SERVER/$SHARE"
}
run_scripts /mnt
