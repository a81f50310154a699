# Init of a kernel SMB client. SERVER: its address, or empty for this machine's host;
# SHARE: the share; OPTIONS: for mount; the user and the password are in a file.
# The kernel runs this program to load its ciphers when it needs them.
cat >/run/modprobe <<'EOF'
#!/bin/sh
exec modprobe -d /run/testbed/modules "$@"
EOF
chmod 755 /run/modprobe
echo /run/modprobe >/proc/sys/kernel/modprobe
step modprobe -d /run/testbed/modules cifs
[ -n "$SERVER" ] || SERVER=$HOST
mount -t cifs -o "$OPTIONS,credentials=/run/testbed/credentials" "//$SERVER/$SHARE" /mnt || {
    dmesg | grep -i cifs
    fail "mount -t cifs -o $OPTIONS //$SERVER/$SHARE"
}
run_scripts /mnt
