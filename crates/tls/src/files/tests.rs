use super::*;
use crate::Answer;
use filermark_tls::testing::Authority;
use tempfile::TempDir;

fn request() -> StartRequest {
    StartRequest {
        bytes: Vec::new(),
        judge: |_| Answer::Incomplete,
    }
}

fn client(authorities: &Path, own: Option<(&Path, &Path)>, name: &str) -> String {
    let files = ClientFiles {
        authorities: authorities.to_owned(),
        own: own.map(|(certificate, key)| (certificate.to_owned(), key.to_owned())),
    };
    let read = files.read(name, b"test", request());
    read.map_or_else(|error| error.to_string(), |tls| tls.server_name())
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let dir = TempDir::new().unwrap();
    let ca = Authority::new(dir.path(), "ca").unwrap();
    let (one, two) = (
        ca.sign("one", &["a"]).unwrap(),
        ca.sign("two", &["b"]).unwrap(),
    );
    let own = Some((one.certificate.as_path(), one.key.as_path()));
    assert_eq!(client(ca.file(), own, "nas.test"), "nas.test");
    assert_eq!(client(ca.file(), own, "192.0.2.7"), "192.0.2.7");
    assert_eq!(client(ca.file(), own, "2001:db8::1"), "2001:db8::1");

    let missing = dir.path().join("missing.pem");
    let text = client(&missing, None, "a");
    assert!(
        text.contains("cannot read") && text.contains("missing.pem"),
        "{text}"
    );
    assert!(!text.contains("os error"), "{text}");
    let text = client(&one.key, None, "a");
    assert!(
        text.ends_with("one.key has no certificate (PEM, BEGIN CERTIFICATE)"),
        "{text}"
    );
    let text = client(ca.file(), Some((&one.certificate, ca.file())), "a");
    assert!(text.contains("ca.pem has no private key"), "{text}");
    let text = client(ca.file(), Some((&one.certificate, &two.key)), "a");
    assert!(
        text.contains("is not the certificate of the private key") && text.ends_with("two.key"),
        "{text}"
    );
    let text = client(ca.file(), None, "a name");
    assert!(text.contains("'a name' is neither"), "{text}");
    let long = dir.path().join("long.pem");
    std::fs::write(&long, vec![b'x'; 2 << 20]).unwrap();
    assert!(client(&long, None, "a").contains("longer than 1 MiB"));
}

#[test]
fn a_server_needs_a_pair_and_may_have_authorities_of_clients() {
    let dir = TempDir::new().unwrap();
    let ca = Authority::new(dir.path(), "ca").unwrap();
    let (one, two) = (
        ca.sign("one", &["a"]).unwrap(),
        ca.sign("two", &["b"]).unwrap(),
    );
    let files = ServerFiles {
        certificate: one.certificate.clone(),
        key: one.key.clone(),
        client_authorities: Some(ca.file().to_owned()),
        client_optional: true,
    };
    assert!(files.read(b"test").is_ok());
    let other = ServerFiles {
        key: two.key,
        ..files.clone()
    };
    assert!(other.read(b"test").is_err());
    let empty = ServerFiles {
        client_authorities: Some(one.key.clone()),
        ..files
    };
    assert!(
        empty
            .read(b"test")
            .unwrap_err()
            .to_string()
            .contains("no certificate")
    );
}
