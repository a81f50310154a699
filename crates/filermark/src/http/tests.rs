//! The server over real connections.

use super::*;
use std::io::{Read, Write};
use std::net::TcpStream;

fn server(token: Option<Token>) -> HttpServer {
    let listen = Listen::parse("0").expect("a port");
    let answer = |request: &Request| match request.path.as_str() {
        "/here" => Response::of("text/plain", "content".into()),
        _ => Response::text(404, "nothing here"),
    };
    HttpServer::start(listen, token, answer).expect("it listens")
}

fn ask(server: &HttpServer, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address()).expect("connected");
    stream.write_all(request).expect("written");
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    text
}

fn status(text: &str) -> &str {
    text.split(' ').nth(1).unwrap_or_default()
}

#[test]
fn only_get_and_head_of_this_host_are_answered() {
    let server = server(None);
    let get = ask(
        &server,
        b"GET /here?x=1 HTTP/1.1\r\nHost: localhost:1\r\n\r\n",
    );
    assert_eq!(status(&get), "200");
    assert!(get.ends_with("\r\n\r\ncontent"), "{get}");
    let head = ask(&server, b"HEAD /here HTTP/1.1\r\nHost: 127.0.0.1:9\r\n\r\n");
    assert!(
        head.contains("Content-Length: 7") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
    for (request, wanted) in [
        ("GET /other HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "404"),
        ("POST /here HTTP/1.1\r\n\r\n", "405"),
        ("GET /here HTTP/1.1\r\nHost: example.org\r\n\r\n", "403"),
        ("no request\r\n\r\n", "400"),
        ("\u{0}\u{1}\u{2}\r\n\r\n", "400"),
    ] {
        assert_eq!(
            status(&ask(&server, request.as_bytes())),
            wanted,
            "{request:?}"
        );
    }
}

#[test]
fn a_request_has_limits() {
    let server = server(None);
    let mut long = b"GET /here HTTP/1.1\r\nX: ".to_vec();
    long.resize(8 << 10, b'x');
    assert_eq!(status(&ask(&server, &long)), "400");
    // More headers than are read.
    let many = format!("GET /here HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(100));
    assert_eq!(status(&ask(&server, many.as_bytes())), "400");
    // Connections that send nothing do not stop the server; beyond the limit it says so.
    let idle: Vec<TcpStream> = (0..8)
        .map(|_| TcpStream::connect(server.address()).expect("connected"))
        .collect();
    let busy = ask(&server, b"");
    assert_eq!(status(&busy), "503", "{busy}");
    drop(idle);
}

#[test]
fn a_token_is_needed_where_there_is_one() {
    let token = Token::new("0123456789abcdef\n").expect("a token");
    assert!(!format!("{token:?}").contains("0123"));
    let server = server(Some(token));
    let with = |line: &str| {
        ask(
            &server,
            format!("GET /here HTTP/1.1\r\n{line}\r\n").as_bytes(),
        )
    };
    assert_eq!(
        status(&with("Authorization: Bearer 0123456789abcdef\r\n")),
        "200"
    );
    assert_eq!(
        status(&with("authorization: bearer 0123456789abcdef\r\n")),
        "200"
    );
    for wrong in [
        "",
        "Authorization: Bearer 0123456789abcdee\r\n",
        "Authorization: Basic 0123456789abcdef\r\n",
        "Authorization: Bearer 0123456789abcdef0\r\n",
    ] {
        let refused = with(wrong);
        assert_eq!(status(&refused), "401", "{wrong}");
        assert!(refused.contains("WWW-Authenticate: Bearer"), "{refused}");
    }
    for bad in ["", "short", "with a space in it", "\u{e4}123456789abcdef"] {
        assert!(Token::new(bad).is_err(), "{bad}");
    }
}

#[test]
fn addresses_are_ports_or_pairs() {
    let shown = |text| Listen::parse(text).map(|l| (l.0.to_string(), l.is_local()));
    assert_eq!(shown("9464"), Ok(("127.0.0.1:9464".into(), true)));
    assert_eq!(shown("localhost:9464"), Ok(("127.0.0.1:9464".into(), true)));
    assert_eq!(shown("[::1]:9464"), Ok(("[::1]:9464".into(), true)));
    assert_eq!(shown("0.0.0.0:9464"), Ok(("0.0.0.0:9464".into(), false)));
    for bad in ["", ":9464", "70000", "host", "host:1", "-1"] {
        assert!(Listen::parse(bad).is_err(), "{bad}");
    }
}
