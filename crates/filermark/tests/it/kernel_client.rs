//! The Linux kernel's NFS client on `filermark serve`.

use crate::knfsd::Certificates;
use crate::load_guard::beside_others;
use crate::sweep::{PROGRAM, Started, Sweep};
use filermark_testbed::{
    Capture, ClientOptions, Export, Kernel, KernelClient, NfsVersion, Sandbox, available,
};
use rustix::process::Signal;
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(600);

struct Mounted {
    client: KernelClient,
    server: Started,
    sandbox: Arc<Sandbox>,
}

/// Boots a client that has a fresh `filermark serve` mounted.
fn mounted(args: &[&str], mount_options: &str) -> Option<Mounted> {
    mounted_as(NfsVersion::V3, args, mount_options)
}

fn mounted_as(version: NfsVersion, args: &[&str], mount_options: &str) -> Option<Mounted> {
    let options = ClientOptions {
        version,
        extra: mount_options.to_owned(),
        ..ClientOptions::default()
    };
    mounted_with(&options, args)
}

/// The options of a client with this kernel.
fn client_of(kernel: Kernel, version: NfsVersion) -> ClientOptions {
    ClientOptions {
        version,
        kernel,
        ..ClientOptions::default()
    }
}

fn mounted_with(options: &ClientOptions, args: &[&str]) -> Option<Mounted> {
    let sandbox = available(Sandbox::new())?;
    let mut serve = Sweep::bare().command("serve").in_network_of(&sandbox);
    for arg in ["--listen", "0.0.0.0:2049", "--json"].iter().chain(args) {
        serve = serve.arg(*arg);
    }
    let mut server = serve.start();
    server.wait_for("mount -t nfs");
    let export = Export {
        address: [127, 0, 0, 1].into(),
        nfs_port: 2049,
        mount_port: 2049,
        path: "/export".into(),
        path_v4: Some("/export".into()),
    };
    let client = available(KernelClient::start_with(&sandbox, &export, options))?;
    Some(Mounted {
        client,
        server,
        sandbox,
    })
}

impl Mounted {
    /// Runs a script that must succeed; returns its output.
    #[track_caller]
    fn run(&mut self, script: &str) -> String {
        let script = format!("set -eu\n{script}");
        let done = self.client.run(&script, LIMIT).expect("the script runs");
        assert_eq!(done.status, 0, "{script}\n{}", done.output);
        done.output
    }

    /// Ends the server, which must still be running.
    fn end(self) -> serde_json::Value {
        drop(self.client);
        self.server.signal(Signal::INT);
        let ended = self.server.wait();
        assert!(ended.is_complete(), "{}", ended.stderr);
        ended.json()
    }
}

/// What every version can do with files, directories, links and special files, as on a local disk. In
/// front of a script, which may use its functions.
const FILES: &str = r#"
forget() { sync; echo 3 >/proc/sys/vm/drop_caches; }
dd if=/dev/urandom of=/tmp/data bs=64k count=48 2>/dev/null
mkdir dir && cp /tmp/data dir/data && forget
test "$(sha256sum <dir/data)" = "$(sha256sum </tmp/data)"
test "$(stat -c '%s %A' dir/data)" = '3145728 -rw-r--r--'
mv dir/data dir/moved && ln dir/moved hardlink && test "$(stat -c %h hardlink)" = 2
ln -s dir/moved soft && forget && test "$(readlink soft)" = dir/moved
test "$(head -c 5000 soft | sha256sum)" = "$(head -c 5000 /tmp/data | sha256sum)"
chmod 640 hardlink && chown 12:34 hardlink && test "$(stat -c '%a %u %g' dir/moved)" = '640 12 34'
touch -d '2001-02-03 04:05:06.789 UTC' hardlink
test "$(TZ=UTC stat -c %y hardlink | cut -c1-23)" = '2001-02-03 04:05:06.789'
truncate -s 3 hardlink && forget && test "$(head -c 3 /tmp/data | sha256sum)" = "$(sha256sum <dir/moved)"
echo new >hardlink && forget && test "$(cat hardlink)" = new
mkfifo pipe && test -p pipe && mknod null c 1 3 && forget && test -c null
test "$(stat -c %t:%T null)" = 1:3
fails() { want=$1; shift; output=$("$@" 2>&1) && exit 1; case "$output" in *"$want"*) ;; *) echo "$output"; exit 1 ;; esac; }
fails 'File exists' mkdir dir
fails 'not empty' rmdir dir
fails 'No such file' cat missing
n=$(printf 'n%.0s' $(seq 255)) && touch "$n" && fails 'File name too long' touch "${n}n"
"#;

