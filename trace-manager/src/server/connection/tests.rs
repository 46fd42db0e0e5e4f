use std::time::Duration;

use super::*;

fn pair() -> (Connection, Socket) {
    let (ours, theirs) = Socket::packet_pair().unwrap();
    (Connection::new(ours, |_| Closer::default()).unwrap(), theirs)
}

fn register(name: &str) -> ToManager {
    ToManager::Register(Register { name: name.to_owned(), ..Register::default() })
}

fn send(connection: &mut Connection, theirs: &Socket, bytes: &[u8]) -> Result<Received, Violation> {
    theirs.send(bytes, &[]).unwrap();
    connection.receive(&mut [0; 1024])
}

fn messages(registered: bool, categories: bool) -> Result<Received, Violation> {
    Ok(Received::Messages { registered, categories })
}

#[test]
fn registering_twice_is_a_violation() {
    let (mut connection, theirs) = pair();
    let bytes = register("one").encode();
    assert_eq!(send(&mut connection, &theirs, &bytes), messages(true, false));
    assert_eq!(connection.name(), "one");
    let again = send(&mut connection, &theirs, &bytes);
    assert_eq!(again, Err(Violation::Unexpected("a second registration")));
}

/// Each message would take time of the event loop, without an end.
#[test]
fn features_are_reported_once() {
    let (mut connection, theirs) = pair();
    let bytes = ToManager::Supports(Features::SET_CATEGORIES).encode();
    assert_eq!(send(&mut connection, &theirs, &bytes), messages(false, false));
    let again = send(&mut connection, &theirs, &bytes);
    assert_eq!(again, Err(Violation::Unexpected("features a second time")));
}

#[test]
fn names_are_truncated_or_replaced() {
    let (mut connection, theirs) = pair();
    let long = "é".repeat(80);
    send(&mut connection, &theirs, &register(&long).encode()).unwrap();
    assert_eq!(connection.name(), "é".repeat(50));
    assert!(!connection.process_name().is_empty());
    let (mut connection, theirs) = pair();
    send(&mut connection, &theirs, &register("").encode()).unwrap();
    assert_eq!(connection.name(), connection.process_name());
}

