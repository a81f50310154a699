use super::*;
use filermark_tls::testing::{Authority, accept};
use filermark_tls::{Answer, ClientFiles, ServerFiles, StartRequest};
use std::net::TcpListener;

const HELLO: &[u8] = b"hello?";
const GO: &[u8] = b"go";

/// The reply in front of a record that breaks the session, in one read; then the error, although no more comes.
#[test]
fn a_reply_in_front_of_a_bad_record_is_read() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let authority = Authority::new(dir.path(), "ca").expect("written");
    let own = authority.sign("server", &["server.test"]).expect("written");
    let files = ServerFiles {
        certificate: own.certificate,
        key: own.key,
        client_authorities: None,
        client_optional: false,
    };
    let server = files.read(b"test").expect("files of the server");
    let request = StartRequest {
        bytes: HELLO.to_vec(),
        judge: |came| match came.len() < GO.len() {
            true => Answer::Incomplete,
            false => Answer::Yes(GO.len()),
        },
    };
    let files = ClientFiles {
        authorities: authority.file().to_owned(),
        own: None,
    };
    let client = files.read("server.test", b"test", request);
    let client = client.expect("files of the client");
    let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
    let address = listener.local_addr().expect("address");
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut channel = accept(&mut stream, &server, HELLO.len(), GO).expect("a handshake");
        let mut out = Vec::new();
        channel.seal(b"reply", &mut out).expect("sealed");
        out.extend_from_slice(&[23, 3, 3, 0, 20]);
        out.extend_from_slice(&[9; 20]);
        stream.write_all(&out).expect("sent");
        let mut alert = Vec::new();
        stream.read_to_end(&mut alert).expect("the end");
        alert
    });
    let mut stream = TcpStream::connect(address).expect("connect");
    let limit = Duration::from_secs(120);
    let secure = SecureStream::open(&client, address, &mut stream, limit);
    let (mut secure, mut plain) = (secure.expect("a handshake"), Vec::new());
    stream.set_read_timeout(Some(limit)).expect("a time-out");
    let error = loop {
        match secure.read(&mut stream, &mut plain) {
            Ok(came) => assert_ne!(came, 0, "the server has closed the connection"),
            Err(error) => break error,
        }
    };
    assert_eq!(plain, b"reply");
    let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref());
    assert!(matches!(of_tls, Some(TlsError::Broken(_))), "{error}");
    drop((secure, stream));
    // One alert: header, two bytes, content type, tag.
    assert_eq!(thread.join().expect("the server").len(), 5 + 2 + 1 + 16);
}