#[test]
fn files_directories_and_links_are_as_on_a_local_disk() {
    let _turn = beside_others();
    let Some(mut mounted) = mounted(&[], "") else {
        return;
    };
    mounted.run(
        r#"
        mkdir -p a/b/c && echo hello >a/b/c/file
        mv a/b/c/file a/moved && test ! -e a/b/c/file && test "$(cat a/moved)" = hello
        echo over >victim && mv a/moved victim && test "$(cat victim)" = hello
        ln victim hardlink && test "$(stat -c %h victim)" = 2 && echo more >>hardlink
        test "$(tail -1 victim)" = more && rm victim && test "$(stat -c %h hardlink)" = 1
        ln -s hardlink soft && sync && echo 3 >/proc/sys/vm/drop_caches && test "$(readlink soft)" = hardlink && test "$(head -1 soft)" = hello
        ln -s nowhere dangling && test -L dangling && test ! -e dangling
        chmod 4751 hardlink && test "$(stat -c %a hardlink)" = 4751
        chown 1234:4321 hardlink && test "$(stat -c %u:%g hardlink)" = 1234:4321
        touch -d '2001-02-03 04:05:06.789 UTC' hardlink
        test "$(TZ=UTC stat -c %y hardlink | cut -c1-23)" = '2001-02-03 04:05:06.789'
        truncate -s 3 hardlink && test "$(cat hardlink)" = hel
        mkfifo pipe && test -p pipe && mknod null c 1 3 && test -c null
        mkdir full && touch full/x && ! rmdir full 2>/dev/null && rm full/x && rmdir full
        ! mkdir a 2>/dev/null && ! cat missing 2>/dev/null
        n=$(printf 'n%.0s' $(seq 255)) && touch "$n" && test -f "$n" && ! touch "${n}n" 2>/dev/null
        exec 3>open && rm open && echo silly >&3 && exec 3>&-
        mv a z && test -d z/b/c
        df . >/dev/null && sync
        rm -rf -- * && test -z "$(ls -A)"
        "#,
    );
    let counts = mounted.end();
    for procedure in [
        "RENAME", "LINK", "SYMLINK", "READLINK", "MKNOD", "SETATTR", "RMDIR",
    ] {
        assert!(
            counts[procedure].as_u64() > Some(0),
            "{procedure}: {counts}"
        );
    }
}

#[test]
fn data_comes_back_as_it_went_also_beyond_4_gib() {
    let _turn = beside_others();
    let Some(mut mounted) = mounted(&["--unstable"], "rsize=65536,wsize=65536") else {
        return;
    };
    mounted.run(
        r#"
        forget() { sync; echo 3 >/proc/sys/vm/drop_caches; }
        dd if=/dev/urandom of=/tmp/data bs=64k count=300 2>/dev/null
        cp /tmp/data one && forget
        test "$(sha256sum <one)" = "$(sha256sum </tmp/data)"
        # at odd places, some of them behind 4 GiB
        for at in 1 4095 1048577 4294967290 5368709121; do
            dd if=/tmp/data of=sparse bs=70001 count=3 seek=$at oflag=seek_bytes conv=notrunc 2>/dev/null
        done
        forget
        test "$(stat -c %s sparse)" = $((5368709121 + 210003))
        want=$(dd if=/tmp/data bs=70001 count=3 2>/dev/null | sha256sum)
        for at in 4294967290 5368709121; do
            got=$(dd if=sparse bs=70001 count=3 skip=$at iflag=skip_bytes 2>/dev/null | sha256sum)
            test "$got" = "$want"
        done
        test "$(dd if=sparse bs=4096 count=1 skip=3221225472 iflag=skip_bytes 2>/dev/null | tr -d '\0' | wc -c)" = 0
        rm one sparse && test -z "$(ls -A)"
        "#,
    );
    let counts = mounted.end();
    assert!(counts["COMMIT"].as_u64() > Some(0), "{counts}");
}

