//! Hostile providers beside a correct one.

use std::io::{IoSlice, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use super::archive::Archive;
use super::provider::{Provider, Session};
use super::*;

use rustix::net::sockopt::set_socket_linger;
use rustix::net::{sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use trace_manager::{End, Violation};
use trace_protocol::buffer::header::HEADER_SIZE;
use trace_protocol::message::{CategoryInfo, ToManager};
use trace_protocol::packet::{AlertName, Packet};
use trace_protocol::socket::Socket;

/// Runs `attack` with one provider of a session, and checks that the other provider loses no event.
fn beside_a_good_one(mode: BufferingMode, attack: impl FnOnce(&mut Provider, &mut Session)) -> End {
    let stage = Stage::new();
    let (mut bad, _) = Provider::register(stage.manager.path(), "bad");
    let (mut good, _) = Provider::register(stage.manager.path(), "good");
    let session = stage.start(impatient(mode));
    let mut attacking = bad.enter();
    let tracing = good.enter();
    let first = tracing.fill(0, 0);
    attack(&mut bad, &mut attacking);
    let second = match mode {
        BufferingMode::Oneshot => 0,
        _ => tracing.chunk(1, 0, first),
    };
    session.stop();
    good.leave(tracing);
    let summary = session.join().unwrap();
    let archive = Archive::open(&stage.archive());
    let expected: Vec<u64> = (0..first + second).collect();
    assert_eq!(archive.events_of("good"), expected);
    summary.providers.iter().find(|it| it.name == "bad").unwrap().end.clone()
}

fn violation(end: End) -> Violation {
    match end {
        End::CutOff(violation) => violation,
        other => panic!("expected a provider that was cut off, found {other:?}"),
    }
}

#[test]
fn garbage_on_the_registration_socket_is_a_violation() {
    let end = beside_a_good_one(BufferingMode::Oneshot, |bad, _| {
        bad.send_bytes(&[0xff; 100_000]);
        while bad.next().is_some() {}
    });
    assert!(matches!(violation(end), Violation::Protocol(_)));
}

#[test]
fn a_flood_of_messages_is_a_violation() {
    let end = beside_a_good_one(BufferingMode::Oneshot, |bad, _| {
        let category = CategoryInfo { name: "x".repeat(100), description: "y".repeat(400) };
        let bytes = ToManager::KnownCategories(vec![category; 500]).encode();
        for _ in 0..200 {
            bad.send_bytes(&bytes);
        }
    });
    assert_eq!(violation(end), Violation::Flood);
}

/// On a busy machine, the packets of one second may be below the limit.
#[test]
fn a_flood_of_packets_harms_no_other_provider() {
    let end = beside_a_good_one(BufferingMode::Oneshot, |_, attacking| {
        let alert = Packet::Alert(AlertName::new("flood").unwrap()).encode();
        let _sent = (0..300_000).all(|_| attacking.packets.send(&alert, &[]).is_ok());
    });
    assert!(matches!(end, End::CutOff(Violation::Flood) | End::TimedOut), "{end:?}");
}

#[test]
fn garbage_on_the_packet_socket_is_a_violation() {
    for garbage in [&[0xff; 16][..], &[1; 3], &[0; 1000]] {
        let end = beside_a_good_one(BufferingMode::Streaming, |bad, attacking| {
            attacking.packets.send(garbage, &[]).unwrap();
            while bad.next().is_some() {}
        });
        assert!(matches!(violation(end), Violation::Protocol(_)));
    }
}

#[test]
fn a_save_out_of_order_is_a_violation() {
    let end = beside_a_good_one(BufferingMode::Streaming, |bad, attacking| {
        attacking.fill(0, 0);
        attacking.save(0);
        attacking.send(Packet::SaveBuffer { wrapped_count: 2, durable_data_end: 64 });
        while bad.next().is_some() {}
    });
    assert_eq!(violation(end), Violation::WrappedCount { expected: 1, found: 2 });
}

/// The format of another version's data is unknown.
#[test]
fn the_data_of_another_packet_version_is_ignored() {
    for mode in [BufferingMode::Oneshot, BufferingMode::Streaming] {
        let stage = Stage::new();
        let session = stage.start(impatient(mode));
        let (mut bad, _) = Provider::register(stage.manager.path(), "bad");
        let mut attacking = bad.initialize();
        attacking.strings();
        attacking.fill(0, 0);
        attacking.send(Packet::Started { version: 2 });
        while bad.next().is_some() {}
        let summary = end(&session);
        let [provider] = &summary.providers[..] else { panic!("{summary:?}") };
        assert_eq!(provider.end, End::CutOff(Violation::PacketVersion(2)));
        assert_eq!((provider.records, summary.lost()), (0, 0));
        assert_eq!(Archive::open(&stage.archive()).events_of("bad"), []);
    }
}

#[test]
fn random_memory_yields_a_readable_archive() {
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    for mode in [BufferingMode::Oneshot, BufferingMode::Circular, BufferingMode::Streaming] {
        for dense in [false, true] {
            beside_a_good_one(mode, |_, attacking| {
                attacking.fill(0, 0);
                let words = (attacking.layout.total_size() - HEADER_SIZE) / 8;
                let noise: Vec<u64> = (0..words).map(|_| noise(&mut seed, dense)).collect();
                attacking.write(&noise, HEADER_SIZE);
                attacking.write(&[u64::MAX; 64], 8);
            });
        }
    }
}

/// Returns a pseudo-random word (xorshift64). If it is not `dense`, it is often a possible header.
fn noise(seed: &mut u64, dense: bool) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    match dense {
        true => *seed,
        false => *seed & 0x0000_0003_0003_00ff,
    }
}

#[test]
fn idle_connections_do_no_harm() {
    let stage = Stage::new();
    let idle: Vec<Provider> = (0..50).map(|_| Provider::connect(stage.manager.path())).collect();
    let noisy = Provider::connect(stage.manager.path());
    noisy.send_bytes(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let session = stage.start(config(BufferingMode::Oneshot));
    let (mut provider, _) = Provider::register(stage.manager.path(), "good");
    let tracing = provider.enter();
    let written = tracing.fill(0, 0);
    session.stop();
    provider.leave(tracing);
    let summary = session.join().unwrap();
    assert_eq!(summary.events(), written);
    assert_eq!(summary.providers.len(), 1);
    drop(idle);
}

#[test]
fn a_provider_may_connect_a_thousand_times() {
    let stage = Stage::new();
    let session = stage.start(SessionConfig { buffer_size: 1, ..config(BufferingMode::Oneshot) });
    for round in 0..1000 {
        let (mut provider, started) = Provider::register(stage.manager.path(), "brief");
        assert!(started);
        if round % 3 != 0 {
            provider.enter().chunk(0, 0, 0);
        }
    }
    wait_until(|| session.progress().providers == 0);
    let summary = end(&session);
    assert_eq!(summary.providers.len(), 1000);
    let recorded = summary.providers.iter().filter(|it| it.events != 0).count();
    assert_eq!(recorded, 666);
}

/// Returns a socket whose last close(2) waits for its other end.
fn lingering() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let theirs = listener.accept().unwrap().0;
    set_socket_linger(&ours, Some(Duration::from_secs(3600))).unwrap();
    ours.set_nonblocking(true).unwrap();
    while ours.write(&[0; 1 << 16]).is_ok() {}
    (ours, theirs)
}

/// Passes such a socket with a message. Returns its other end.
fn pass(socket: &Socket, bytes: &[u8]) -> TcpStream {
    pass_by(|ours| drop(socket.send(bytes, &[ours])))
}

/// Passes such a socket with a byte that does not wait behind others (`MSG_OOB`, Linux 5.15), and
/// sends more bytes. Returns its other end.
fn pass_urgently(bad: &Provider) -> TcpStream {
    let other = pass_by(|ours| {
        let (bytes, fds) = ([IoSlice::new(&[0])], [ours]);
        let mut space = [0; rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&fds)));
        let _sent = sendmsg(&bad.control, &bytes, &mut ancillary, SendFlags::OOB);
    });
    bad.send_bytes(&[0xff; 100_000]);
    other
}

