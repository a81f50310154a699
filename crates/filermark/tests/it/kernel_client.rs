//! The Linux kernel's NFS client on `filermark serve`.

use crate::sweep::{PROGRAM, Started, Sweep};
use crate::turns::beside_others;
use filermark_testbed::{Export, KernelClient, Sandbox, available};
use rustix::process::Signal;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(90);

struct Mounted {
    client: KernelClient,
    server: Started,
}

/// Boots a client that has a fresh `filermark serve` mounted.
fn mounted(args: &[&str], mount_options: &str) -> Option<Mounted> {
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
        path_v4: None,
    };
    let client = available(KernelClient::start(&sandbox, &export, mount_options))?;
    Some(Mounted { client, server })
}

impl Mounted {
    /// Runs a script that must succeed; gives what it printed.
    #[track_caller]
    fn run(&mut self, script: &str) -> String {
        let script = format!("set -eu\n{script}");
        let done = self.client.run(&script, LIMIT).expect("the script runs");
        assert_eq!(done.status, 0, "{script}\n{}", done.output);
        done.output
    }

    /// Ends the server, which must be well.
    fn end(self) -> serde_json::Value {
        drop(self.client);
        self.server.signal(Signal::INT);
        let ended = self.server.wait();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        ended.json()
    }
}

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
        ln victim twin && test "$(stat -c %h victim)" = 2 && echo more >>twin
        test "$(tail -1 victim)" = more && rm victim && test "$(stat -c %h twin)" = 1
        ln -s twin soft && sync && echo 3 >/proc/sys/vm/drop_caches && test "$(readlink soft)" = twin && test "$(head -1 soft)" = hello
        ln -s nowhere dangling && test -L dangling && test ! -e dangling
        chmod 4751 twin && test "$(stat -c %a twin)" = 4751
        chown 1234:4321 twin && test "$(stat -c %u:%g twin)" = 1234:4321
        touch -d '2001-02-03 04:05:06.789 UTC' twin
        test "$(TZ=UTC stat -c %y twin | cut -c1-23)" = '2001-02-03 04:05:06.789'
        truncate -s 3 twin && test "$(cat twin)" = hel
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
    let said = mounted.run(
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
    println!("{}: {said}", PROGRAM);
    mounted.end();
}