#[test]
fn a_tree_is_built_copied_and_removed() {
    let _turn = beside_others();
    let Some(mut mounted) = mounted(&[], "") else {
        return;
    };
    let output_text = mounted.run(
        r#"
        mkdir src && for i in $(seq 12); do
            printf 'int part%d(int x) { return x * %d; }\n' $i $i >src/part$i.c
            printf 'int part%d(int);\n' $i >>src/parts.h
        done
        { printf '#include "parts.h"\n#include <stdio.h>\nint main(void) { int s = 0;\n'
          for i in $(seq 12); do printf 's += part%d(2);\n' $i; done
          printf 'printf("%%d\\n", s); return 0; }\n'; } >src/main.c
        if command -v cc >/dev/null && command -v make >/dev/null; then
            printf 'OBJ = $(patsubst %%.c,%%.o,$(wildcard *.c))\nprog: $(OBJ)\n\tcc -o $@ $(OBJ)\n' >src/Makefile
            make -s -C src && test "$(src/prog)" = 156 && make -s -C src && echo built
        fi
        # A tree of many directories, files and links, there and back.
        mkdir /tmp/tree && for d in $(seq 20); do
            mkdir /tmp/tree/$d && for f in $(seq 20); do echo "$d $f" >/tmp/tree/$d/$f; done
            ln -s ../$d/1 /tmp/tree/$d/link
        done
        cp -a /tmp/tree copy && (cd copy && tar cf - .) | (mkdir again && cd again && tar xf -)
        sync && echo 3 >/proc/sys/vm/drop_caches
        sums() { (cd "$1" && find . -type f | sort | xargs sha256sum | sha256sum; cd "$1" 2>/dev/null || cd .; ) }
        test "$(sums /tmp/tree)" = "$(sums again)"
        test "$(find again -type l | wc -l)" = 20 && test "$(cat again/7/link)" = "7 1"
        # One directory that takes many READDIRs, read while it is emptied.
        mkdir many && (cd many && seq 3000 | xargs touch) && test "$(ls many | wc -l)" = 3000
        find many -type f -delete && rmdir many
        rm -rf -- * && test -z "$(ls -A)"
        "#,
    );
    println!("{}: {output_text}", PROGRAM);
    mounted.end();
}

/// Debian's kernel supports version 2 over TCP only; its MOUNT goes over UDP here.
#[test]
fn version_2_works_with_the_kernel_s_client() {
    let _turn = beside_others();
    let Some(mut mounted) = mounted_as(NfsVersion::V2, &[], "mountproto=udp") else {
        return;
    };
    let ports = [2049];
    let capture = Capture::start(&mounted.sandbox, mounted.client.interface(), &ports);
    let capture = capture.expect("tshark is installed");
    let script = [
        FILES,
        r#"
        grep -q 'vers=2,.*mountvers=1,.*mountproto=udp' /proc/mounts
        mkdir many && (cd many && seq 200 | xargs touch) && forget
        test "$(ls many | sort -n | tr '\n' ' ')" = "$(seq 200 | tr '\n' ' ')"
        fails 'File too large' dd if=/tmp/data of=big bs=1 count=1 seek=2147483647
        dd if=/tmp/data of=big bs=1 count=1 seek=2147483646 2>/dev/null && test "$(stat -c %s big)" = 2147483647
        df -B4096 --output=size . | grep -q '^ *1048576$'
        exec 3>open && rm open && echo silly >&3 && exec 3>&-
        rm -rf -- * && test -z "$(ls -A)"
        "#,
    ];
    mounted.run(&script.concat());
    let pcap = capture.stop().expect("the capture ends");
    assert_eq!(pcap.malformed().expect("tshark"), 0);
    let calls = pcap.calls_of(2).expect("tshark");
    let counts = mounted.end();
    for (number, procedure) in [
        (1, "GETATTR"),
        (2, "SETATTR"),
        (4, "LOOKUP"),
        (5, "READLINK"),
        (6, "READ"),
        (8, "WRITE"),
        (9, "CREATE"),
        (10, "REMOVE"),
        (11, "RENAME"),
        (12, "LINK"),
        (13, "SYMLINK"),
        (14, "MKDIR"),
        (15, "RMDIR"),
        (16, "READDIR"),
        (17, "STATFS"),
    ] {
        let count = counts[format!("v2 {procedure}")].as_u64();
        assert!(count > Some(0), "{procedure}: {counts}");
        if pcap.dropped() == 0 {
            assert!(
                calls.get(&number) <= count.as_ref(),
                "{procedure}: {calls:?} {counts}"
            );
        }
    }
}