/// Has such a socket sent, and returns its other end. Another thread closes ours, at once: if the
/// manager has closed its own before, that thread waits, and not the test. The manager may have
/// closed its end of the connection.
fn pass_by(send: impl FnOnce(BorrowedFd<'_>)) -> TcpStream {
    let (ours, other) = lingering();
    let (ours, is_sent) = (Arc::new(ours), Arc::new(AtomicBool::new(false)));
    let (last, is_sent_there) = (Arc::clone(&ours), Arc::clone(&is_sent));
    std::thread::spawn(move || {
        while !is_sent_there.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
        drop(last);
    });
    send(ours.as_fd());
    drop(ours);
    is_sent.store(true, Ordering::Release);
    other
}

/// The last close would wait for an hour: when the manager receives the descriptor, and when it
/// closes a socket with it.
#[test]
fn descriptors_that_cannot_be_closed_keep_the_manager_from_nothing() {
    let alert = Packet::Alert(AlertName::new("slow").unwrap()).encode();
    let attacks: [Attack<'_>; 5] = [
        &|bad, _| vec![pass(&bad.control, &[0])],
        &|_, attacking| vec![pass(&attacking.packets, &alert)],
        &|_, attacking| vec![pass(&attacking.packets, &[])],
        &|bad, attacking| {
            attacking.packets.send(&[0xff; 16], &[]).unwrap();
            let unread = pass(&attacking.packets, &alert);
            bad.send_bytes(&[0xff; 100_000]);
            vec![unread, pass(&bad.control, &[0])]
        },
        &|bad, _| vec![pass_urgently(bad)],
    ];
    for attack in attacks {
        let mut others = Vec::new();
        let end = beside_a_good_one(BufferingMode::Streaming, |bad, attacking| {
            others = attack(bad, attacking);
            while bad.next().is_some() {}
        });
        let violation = violation(end);
        let expected = Violation::Unexpected("file descriptors");
        assert!(
            violation == expected || matches!(violation, Violation::Protocol(_)),
            "{violation:?}"
        );
    }
}

/// Passes descriptors to the manager. Returns their other ends.
type Attack<'a> = &'a dyn Fn(&Provider, &Session) -> Vec<TcpStream>;
