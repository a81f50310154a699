//! Many requests at once: order, back-pressure, fragments, several connections.

use crate::client::{Client, results, server};
use filermark_onc::nfs3::*;
use filermark_onc::record::append_fragments;

#[test]
fn a_batch_is_answered_in_order_however_it_is_cut() {
    let server = server(|_| ());
    let (mut client, root) = Client::mounted(&server);
    let mut bytes = Vec::new();
    for _ in 0..300 {
        let record = client
            .bytes_of(&GetattrArgs {
                object: root.handle(),
            })
            .split_off(4);
        append_fragments(&mut bytes, &record, 1 + client.xid as usize % 120);
    }
    let first = client.xid - 299;
    for piece in bytes.chunks(1009) {
        client.send(piece);
    }
    for xid in first..=client.xid {
        let record = client.receive().expect("reply");
        assert!(
            results::<GetattrRes>(&record, xid)
                .expect("accepted")
                .is_ok()
        );
    }
    assert_eq!(server.stats().of(Procedure::Getattr), 300);
}

#[test]
fn a_client_that_does_not_read_is_not_read() {
    let server = server(|_| ());
    let (mut client, root) = Client::mounted(&server);
    let file = client.create(root, "f");
    let content: Vec<u8> = (0..1 << 20).map(|i: u32| (i / 1000) as u8).collect();
    client
        .write(file, 0, &content, StableHow::FileSync)
        .expect("write");
    // 400 MiB of replies: far beyond what sockets and server may hold.
    let mut bytes = Vec::new();
    for _ in 0..400 {
        bytes.extend(client.bytes_of(&ReadArgs {
            file: file.handle(),
            offset: 0,
            count: 1 << 20,
        }));
    }
    let first = client.xid - 399;
    client.send(&bytes);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let served = server.stats().of(Procedure::Read);
    assert!(
        served < 100,
        "{served} READs served for a client that takes nothing"
    );
    for xid in first..=client.xid {
        let record = client.receive().expect("reply");
        let ok = results::<ReadRes<'_>>(&record, xid)
            .expect("accepted")
            .expect("read");
        assert!(ok.data == content);
    }
    assert_eq!(server.stats().of(Procedure::Read), 400);
}

#[test]
fn connections_share_one_file_system() {
    let server = server(|o| o.threads = 3);
    let (mut client, root) = Client::mounted(&server);
    let address = server.addrs()[0];
    let threads: Vec<_> = (0..8)
        .map(|who| {
            std::thread::spawn(move || {
                let mut client = Client::connect(address);
                let dir = client.mkdir(root, &format!("d{who}")).expect("mkdir");
                for i in 0..100 {
                    let file = client.create(dir, &format!("f{i}"));
                    let data = vec![who; 3000 + i];
                    client
                        .write(file, 0, &data, StableHow::FileSync)
                        .expect("write");
                    assert_eq!(client.read(file, 0, 1 << 20), Ok((data, true)));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("thread");
    }
    assert_eq!(client.getattr(root).map(|a| a.nlink), Ok(10));
    let stats = server.stop();
    assert_eq!(
        (stats.of(Procedure::Create), stats.of(Procedure::Write)),
        (800, 800)
    );
    assert_eq!((stats.of(Procedure::Mkdir), stats.connections), (8, 9));
}

#[test]
fn a_stopped_server_is_gone() {
    let server = server(|_| ());
    let (mut client, _) = Client::mounted(&server);
    let address = server.addrs()[0];
    drop(server);
    assert_eq!(client.receive(), None);
    assert!(std::net::TcpStream::connect(address).is_err());
}
