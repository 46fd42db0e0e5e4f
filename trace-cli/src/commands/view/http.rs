//! A subset of HTTP: one request and one response per connection.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use rustix::fs::sendfile;
use rustix::io::Errno;

/// The limits of a request's head, in bytes and headers. Browsers send a tenth of that.
const HEAD_BYTES: usize = 16 << 10;
const HEADERS: usize = 100;

/// The read timeout: browsers open connections ahead of time.
const PATIENCE: Duration = Duration::from_secs(10);

/// The headers of all responses.
const ALWAYS: &str = "Connection: close\r\nCache-Control: no-store\r\n\
                      X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n";

/// The head of a request. A body is ignored.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    /// The header `Host`, if there is exactly one.
    pub(super) host: Option<String>,
    /// The headers `Origin`. Browsers send at most one.
    pub(super) origins: Vec<String>,
}

impl Request {
    /// Reads a request. The error kind `InvalidData` means malformed bytes. After other errors the
    /// client is gone.
    pub(super) fn read(mut stream: &TcpStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut head = Vec::new();
        let mut piece = [0; 2048];
        while head.len() < HEAD_BYTES {
            let count = stream.read(&mut piece)?;
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            head.extend(piece.iter().take(count));
            match Self::parse(&head) {
                Ok(Some(request)) => return Ok(request),
                Ok(None) => {}
                Err(error) => return Err(io::Error::new(ErrorKind::InvalidData, error)),
            }
        }
        Err(ErrorKind::InvalidData.into())
    }

    /// Returns the request that starts with these bytes, or `None` if its head is incomplete.
    fn parse(head: &[u8]) -> Result<Option<Self>, httparse::Error> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        if parsed.parse(head)?.is_partial() {
            return Ok(None);
        }
        let headers = |name: &str| -> Vec<String> {
            let found = parsed.headers.iter().filter(|it| it.name.eq_ignore_ascii_case(name));
            found.map(|header| String::from_utf8_lossy(header.value).into_owned()).collect()
        };
        let only = |values: Vec<String>| <[String; 1]>::try_from(values).ok().map(|[value]| value);
        Ok(Some(Self {
            method: parsed.method.unwrap_or_default().to_owned(),
            path: parsed.path.unwrap_or_default().to_owned(),
            host: only(headers("host")),
            origins: headers("origin"),
        }))
    }
}

/// A response.
#[derive(Debug)]
pub(super) struct Response {
    status: &'static str,
    headers: String,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Text(String),
    File(File),
}

impl Response {
    /// Returns a response without content, such as `404 Not Found`.
    pub(super) fn status(status: &'static str) -> Self {
        Self { status, headers: String::new(), body: Body::Text(String::new()) }
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { body: Body::Text(text.into()), ..Self::status("200 OK") }
    }

    pub(super) fn file(file: File) -> Self {
        Self { body: Body::File(file), ..Self::status("200 OK") }
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.extend([name, ": ", value, "\r\n"]);
        self
    }

    /// Writes the response, without its content if `is_head`, and ends the connection.
    pub(super) fn write(&self, mut stream: &TcpStream, is_head: bool) -> io::Result<()> {
        let length = match &self.body {
            Body::Text(text) => text.len() as u64,
            Body::File(file) => file.metadata()?.len(),
        };
        let Self { status, headers, .. } = self;
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{ALWAYS}{headers}\r\n");
        stream.write_all(head.as_bytes())?;
        match &self.body {
            _ if is_head => {}
            Body::Text(text) => stream.write_all(text.as_bytes())?,
            Body::File(file) => send(file, stream, length)?,
        }
        end(stream)
    }
}

/// Writes a file from its start. The file position is shared with other connections, so it is not
/// used.
fn send(file: &File, stream: &TcpStream, length: u64) -> io::Result<()> {
    let mut offset = 0;
    while offset < length {
        let rest = usize::try_from(length - offset).unwrap_or(usize::MAX);
        match sendfile(stream, file, Some(&mut offset), rest) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Waits until the client has closed too. Closing a socket with unread input would reset the
/// connection before the client has read the response.
fn end(stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    io::copy(&mut stream.take(HEAD_BYTES as u64), &mut io::sink())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_request() {
        let head = b"GET /a?b HTTP/1.1\r\nhost: x:1\r\nOrigin: http://x:1\r\n\r\n";
        let request = Request {
            method: "GET".to_owned(),
            path: "/a?b".to_owned(),
            host: Some("x:1".to_owned()),
            origins: vec!["http://x:1".to_owned()],
        };
        assert_eq!(Request::parse(head), Ok(Some(request)));
        for end in 0..head.len() {
            assert_eq!(Request::parse(&head[..end]), Ok(None), "{end}");
        }
    }

    #[test]
    fn repeated_headers() {
        let head = b"GET / HTTP/1.1\r\nHost: a\r\nHOST: b\r\nOrigin: c\r\norigin: d\r\n\r\n";
        let request = Request::parse(head).unwrap().unwrap();
        assert_eq!((request.host, request.origins), (None, vec!["c".to_owned(), "d".to_owned()]));
    }

    #[test]
    fn malformed_requests_are_refused() {
        for wrong in [
            &b"\x16\x03\x01\x02\0"[..],
            b"GET\r\n\r\n",
            b"GET / HTTP/9\r\n\r\n",
            b"G\0 / HTTP/1.1\r\n\r\n",
        ] {
            assert!(Request::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
