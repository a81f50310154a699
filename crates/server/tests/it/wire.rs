//! What goes over the wire as tshark understands it: both versions, both transports.

use crate::client::{Client, server};
use crate::udp::Sender;
use filermark_onc::nfs2::{self, *};
use filermark_onc::rpc::Call;
use filermark_onc::{mount, mount1, nfs3, portmap, rpcbind};
use filermark_testbed::{Capture, Sandbox, available};
use std::collections::BTreeMap;

const V2: (u32, u32) = (nfs2::PROGRAM, nfs2::VERSION);

/// One call, one reply that is accepted; over whichever transport.
trait Ask {
    fn ask<A: Call, R>(
        &mut self,
        program: (u32, u32),
        args: &A,
        look: impl FnOnce(A::Res<'_>) -> R,
    ) -> R;
}

impl Ask for Client {
    fn ask<A: Call, R>(
        &mut self,
        program: (u32, u32),
        args: &A,
        look: impl FnOnce(A::Res<'_>) -> R,
    ) -> R {
        self.call_program(program, args, look).expect("accepted")
    }
}

impl Ask for Sender {
    fn ask<A: Call, R>(
        &mut self,
        program: (u32, u32),
        args: &A,
        look: impl FnOnce(A::Res<'_>) -> R,
    ) -> R {
        self.call(program, args, look).expect("accepted")
    }
}

/// Each procedure of MOUNT v1, of the portmapper and of NFSv2, most of them once with success and once without.
fn everything(client: &mut impl Ask) {
    let pmap = (portmap::PROGRAM, portmap::VERSION);
    client.ask(pmap, &portmap::DumpArgs {}, |list| assert!(list.len() > 3));
    client.ask((rpcbind::PROGRAM, 4), &rpcbind::DumpArgs {}, |list| {
        assert!(list.len() > 3);
    });
    let mnt1 = (mount1::PROGRAM, mount1::VERSION);
    let path = mount1::MntArgs {
        dirpath: b"/export",
    };
    let root = client.ask(mnt1, &path, |res| {
        *res.expect("mounted").directory.as_bytes()
    });
    let nowhere = mount1::MntArgs { dirpath: b"/" };
    client.ask(mnt1, &nowhere, |res| assert!(res.is_err()));
    client.ask(mnt1, &mount::DumpArgs {}, |list| assert_eq!(list.len(), 1));
    client.ask(mnt1, &mount::ExportArgs {}, |list| {
        assert_eq!(list.len(), 1)
    });
    client.ask(V2, &NullArgs {}, |()| ());
    client.ask(V2, &RootArgs {}, |()| ());
    client.ask(V2, &WritecacheArgs {}, |()| ());
    let dir = Fhandle::new(&root);
    let place = |name: &'static [u8]| Diropargs { dir, name };
    let create = CreateArgs {
        location: place(b"file"),
        attributes: Sattr::mode(0o644),
    };
    let file = client.ask(V2, &create, |res| *res.expect("made").file.as_bytes());
    let file = Fhandle::new(&file);
    files(client, dir, file);
    let mkdir = MkdirArgs {
        location: place(b"dir"),
        attributes: Sattr::mode(0o755),
    };
    client.ask(V2, &mkdir, |res| assert!(res.is_ok()));
    client.ask(V2, &mkdir, |res| assert!(res.is_err()));
    let symlink = SymlinkArgs {
        from: place(b"soft"),
        to: b"file",
        attributes: Sattr::NONE,
    };
    client.ask(V2, &symlink, |res| assert!(res.is_ok()));
    let what = place(b"soft");
    let soft = client.ask(V2, &LookupArgs { what }, |res| {
        *res.expect("found").file.as_bytes()
    });
    let link = ReadlinkArgs {
        file: Fhandle::new(&soft),
    };
    client.ask(V2, &link, |res| assert!(res.is_ok()));
    let to = place(b"second");
    client.ask(V2, &LinkArgs { from: file, to }, |res| assert!(res.is_ok()));
    let (from, to) = (place(b"second"), place(b"third"));
    client.ask(V2, &RenameArgs { from, to }, |res| assert!(res.is_ok()));
    let list = ReaddirArgs {
        dir,
        cookie: 0,
        count: 4096,
    };
    client.ask(V2, &list, |res| {
        assert_eq!(res.expect("list").reply.iter().count(), 6);
    });
    for name in [b"file", b"soft"] {
        let what = place(name);
        client.ask(V2, &RemoveArgs { what }, |res| assert!(res.is_ok()));
    }
    let what = place(b"third");
    client.ask(V2, &RemoveArgs { what }, |res| assert!(res.is_ok()));
    let what = place(b"dir");
    client.ask(V2, &RmdirArgs { what }, |res| assert!(res.is_ok()));
}

fn files(client: &mut impl Ask, dir: Fhandle<'_>, file: Fhandle<'_>) {
    let data = [0x5a; MAXDATA];
    let write = WriteArgs {
        file,
        beginoffset: 0,
        offset: 0,
        totalcount: 0,
        data: &data,
    };
    client.ask(V2, &write, |res| assert!(res.is_ok()));
    let read = ReadArgs {
        file,
        offset: 0,
        count: 8192,
        totalcount: 0,
    };
    client.ask(V2, &read, |res| {
        assert_eq!(res.expect("data").data.len(), MAXDATA);
    });
    let read = ReadArgs { file: dir, ..read };
    client.ask(V2, &read, |res| assert!(res.is_err()));
    client.ask(V2, &GetattrArgs { file }, |res| assert!(res.is_ok()));
    let attributes = Sattr::size(5);
    client.ask(V2, &SetattrArgs { file, attributes }, |res| {
        assert_eq!(res.expect("set").attributes.size, 5);
    });
    client.ask(V2, &StatfsArgs { file }, |res| assert!(res.is_ok()));
}

/// Version 3 with the largest transfers that datagrams have.
fn large(client: &mut impl Ask) {
    let v3 = (nfs3::PROGRAM, nfs3::VERSION);
    let path = mount::MntArgs {
        dirpath: b"/export",
    };
    let root = client.ask((mount::PROGRAM, 3), &path, |res| {
        res.expect("mounted").fhandle.to_fh()
    });
    let location = nfs3::Diropargs3 {
        dir: root.handle(),
        name: b"large",
    };
    let how = nfs3::Createhow3::Unchecked(nfs3::Sattr3::mode(0o644));
    let file = client.ask(v3, &nfs3::CreateArgs { location, how }, |res| {
        res.expect("made").obj.expect("handle").to_fh()
    });
    let data = [0xa5; 32768];
    let write = nfs3::WriteArgs {
        file: file.handle(),
        offset: 0,
        count: 32768,
        stable: nfs3::StableHow::FileSync,
        data: &data,
    };
    client.ask(v3, &write, |res| {
        assert_eq!(res.expect("written").count, 32768)
    });
    let read = nfs3::ReadArgs {
        file: file.handle(),
        offset: 0,
        count: 32768,
    };
    client.ask(v3, &read, |res| {
        assert_eq!(res.expect("read").data.len(), 32768);
    });
}

#[test]
fn tshark_understands_all_of_it() {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let server = sandbox.run(|| server(|o| o.portmap = true));
    let address = server.addrs()[0];
    let Some(capture) = available(Capture::start(&sandbox, "lo", &[address.port()])) else {
        return;
    };
    sandbox.run(|| {
        let (mut tcp, mut udp) = (Client::connect(address), Sender::to(&server));
        everything(&mut tcp);
        everything(&mut udp);
        large(&mut tcp);
        large(&mut udp);
    });
    let pcap = capture.stop().expect("the capture ends");
    assert_eq!((pcap.dropped(), pcap.malformed().expect("tshark")), (0, 0));
    let stats = server.stop();
    let count = |counts: &[u64]| -> BTreeMap<u32, u64> {
        let all = (0..).zip(counts.iter().copied());
        all.filter(|(_, count)| *count > 0).collect()
    };
    assert_eq!(pcap.calls_of(2).expect("tshark"), count(&stats.nfs2));
    assert_eq!(pcap.calls_of(3).expect("tshark"), count(&stats.nfs));
    assert_eq!(count(&stats.nfs2).len(), Procedure::COUNT);
    // No reply is a mystery: of one without its call, tshark would not know the program.
    let replies = |filter: &str| {
        let args = ["-Y", filter, "-T", "fields", "-e", "frame.number"];
        pcap.tshark(&args).expect("tshark").lines().count() as u64
    };
    assert_eq!(replies("udp && rpc.msgtyp == 1"), stats.datagrams);
    assert_eq!(replies("rpc.msgtyp == 1 && !(nfs || mount || portmap)"), 0);
}

/// rpcinfo and showmount are independent clients of the programs around NFS.
#[test]
fn rpcinfo_finds_both_versions_on_both_transports() {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let server = sandbox.run(|| {
        server(|o| {
            o.portmap = true;
            o.listen = vec![([127, 0, 0, 1], portmap::PORT).into()];
        })
    });
    let run = |args: &[&str]| {
        let output = sandbox.command("timeout").arg("20").args(args).output();
        let output = output.expect("rpcbind's and nfs-common's tools");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{args:?}: {stdout} {output:?}");
        stdout
    };
    for transport in ["udp", "tcp"] {
        for (program, version) in [
            ("100003", "2"),
            ("100003", "3"),
            ("100005", "1"),
            ("100005", "3"),
        ] {
            let stdout = run(&["rpcinfo", "-T", transport, "127.0.0.1", program, version]);
            assert!(stdout.contains("ready and waiting"), "{stdout}");
        }
    }
    let table = run(&["rpcinfo", "-p", "127.0.0.1"]);
    assert_eq!(table.matches(" udp ").count(), 7, "{table}");
    let exports = run(&["showmount", "--no-headers", "-e", "127.0.0.1"]);
    assert!(exports.contains("/export (everyone)"), "{exports}");
    assert_eq!(server.stop().refused, 0);
}