/// A long listing, locks, and a file that is removed while it is open.
const LISTS_AND_LOCKS: &str = r#"
    mkdir many && (cd many && seq 2000 | xargs touch) && forget
    test "$(ls many | sort -n | sha256sum)" = "$(seq 2000 | sha256sum)"
    echo more >>hardlink && flock hardlink true && flock -s hardlink true
    exec 3>open && rm open && echo silly >&3 && exec 3>&-
    df . >/dev/null && forget
"#;

/// Files and locks over version 4.0, without sessions.
#[test]
fn version_40_works_with_the_kernel_s_client() {
    let _turn = beside_others();
    let Some(mut mounted) = mounted_as(NfsVersion::V4, &[], "") else {
        return;
    };
    let capture = Capture::start(&mounted.sandbox, mounted.client.interface(), &[2049]);
    let capture = capture.expect("tshark is installed");
    let script = [
        FILES,
        "grep -q ' /mnt nfs4 .*vers=4\\.0,' /proc/mounts\n",
        LISTS_AND_LOCKS,
        r#"rm -rf -- * && test -z "$(ls -A)""#,
    ];
    mounted.run(&script.concat());
    let pcap = capture.stop().expect("the capture ends");
    assert_eq!(pcap.malformed().expect("tshark"), 0);
    let counts = mounted.end();
    for operation in [
        "SETCLIENTID",
        "SETCLIENTID_CONFIRM",
        "OPEN",
        "CLOSE",
        "LOCK",
        "LOCKU",
        "RELEASE_LOCKOWNER",
        "READ",
        "WRITE",
    ] {
        let count = counts[format!("v4 {operation}")].as_u64();
        assert!(count > Some(0), "{operation}: {counts}");
    }
    assert_eq!(counts["v4 SEQUENCE"].as_u64().unwrap_or_default(), 0);
}

/// Files, locks and, with version 4.2, ranges, over sessions.
#[test]
fn versions_41_and_42_work_with_the_kernels_clients() {
    let _turn = beside_others();
    for kernel in Kernel::present() {
        for version in [NfsVersion::V41, NfsVersion::V42] {
            assert_all_works(kernel, version);
        }
    }
}