/// Each list of providers has it.
#[test]
fn the_name_of_a_process_is_read_at_its_registration() {
    let (mut connection, theirs) = pair();
    let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    connection.peer.pid = child.id();
    // The kernel lets its parent continue before it has the name.
    while kernel_name(child.id()) != "sleep" {
        std::thread::yield_now();
    }
    send(&mut connection, &theirs, &register("").encode()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((connection.name(), connection.process_name()), ("sleep".into(), "sleep".into()));
}

/// Thousands of connections with names of 1 MiB would fill the memory.
#[test]
fn long_names_are_not_kept() {
    let (mut connection, theirs) = pair();
    let long = "x".repeat(400);
    let names = Register { name: long.clone(), process_name: long, ..Register::default() };
    send(&mut connection, &theirs, &ToManager::Register(names).encode()).unwrap();
    let register = connection.register.unwrap();
    let retained = register.name.capacity() + register.process_name.capacity();
    assert!(retained <= 2 * MAX_PROVIDER_NAME, "{retained} bytes");
}

/// The event loop can neither keep nor close the descriptors of what it would receive.
#[test]
fn nothing_is_received_while_descriptors_cannot_be_closed() {
    let (ours, theirs) = Socket::packet_pair().unwrap();
    let mut connection = Connection::new(ours, |_| Closer::full()).unwrap();
    let received = send(&mut connection, &theirs, &register("one").encode());
    assert_eq!(received, Err(Violation::Descriptors));
    let (ours, theirs) = Socket::packet_pair().unwrap();
    connection.packets = Some(ForeignSocket::packets(ours, Closer::default()));
    theirs.send(&Packet::Stopped.encode(), &[]).unwrap();
    assert_eq!(connection.receive_packet(), Err(Violation::Descriptors));
}

#[test]
fn garbage_is_a_violation() {
    let (mut connection, theirs) = pair();
    let error = send(&mut connection, &theirs, &[0xff; 64]).unwrap_err();
    assert!(matches!(error, Violation::Protocol(error) if error.is_fatal()));
}

#[test]
fn too_many_unknown_messages_are_a_violation() {
    let (mut connection, theirs) = pair();
    for _ in 0..MAX_UNDECODABLE {
        let unknown = b"\0\0\0\0\x99\x00\x01\x00";
        assert_eq!(send(&mut connection, &theirs, unknown), messages(false, false));
    }
    assert!(send(&mut connection, &theirs, b"\0\0\0\0\x99\x00\x01\x00").is_err());
}

#[test]
fn too_many_lists_of_categories_are_a_violation() {
    let (mut connection, theirs) = pair();
    let categories = vec![CategoryInfo { name: "io".to_owned(), description: String::new() }];
    let bytes = ToManager::KnownCategories(categories.clone()).encode();
    send(&mut connection, &theirs, &register("x").encode()).unwrap();
    for _ in 0..MAX_UNSOLICITED {
        assert_eq!(send(&mut connection, &theirs, &bytes), messages(false, true));
    }
    assert_eq!(*connection.categories, categories[..]);
    assert_eq!(send(&mut connection, &theirs, &bytes), Err(Violation::Flood));
}

/// Replies to requests do not count.
#[test]
fn requested_categories_are_not_limited() {
    let (mut connection, theirs) = pair();
    let bytes = ToManager::KnownCategories(Vec::new()).encode();
    send(&mut connection, &theirs, &register("x").encode()).unwrap();
    for _ in 0..2 * MAX_UNSOLICITED {
        connection.expect_categories();
        assert_eq!(send(&mut connection, &theirs, &bytes), messages(false, true));
    }
    assert_eq!(connection.unsolicited, 0);
}

#[test]
fn only_the_last_categories_count() {
    let (mut connection, theirs) = pair();
    send(&mut connection, &theirs, &register("x").encode()).unwrap();
    for length in [900, 300] {
        let name = "x".repeat(length);
        let categories = vec![CategoryInfo { name, description: String::new() }];
        let bytes = ToManager::KnownCategories(categories).encode();
        send(&mut connection, &theirs, &bytes).unwrap();
        let counted = connection.memory() - connection.decoder.memory() as u64;
        assert_eq!(counted, (size_of::<CategoryInfo>() + length) as u64);
    }
}

#[test]
fn too_many_packets_in_a_second_are_a_violation() {
    let (mut connection, _control) = pair();
    let (ours, theirs) = Socket::packet_pair().unwrap();
    ours.set_nonblocking(true);
    connection.packets = Some(ForeignSocket::packets(ours, Closer::default()));
    let packet = Ok(ReceivedPacket::Packet(Packet::Stopped));
    let mut receive = |begun, number| {
        connection.packet_rate = Rate { begun, number };
        theirs.send(&Packet::Stopped.encode(), &[]).unwrap();
        connection.receive_packet()
    };
    let now = Instant::now();
    // This second does not end while the test runs.
    let this = now + Duration::from_secs(3600);
    assert_eq!(receive(this, PACKETS_PER_SECOND - 1), packet);
    assert_eq!(receive(this, PACKETS_PER_SECOND), Err(Violation::Flood));
    let Some(last) = now.checked_sub(Duration::from_secs(2)) else { return };
    assert_eq!(receive(last, PACKETS_PER_SECOND), packet);
}

#[test]
fn a_long_packet_is_a_violation() {
    let (mut connection, _control) = pair();
    let (ours, theirs) = Socket::packet_pair().unwrap();
    ours.set_nonblocking(true);
    connection.packets = Some(ForeignSocket::packets(ours, Closer::default()));
    assert_eq!(connection.receive_packet(), Ok(ReceivedPacket::Nothing));
    theirs.send(&Packet::Stopped.encode(), &[]).unwrap();
    assert_eq!(connection.receive_packet(), Ok(ReceivedPacket::Packet(Packet::Stopped)));
    theirs.send(&[0; 100], &[]).unwrap();
    let error = Violation::Protocol(ProtocolError::PacketLength(17));
    assert_eq!(connection.receive_packet(), Err(error));
    drop(theirs);
    assert_eq!(connection.receive_packet(), Ok(ReceivedPacket::Closed));
}

#[test]
fn a_provider_that_leaves_replies_unread_is_cut_off() {
    let (mut connection, _control) = pair();
    assert_eq!(connection.send_packet(Packet::Stopped), Ok(()), "no session");
    let (ours, theirs) = Socket::packet_pair().unwrap();
    ours.set_nonblocking(true);
    connection.packets = Some(ForeignSocket::packets(ours, Closer::default()));
    let sent = std::iter::repeat_with(|| connection.send_packet(Packet::Stopped));
    assert_eq!(sent.take(1_000_000).find_map(Result::err), Some(Violation::NotReading));
    let mut bytes = [0; PACKET_SIZE];
    assert_eq!(theirs.recv(&mut bytes).unwrap(), PACKET_SIZE);
    assert_eq!(Packet::decode(&bytes), Ok(Packet::Stopped));
    drop(theirs);
    assert_eq!(connection.send_packet(Packet::Stopped), Ok(()), "the next read detects the end");
}
