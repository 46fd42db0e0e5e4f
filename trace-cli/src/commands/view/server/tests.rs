//! The server for the hosted interface, at any free port: other programs may use the command's
//! port.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::trace::Trace;
use super::*;

const ADDRESS: &str = "https://ui.perfetto.dev/#!/?url=http://";

/// Serves `content` while `ask` runs with its host and path.
fn serving(content: &[u8], ask: impl FnOnce(&str, &str)) {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    let server = Server::listen(&Interface::Own("/none".into()), Some(0)).unwrap();
    let trace = Trace { content: file, name: "a.pftrace".to_owned() };
    let site = Site::new(Interface::Hosted, trace, server.port()).unwrap();
    let address = site.address();
    let place = address.strip_prefix(ADDRESS).unwrap();
    let (host, path) = place.split_once('/').unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| server.run(site, || is_over.load(Ordering::SeqCst)));
        let _end = AtEnd(|| is_over.store(true, Ordering::SeqCst));
        ask(host, &format!("/{path}"));
    });
}

/// Runs a function at the end of a test, even if the test fails.
struct AtEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        self.0();
    }
}

/// Returns the status, the headers and the content of a response.
fn ask(host: &str, line: &str, headers: &str) -> (String, String, Vec<u8>) {
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "{line} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
    let content = answer.split_off(end + 4);
    let head = String::from_utf8(answer).unwrap();
    let (status, headers) = head.split_once("\r\n").unwrap();
    (status.strip_prefix("HTTP/1.1 ").unwrap().to_owned(), headers.to_owned(), content)
}

#[test]
fn the_whole_trace_is_served_repeatedly() {
    let content: Vec<u8> = (0..3_000_000_u32).map(|number| (number / 3) as u8).collect();
    serving(&content, |host, path| {
        for _ in 0..2 {
            let (status, headers, received) =
                ask(host, &format!("GET {path}"), "Origin: https://ui.perfetto.dev\r\n");
            assert_eq!(status, "200 OK");
            assert!(headers.contains("Content-Length: 3000000\r\n"), "{headers}");
            assert!(
                headers.contains("Access-Control-Allow-Origin: https://ui.perfetto.dev\r\n"),
                "{headers}"
            );
            assert!(received == content);
        }
        let (status, headers, received) = ask(host, &format!("HEAD {path}"), "");
        assert_eq!((&*status, received.len()), ("200 OK", 0));
        assert!(headers.contains("Content-Length: 3000000\r\n"), "{headers}");
    });
}

#[test]
fn preflight_requests_are_allowed() {
    serving(b"x", |host, path| {
        let asked = "Origin: https://ui.perfetto.dev\r\nAccess-Control-Request-Method: GET\r\n\
                     Access-Control-Request-Private-Network: true\r\n";
        let (status, headers, _) = ask(host, &format!("OPTIONS {path}"), asked);
        assert_eq!(status, "200 OK");
        for header in [
            "Allow-Origin: https://ui.perfetto.dev",
            "Allow-Methods: GET",
            "Allow-Private-Network: true",
        ] {
            assert!(headers.contains(&format!("Access-Control-{header}\r\n")), "{headers}");
        }
    });
}

#[test]
fn other_requests_get_no_content() {
    serving(b"secret", |host, path| {
        let (directory, name) = path.rsplit_once('/').unwrap();
        let get = |path: &str, headers: &str| ask(host, &format!("GET {path}"), headers);
        let mut answers = vec![
            ("403 Forbidden", get(path, "Origin: https://example.org\r\n")),
            ("403 Forbidden", get(path, "Origin: null\r\n")),
            (
                "403 Forbidden",
                get(path, "Origin: https://example.org\r\nOrigin: https://ui.perfetto.dev\r\n"),
            ),
            ("403 Forbidden", get(path, "Host: example.org\r\n")),
            ("404 Not Found", get(&format!("/{name}"), "")),
            ("404 Not Found", get(&format!("{directory}/"), "")),
            ("404 Not Found", get(&format!("{directory}x/{name}"), "")),
            ("404 Not Found", get(&format!("{path}/../../etc/passwd"), "")),
            ("404 Not Found", get(&format!("http://{host}{path}"), "")),
            ("404 Not Found", ask(host, "OPTIONS /", "")),
            (
                "405 Method Not Allowed",
                ask(host, &format!("POST {path}"), "Content-Length: 3\r\n\r\nabc"),
            ),
            ("400 Bad Request", ask(host, "G(T /", "")),
        ];
        answers.push(("400 Bad Request", get(path, &format!("X: {}\r\n", "x".repeat(20_000)))));
        for (expected, (status, headers, content)) in answers {
            assert_eq!(status, expected);
            assert!(content.is_empty() && !headers.contains("Access-Control"), "{headers}");
        }
    });
}

#[test]
fn a_client_that_leaves_does_not_disturb_the_others() {
    let content = vec![1; 50_000_000];
    serving(&content, |host, path| {
        let mut silent = TcpStream::connect(host).unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut start = [0; 100];
        stream.read_exact(&mut start).unwrap();
        drop(stream);
        silent.write_all(b"GET").unwrap();
        assert_eq!(ask(host, &format!("GET {path}"), "").2.len(), content.len());
        // The server does not wait for a client that does not read.
        write!(silent, " {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    });
}

#[test]
fn the_hosted_interface_requires_its_port() {
    let error = Server::listen(&Interface::Hosted, Some(9002)).unwrap_err().to_string();
    assert!(error.contains("at port 9001 only, not at 9002"), "{error}");
}
