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

/// Lines by number, up to a last one.
struct Numbers(std::ops::Range<u32>, bool);

impl LineStream for Numbers {
    fn next(&mut self, wait: Duration) -> NextLines {
        match (self.0.next(), self.1) {
            (Some(n), _) => NextLines::Text(format!("{n}\n")),
            (None, true) => NextLines::End,
            (None, false) => {
                std::thread::sleep(wait.min(Duration::from_millis(20)));
                NextLines::Wait
            }
        }
    }
}

/// A server of lines that end, and of lines after which it waits.
fn line_server(token: Option<Token>) -> (HttpServer, ServerUrl) {
    let answer = |request: &Request| {
        let ends = request.path == "/ends";
        Response::lines("application/jsonl", Box::new(Numbers(0..1000, ends)))
    };
    let listen = Listen::parse("0").expect("a port");
    let server = HttpServer::start(listen, token, answer).expect("it listens");
    let url = ServerUrl::parse(&format!("http://{}/x", server.address())).expect("its address");
    (server, url)
}

#[test]
fn lines_are_sent_as_they_come_and_to_the_last_one() {
    let (server, url) = line_server(None);
    let wait = Duration::from_millis(50);
    let mut lines = get_lines(&url, "/ends", None, Duration::from_secs(60)).expect("lines");
    let mut text = String::new();
    lines.read_to_string(&mut text).expect("all of them");
    assert!(
        text.starts_with("0\n1\n") && text.ends_with("\n999\n"),
        "{text}"
    );
    // Without an end it waits; the server's end is the end.
    let mut lines = get_lines(&url, "/waits", None, wait).expect("lines");
    let mut part = [0; 64];
    let mut text = Vec::new();
    while !text.ends_with(b"\n999\n") {
        if let Ok(len) = lines.read(&mut part) {
            text.extend_from_slice(&part[..len]);
        }
    }
    let nothing = lines.read(&mut part).expect_err("no more lines");
    let kinds = [std::io::ErrorKind::WouldBlock, std::io::ErrorKind::TimedOut];
    assert!(kinds.contains(&nothing.kind()), "{nothing}");
    let head = ask(&server, b"HEAD /waits HTTP/1.1\r\n\r\n");
    assert_eq!(status(&head), "200");
    assert!(
        !head.contains("Content-Length") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
    drop(server);
    let end = std::iter::repeat_with(|| lines.read(&mut part)).find_map(Result::ok);
    assert_eq!(end, Some(0));
}

#[test]
fn the_number_of_streams_is_limited_and_a_closed_one_does_not_count() {
    let (server, url) = line_server(None);
    let open = || get_lines(&url, "/waits", None, Duration::from_secs(60));
    let readers: Vec<_> = (0..4).map(|_| open().expect("lines")).collect();
    assert!(matches!(open(), Err(GetError::Status(503))));
    drop(readers);
    let again = std::iter::repeat_with(|| {
        std::thread::sleep(Duration::from_millis(20));
        open().ok()
    });
    assert!(again.take(3_000).any(|lines| lines.is_some()));
    drop(server);
    assert!(matches!(open(), Err(GetError::Connection(_))));
}

#[test]
fn the_client_gives_the_token_and_checks_the_answer() {
    let token = Token::new("0123456789abcdef").expect("a token");
    let (_server, url) = line_server(Some(token.clone()));
    let wait = Duration::from_secs(60);
    assert!(matches!(
        get_lines(&url, "/ends", None, wait),
        Err(GetError::Status(401))
    ));
    assert!(get_lines(&url, "/ends", Some(&token), wait).is_ok());
    // Another kind of server, and a head without an end.
    for answer in [
        "SSH-2.0-x\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nX: ".to_owned() + &"x".repeat(9000),
    ] {
        let other = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = other.local_addr().expect("its address").port();
        let sending = std::thread::spawn(move || {
            let (mut stream, _) = other.accept().expect("a client");
            let _ = stream.write_all(answer.as_bytes());
            let _ = stream.read(&mut [0; 1024]);
        });
        let url = ServerUrl::parse(&port.to_string()).expect("a port");
        assert!(matches!(
            get_lines(&url, "/", None, wait),
            Err(GetError::NotHttp)
        ));
        sending.join().expect("it ends");
    }
}

#[test]
fn addresses_of_runs_are_ports_or_urls() {
    let shown = |text| ServerUrl::parse(text).map(|url| url.to_string());
    assert_eq!(shown("9464"), Ok("http://127.0.0.1:9464".into()));
    assert_eq!(
        shown("http://prime-1:9464/metrics?x"),
        Ok("http://prime-1:9464".into())
    );
    assert_eq!(shown("http://[::1]:9464"), Ok("http://[::1]:9464".into()));
    for bad in [
        "",
        "0",
        "70000",
        "prime:9464",
        "http://prime",
        "http://:9464",
        "https://prime:9464",
        "http://u@prime:9464",
        "http://a b:1",
        "http://[x]:1",
        "http://a\r\nb:1",
        "http://::1:9464",
    ] {
        let why = shown(bad).expect_err(bad);
        assert!(why.contains("9464"), "{why}");
    }
}