fn assert_all_works(kernel: Kernel, version: NfsVersion) {
    let Some(mut mounted) = mounted_with(&client_of(kernel, version), &[]) else {
        return;
    };
    let ports = [2049];
    let capture = Capture::start(&mounted.sandbox, mounted.client.interface(), &ports);
    let capture = capture.expect("tshark is installed");
    let script = [
        FILES,
        "grep -q ' /mnt nfs4 .*vers=4\\.[12],' /proc/mounts\n",
        LISTS_AND_LOCKS,
    ];
    mounted.run(&script.concat());
    if version == NfsVersion::V42 {
        mounted.run(
            r#"
                fallocate -l 1M reserved && test "$(stat -c %s reserved)" = 1048576
                cp /tmp/data source && fallocate -p -o 65536 -l 65536 source && sync
                cp --reflink=always source clone && cmp source clone
                cp --reflink=never --sparse=never source copy && cmp source copy
                test "$(dd if=clone bs=65536 skip=1 count=1 2>/dev/null | tr -d '\0' | wc -c)" = 0
                "#,
        );
    }
    mounted.run(r#"rm -rf -- * && test -z "$(ls -A)""#);
    let pcap = capture.stop().expect("the capture ends");
    assert_eq!(pcap.malformed().expect("tshark"), 0);
    let counts = mounted.end();
    let mut operations = vec![
        "EXCHANGE_ID",
        "CREATE_SESSION",
        "RECLAIM_COMPLETE",
        "OPEN",
        "CLOSE",
        "LOCK",
        "LOCKU",
        "READ",
        "WRITE",
        "READDIR",
        "SETATTR",
    ];
    if version == NfsVersion::V42 {
        operations.extend(["ALLOCATE", "DEALLOCATE", "CLONE"]);
    }
    for operation in operations {
        let count = counts[format!("v4 {operation}")].as_u64();
        assert!(count > Some(0), "{operation}: {counts}");
    }
}

/// The handshakes are those of tlshd, and the ciphers those of the kernel. Linux 6.1 is built without both.
#[test]
fn a_kernels_client_with_tls_works_with_and_without_a_certificate() {
    let _turn = beside_others();
    if !Kernel::V612.is_present() {
        return;
    }
    let certificates = Certificates::new();
    let file = |path: &std::path::Path| path.display().to_string();
    let own = [
        file(&certificates.server.certificate),
        file(&certificates.server.key),
        file(&certificates.server.authorities),
    ];
    let [certificate, key, authorities] = own.each_ref().map(String::as_str);
    let serve = ["--tls-cert", certificate, "--tls-key", key, "--tls-only"];
    let mutual = [&serve[..], &["--tls-client-ca", authorities]].concat();
    for (version, security, args) in [
        (NfsVersion::V3, "tls", &serve[..]),
        (NfsVersion::V41, "tls", &serve),
        (NfsVersion::V42, "tls", &serve),
        (NfsVersion::V42, "mtls", &mutual),
    ] {
        let options = ClientOptions {
            extra: format!("xprtsec={security}"),
            tls: Some(certificates.as_client()),
            ..client_of(Kernel::V612, version)
        };
        let Some(mut mounted) = mounted_with(&options, args) else {
            return;
        };
        let seen = format!("grep -q ' /mnt nfs.*xprtsec={security}' /proc/mounts\n");
        let ciphers = "grep -E 'TlsTxSw|TlsRxSw' /proc/net/tls_stat | grep -vq '[^0-9]0$'\n";
        mounted.run(
            &[
                FILES,
                &seen,
                ciphers,
                r#"rm -rf -- * && test -z "$(ls -A)""#,
            ]
            .concat(),
        );
        mounted.end();
    }
}

/// A kernel client holds delegations, and returns them when the files are changed elsewhere.
#[test]
fn the_kernel_s_client_holds_delegations_and_returns_them() {
    let _turn = beside_others();
    for version in [NfsVersion::V41, NfsVersion::V42] {
        let Some(mut mounted) = mounted_as(version, &["--delegations", "write"], "") else {
            return;
        };
        let ports = [2049];
        let capture = Capture::start(&mounted.sandbox, mounted.client.interface(), &ports);
        let capture = capture.expect("tshark is installed");
        let script = [
            FILES,
            r#"
            opens() { awk '$1 == "OPEN:" || $1 == "OPEN_NOATTR:" { n += $2 } END { print n }' /proc/self/mountstats; }
            cp /tmp/data held && cat held >/dev/null && sync
            before=$(opens) && test "$before" -gt 0
            for i in $(seq 20); do head -c 100 held >/dev/null; done
            echo "opens $before $(opens)"
            test $(($(opens) - before)) -lt 5
            echo more >>held && flock held true && tail -1 held | grep -q more
            mv held moved && rm moved
            "#,
        ];
        println!("{}", mounted.run(&script.concat()));
        mounted.run(r#"rm -rf -- * && test -z "$(ls -A)""#);
        let pcap = capture.stop().expect("the capture ends");
        assert_eq!(pcap.malformed().expect("tshark"), 0);
        let counts = mounted.end();
        let of = |name: &str| counts[name].as_u64().unwrap_or(0);
        let granted = of("delegations_read") + of("delegations_write");
        assert!(granted > 0, "{counts}");
        assert!(of("v4 DELEGRETURN") > 0, "{counts}");
        assert_eq!(of("delegations_revoked"), 0, "{counts}");
    }
}
