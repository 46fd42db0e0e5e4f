//! Clients that do not follow the protocol, and those of other users.

use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use trace_insntrace::controller::Status;
use trace_insntrace::service::{Client, Error};
use trace_protocol::socket::Socket;

use crate::processes::{argument, SOCKET};
use crate::required::lacks;
use crate::target::{wait_until, Target};
use crate::{fails, Running, THREADS};

/// Opens the connection of a client, without the client.
fn open(service: &Running) -> Socket {
    let socket = Socket::connect(&service.path()).unwrap();
    let (mut packet, mut descriptors) = ([0; 4], Vec::new());
    assert_eq!(socket.recv_with_fds(&mut packet, &mut descriptors).unwrap(), 4);
    assert_eq!((packet, descriptors.len()), ([0; 4], 1));
    Socket::from_packets(descriptors.remove(0)).unwrap()
}

/// Sends a packet of numbers, and returns the status of the reply.
fn call(connection: &Socket, packet: &[u8]) -> i32 {
    connection.send(packet, &[]).unwrap();
    let mut reply = [0; 128];
    let size = connection.recv(&mut reply).unwrap();
    assert!(size >= 8 && reply[..4] == packet[..4]);
    i32::from_le_bytes(reply[4..8].try_into().unwrap())
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn a_packet_that_is_not_a_call_closes_the_connection() {
    let service = Running::start();
    let hostile = [
        words(&[0]),
        words(&[15]),
        words(&[u32::MAX, 1, 2]),
        vec![11],
        vec![11, 0, 0],
        vec![11, 0, 0, 0, 0],
        words(&[7]),
        words(&[7, 0, 0]),
        vec![11; 128],
        vec![11; 129],
        vec![11; 100_000],
        Vec::new(),
    ];
    for packet in hostile {
        let mut target = Target::start();
        let connection = open(&service);
        assert_eq!(call(&connection, &[1, 0, 0, 0, 1, 4, 0]), 0);
        let config = words(&[4, 16, 2]);
        let rest = [&[0][..], &0x240c_u64.to_le_bytes(), &[0; 40]].concat();
        assert_eq!(call(&connection, &[config, rest].concat()), 0);
        let thread = target.thread().0 as u32;
        assert_eq!(call(&connection, &words(&[5, 0, thread, 0])), 0);
        assert_eq!(call(&connection, &words(&[11])), 0);
        assert!(target.is_traced());
        target.write_lines(3);
        connection.send(&packet, &[]).unwrap();
        assert_eq!(connection.recv(&mut [0; 8]).unwrap_or(0), 0, "{} bytes", packet.len());
        wait_until(|| !target.is_traced());
        target.finish();
    }
    wait_until(|| Client::connect(&service.path()).is_ok());
}

#[test]
fn a_client_that_reads_no_replies_blocks_only_itself() {
    let service = Running::start();
    let connection = open(&service);
    connection.set_nonblocking(true);
    while connection.send(&words(&[3]), &[]).is_ok() {}
    fails(Client::connect(&service.path()), Status::AlreadyBound);
    drop(connection);
    wait_until(|| Client::connect(&service.path()).is_ok());
}

#[test]
fn a_peer_that_leaves_at_once_is_harmless() {
    let service = Running::start();
    for _ in 0..100 {
        drop(Socket::connect(&service.path()).unwrap());
    }
    wait_until(|| Client::connect(&service.path()).is_ok());
    wait_until(|| {
        let client = Client::connect(&service.path());
        client.is_ok_and(|client| client.initialize(THREADS).is_ok())
    });
}

#[test]
#[ignore = "a process of another test"]
fn client_of_another_user() {
    let Some(path) = argument(SOCKET) else { return };
    match Client::connect(&path) {
        Err(Error::Status(status)) => println!("refused: {}", status.name()),
        other => println!("{other:?}"),
    }
}

#[test]
fn another_user_is_refused() {
    if !rustix::process::getuid().is_root() {
        return lacks("root, to run a client as another user");
    }
    let service = Running::start();
    let folder = service.folder.path();
    let open = |path: &std::path::Path, mode| {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    // The socket's own permission must not be what refuses the client.
    open(folder, 0o755);
    open(&service.path(), 0o666);
    let program = folder.join("client");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    open(&program, 0o755);
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program);
    command.args(["hostile::client_of_another_user", "--exact", "--ignored", "--nocapture"]);
    command.env(SOCKET, service.path()).current_dir("/").stdout(Stdio::piped());
    let mut client = command.spawn().unwrap();
    let mut output = String::new();
    client.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    client.wait().unwrap();
    assert!(output.contains("refused: ACCESS_DENIED"), "{output}");
    service.connect().initialize(THREADS).unwrap();
}
