//! Messages to the service manager: see sd_notify(3).

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Sends a message, if a service manager waits for it. Errors are ignored, as by sd_notify(3).
pub(super) fn send(message: &str) {
    if let Some(socket) = env::var_os("NOTIFY_SOCKET") {
        let _sent = send_to(&socket, message);
    }
}

fn send_to(socket: &OsStr, message: &str) -> io::Result<usize> {
    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(message.as_bytes(), &address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_arrives_at_paths_and_abstract_names() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let abstract_name = format!("@trace-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name[1..]).unwrap();
        let (first, second) =
            (UnixDatagram::bind(&path).unwrap(), UnixDatagram::bind_addr(&address).unwrap());
        for (receiver, name) in [(first, path.as_os_str()), (second, abstract_name.as_ref())] {
            send_to(name, "READY=1").unwrap();
            let mut received = [0; 16];
            let length = receiver.recv(&mut received).unwrap();
            assert_eq!(&received[..length], b"READY=1");
        }
    }
}
