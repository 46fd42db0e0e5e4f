//! The user at the other end of a connection.

use std::fs;
use std::net::{SocketAddr, TcpStream};

use rustix::process::geteuid;

/// The kernel's tables of connections. The second also has sockets for both IPv4 and IPv6.
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// How often the tables are read: a read may miss a line while connections open and close.
const TRIES: usize = 3;

/// Returns whether the other end of a local connection is a socket of this user or of root. Returns
/// false if the kernel does not list the socket.
pub(super) fn is_of_this_user(stream: &TcpStream) -> bool {
    let (Ok(own), Ok(peer)) = (stream.local_addr(), stream.peer_addr()) else { return false };
    let users = [geteuid().as_raw(), 0];
    (0..TRIES).find_map(|_| owner(peer, own)).is_some_and(|owner| users.contains(&owner))
}

/// Returns the owner of the socket at `local` that is connected to `remote`.
fn owner(local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    let [SocketAddr::V4(local), SocketAddr::V4(remote)] = [local, remote] else { return None };
    let ends = [local, remote];
    TABLES.iter().find_map(|path| {
        let table = fs::read_to_string(path).ok()?;
        table.lines().find_map(|line| owner_in(line, ends.map(|end| ends_with(&end))))
    })
}

/// Returns the end of an address in the tables: the IPv4 address in native byte order, and the
/// port.
fn ends_with(address: &std::net::SocketAddrV4) -> String {
    format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port())
}

/// Returns the owner in a line of a table (proc_net_tcp(5)), if the line is for this connection.
///
/// A socket that its process has closed has no inode and no owner.
fn owner_in(line: &str, [local, remote]: [String; 2]) -> Option<u32> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, from, to, _, _, _, _, user, _, inode, ..] = fields[..] else { return None };
    let is_it = from.ends_with(&local) && to.ends_with(&remote) && inode != "0";
    is_it.then(|| user.parse().ok())?
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_line_has_the_owner_of_the_socket() {
        let line = "   4: 0100007F:A0D2 0100007F:2329 01 00000000:00000000 00:00000000 00000000  \
                    1000        0 8401 1 0000000000000000 20 4 30 10 -1";
        let ends =
            ["127.0.0.1:41170", "127.0.0.1:9001"].map(|end| ends_with(&end.parse().unwrap()));
        assert_eq!(owner_in(line, ends.clone()), Some(1000));
        let [local, remote] = ends.clone();
        assert_eq!(owner_in(line, [remote, local]), None, "that is the other end");
        let mapped = line.replace("0100007F", "0000000000000000FFFF00000100007F");
        assert_eq!(owner_in(&mapped, ends.clone()), Some(1000));
        assert_eq!(owner_in(&line.replace("8401", "0"), ends.clone()), None, "it is closed");
        assert_eq!(owner_in("  sl  local_address rem_address   st", ends), None);
    }

    #[test]
    fn the_tests_own_connection_is_this_users() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        assert!(is_of_this_user(&stream));
    }
}
