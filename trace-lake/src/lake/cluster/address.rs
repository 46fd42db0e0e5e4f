//! Addresses of processes, and whether a cluster is ready.

use std::time::Duration;

use anyhow::{anyhow, bail, Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::message::HINT;
use crate::usage::UsageError;

/// The time that a scheduler has to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The bytes of the answer that are read.
const ANSWER_BYTES: u64 = 4096;

/// Divides `HOST:PORT`. The brackets of an IPv6 address stay.
pub(super) fn host_and_port(address: &str) -> Result<(&str, u16), UsageError> {
    let parts = address.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    let parts = parts.and_then(|(host, port)| Some((host, port.parse().ok()?)));
    parts.ok_or_else(|| UsageError(format!("{address} is not an address as HOST:PORT")))
}

/// Fails if no scheduler answers at an address, or if it has no executor.
pub(super) async fn check_ready(scheduler: &str) -> Result<()> {
    host_and_port(scheduler)?;
    let status = timeout(TIMEOUT, status_of(scheduler)).await;
    let status = status.map_err(|_| anyhow!("no answer within {} s", TIMEOUT.as_secs()));
    let status = status.and_then(|status| status).with_context(|| {
        format!(
            "cannot reach the scheduler at {scheduler}{HINT}`trace lake scheduler` starts one, and \
             `trace lake executor` the executors"
        )
    })?;
    match status {
        200 => Ok(()),
        503 => bail!(
            "the scheduler at {scheduler} has no executor\
             {HINT}`trace lake executor --scheduler {scheduler}` starts one"
        ),
        _ => bail!("{scheduler} is not a scheduler of `trace lake`"),
    }
}

/// Returns the status of the scheduler's answer to whether it is ready, or 0 for another answer.
async fn status_of(scheduler: &str) -> Result<u16> {
    let mut stream = TcpStream::connect(scheduler).await?;
    let request = format!("GET /readyz HTTP/1.0\r\nHost: {scheduler}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let mut words = answer.split_ascii_whitespace();
    let is_http = words.next().is_some_and(|word| word.starts_with("HTTP/"));
    Ok(words.next().filter(|_| is_http).and_then(|word| word.parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Returns the message about a scheduler that answers so.
    fn message(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let runtime = crate::session::runtime().unwrap();
        let ready = runtime.block_on(check_ready(&address));
        server.join().unwrap();
        ready.map_or_else(|error| format!("{error:#}"), |()| "ready".to_owned())
    }

    #[test]
    fn a_cluster_is_ready_if_its_scheduler_has_an_executor() {
        assert_eq!(message("HTTP/1.0 200 OK\r\n\r\nready"), "ready");
        assert!(message("HTTP/1.0 503 x\r\n\r\n").contains("has no executor"));
        assert!(message("HTTP/1.0 404 x\r\n\r\n").contains("is not a scheduler"));
        assert!(message("SSH-2.0-x\r\n").contains("is not a scheduler"));
        assert!(message("").contains("is not a scheduler"));
    }

    #[test]
    fn a_missing_scheduler_is_reported() {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let runtime = crate::session::runtime().unwrap();
        let error = format!("{:#}", runtime.block_on(check_ready(&address)).unwrap_err());
        assert!(error.contains(&format!("cannot reach the scheduler at {address}")), "{error}");
    }

    #[test]
    fn an_address_has_a_host_and_a_port() {
        assert_eq!(host_and_port("a.b:5").unwrap(), ("a.b", 5));
        assert_eq!(host_and_port("[::1]:50050").unwrap(), ("[::1]", 50050));
        for wrong in ["", "a", "a:", ":5", "a:x", "a:70000"] {
            assert!(host_and_port(wrong).is_err(), "{wrong}");
        }
    }
}
