//! A hostile manager cannot end the programs that it records, block them, or fill their memory.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};

use rustix::fs::{fallocate, fcntl_add_seals, ftruncate, memfd_create};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use trace_protocol::buffer::header::{BufferingMode, Layout};
use trace_protocol::buffer::omission::Omission;
use trace_protocol::message::{
    BufferDisposition, DurationLimit, Initialize, StartOptions, ToManager, ToProvider,
};
use trace_protocol::packet::{AlertName, Packet, PACKET_SIZE};
use trace_protocol::socket::{MemoryFile, Socket};
use trace_protocol::words::as_bytes;

use self::hostile::Hostile;
use crate::harness::wait_until;

mod hostile;

const MODE: BufferingMode = BufferingMode::Streaming;

fn initialize(categories: &[String]) -> ToProvider {
    ToProvider::Initialize(Initialize { mode: MODE, categories: categories.to_vec() })
}

fn start() -> ToProvider {
    ToProvider::Start(StartOptions {
        disposition: BufferDisposition::ClearEntire,
        additional_categories: Vec::new(),
    })
}

fn layout() -> Layout {
    Layout::plan(MODE, 1 << 20, 0).unwrap()
}

/// Returns a valid buffer.
fn good_buffer() -> MemoryFile {
    let memory = MemoryFile::new("good", layout().total_size() as u64).unwrap();
    memory.write_at(as_bytes(&layout().to_header()), 0).unwrap();
    memory
}

/// Makes a file a buffer: sets its size, allocates its memory and writes its header.
fn fill(file: OwnedFd) -> File {
    let (file, size) = (File::from(file), layout().total_size());
    ftruncate(&file, size as u64).unwrap();
    for offset in (0..size).step_by(4096) {
        file.write_all_at(&[0; 4096], offset as u64).unwrap();
    }
    file.write_all_at(as_bytes(&layout().to_header()), 0).unwrap();
    file
}

fn memory(flags: MemfdFlags) -> OwnedFd {
    memfd_create("hostile", flags | MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC).unwrap()
}

fn pipe() -> OwnedFd {
    let mut child = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    child.wait().unwrap();
    child.stdout.take().unwrap().into()
}

fn sealed(file: File, seals: SealFlags) -> File {
    fcntl_add_seals(&file, seals).unwrap();
    file
}

const SIZE_SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// Waits for a packet.
#[track_caller]
fn expect_packet(packets: &Socket, expected: impl Fn(&Packet) -> bool) {
    packets.set_nonblocking(true);
    let mut bytes = [0; PACKET_SIZE];
    wait_until("the packet arrives", || match packets.recv(&mut bytes) {
        Ok(PACKET_SIZE) => expected(&Packet::decode(&bytes).unwrap()),
        _ => false,
    });
}

#[test]
fn a_buffer_that_may_change_its_size_is_refused() {
    let unsealed = fill(memory(MemfdFlags::empty()));
    let hostile = Hostile::new();
    let (_ours, theirs) = Socket::packet_pair().unwrap();
    hostile.open(&unsealed, &theirs);
    assert!(hostile.is_refused());
    // The program would access removed pages.
    ftruncate(&unsealed, 0).unwrap();
    assert!(hostile.end("shrunk").contains("buffer is not sealed memory"));
}

/// A program waits for a second at most for the begin of its recording. What it does after that is
/// missing, and reported. Without a session when it registered, it has waited for nothing.
#[test]
fn a_recording_that_begins_late_reports_the_time_before() {
    for (hostile, is_late) in [(Hostile::slow(), true), (Hostile::new(), false)] {
        let buffer = sealed(fill(memory(MemfdFlags::empty())), SIZE_SEALS);
        let (ours, theirs) = Socket::packet_pair().unwrap();
        hostile.open(&buffer, &theirs);
        expect_packet(&ours, |packet| matches!(packet, Packet::Started { .. }));
        let reported = || {
            let mut bytes = vec![0; layout().total_size()];
            buffer.read_exact_at(&mut bytes, 0).unwrap();
            find(&bytes, Omission::Beginning.event().as_bytes())
        };
        if is_late {
            wait_until("the time is reported", reported);
        }
        hostile.end("late");
        assert_eq!(reported(), is_late);
    }
}

fn find(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

/// The manager may refuse a program, with a reason.
#[test]
fn the_reason_of_a_refusal_is_reported() {
    let mut hostile = Hostile::new();
    let reason = format!("the limit of user 7 is {}", "0".repeat(5000));
    hostile.send(&ToProvider::Refused { reason }, &[]);
    hostile.send(&ToProvider::GetKnownCategories, &[]);
    let answered =
        |hostile: &mut Hostile| matches!(hostile.receive(), Some(ToManager::KnownCategories(_)));
    wait_until("the refusal is read", || answered(&mut hostile));
    let said = hostile.end("refused");
    assert!(said.contains("refuses this process: the limit of user 7 is 000"), "{said}");
    assert!(said.len() < 1000, "a manager's text is truncated: {said}");
}

#[test]
fn invalid_buffers_are_refused() {
    let regular = || fill(tempfile::tempfile().unwrap().into());
    let small = || {
        let memory = MemoryFile::new("small", 4096).unwrap();
        memory.write_at(as_bytes(&layout().to_header()), 0).unwrap();
        memory.as_fd().try_clone_to_owned().unwrap()
    };
    let sparse = || {
        let file = File::from(memory(MemfdFlags::empty()));
        ftruncate(&file, layout().total_size() as u64).unwrap();
        file.write_all_at(as_bytes(&layout().to_header()), 0).unwrap();
        sealed(file, SIZE_SEALS)
    };
    let read_only = || {
        let path =
            format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&good_buffer().as_fd()));
        File::open(path)
    };
    let mut cases: Vec<(&str, OwnedFd)> = vec![
        ("may grow", sealed(fill(memory(MemfdFlags::empty())), SealFlags::SHRINK).into()),
        (
            "may not be written",
            sealed(fill(memory(MemfdFlags::empty())), SIZE_SEALS | SealFlags::WRITE).into(),
        ),
        ("regular file", regular().into()),
        ("other size", small()),
        ("no memory", sparse().into()),
        ("pipe", pipe()),
        ("socket", UnixStream::pair().unwrap().0.into()),
        ("device", File::open("/dev/zero").unwrap().into()),
        ("directory", File::open("/").unwrap().into()),
    ];
    cases.extend(read_only().ok().map(|file| ("read-only", file.into())));
    let huge = memfd_create("huge", MemfdFlags::HUGETLB | MemfdFlags::ALLOW_SEALING);
    cases.extend(huge.ok().map(|file| {
        ftruncate(&file, 2 << 20).unwrap();
        ("huge pages", sealed(file.into(), SIZE_SEALS).into())
    }));
    for (case, buffer) in cases {
        let hostile = Hostile::new();
        let (_ours, theirs) = Socket::packet_pair().unwrap();
        hostile.open(&buffer, &theirs);
        assert!(hostile.is_refused(), "{case}");
        assert!(hostile.end(case).contains("is refused: its buffer"), "{case}");
    }
}

#[test]
fn invalid_packet_sockets_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let cases: [(&str, OwnedFd); 4] = [
        ("stream", UnixStream::pair().unwrap().0.into()),
        ("listener", UnixListener::bind(directory.path().join("sock")).unwrap().into()),
        ("pipe", pipe()),
        ("memory", memory(MemfdFlags::empty())),
    ];
    for (case, packets) in cases {
        let hostile = Hostile::new();
        hostile.open(&good_buffer(), &packets);
        assert!(hostile.is_refused(), "{case}");
        assert!(hostile.end(case).contains("packet socket"), "{case}");
    }
}

/// The modes of the message and of the buffer must be equal.
#[test]
fn a_buffer_of_another_mode_is_refused() {
    let hostile = Hostile::new();
    let (_ours, theirs) = Socket::packet_pair().unwrap();
    let message = ToProvider::Initialize(Initialize {
        mode: BufferingMode::Circular,
        categories: Vec::new(),
    });
    hostile.send(&message, &[good_buffer().as_fd(), theirs.as_fd()]);
    assert!(hostile.is_refused());
    hostile.end("mode");
}

/// Unexpected descriptors of messages are closed.
#[test]
fn stray_descriptors_are_closed() {
    let mut hostile = Hostile::new();
    let (mut reader, writer) = UnixStream::pair().unwrap();
    for _ in 0..100 {
        hostile.send(&ToProvider::Flush, &[writer.as_fd(), writer.as_fd()]);
    }
    drop(writer);
    assert_eq!(reader.read(&mut [0]).unwrap(), 0, "all copies are closed");
    hostile.send(&ToProvider::GetKnownCategories, &[]);
    wait_until("the program is still connected", || hostile.receive().is_some());
    // An endless message, with more descriptors than any message has.
    let (mut reader, writer) = UnixStream::pair().unwrap();
    for byte in [100, 0, 0, 0, 2] {
        hostile.send_bytes(&[byte], &[writer.as_fd()]);
    }
    drop(writer);
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    assert!(hostile.is_refused());
    hostile.end("stray");
}

/// Messages in any order, each sent twice.
#[test]
fn messages_in_any_order_do_not_end_the_program() {
    let mut hostile = Hostile::new();
    for message in [start(), ToProvider::Stop, ToProvider::Terminate, ToProvider::Flush] {
        hostile.send(&message, &[]);
    }
    let (ours, theirs) = Socket::packet_pair().unwrap();
    hostile.open(&good_buffer(), &theirs);
    expect_packet(&ours, |packet| matches!(packet, Packet::Started { .. }));
    let (_other, repeated) = Socket::packet_pair().unwrap();
    hostile.open(&good_buffer(), &repeated);
    hostile.send(&start(), &[]);
    for wrapped_count in [7, 0, u32::MAX] {
        let saved = Packet::BufferSaved { wrapped_count, durable_data_end: u64::MAX };
        ours.send(&saved.encode(), &[]).unwrap();
    }
    for _ in 0..100 {
        hostile.send(&ToProvider::Flush, &[]);
    }
    hostile.send(&ToProvider::Stop, &[]);
    hostile.send(&ToProvider::Stop, &[]);
    expect_packet(&ours, |packet| *packet == Packet::Stopped);
    hostile.send(&start(), &[]);
    hostile.send(&ToProvider::Terminate, &[]);
    hostile.send(&ToProvider::Terminate, &[]);
    let (ours, theirs) = Socket::packet_pair().unwrap();
    hostile.open(&good_buffer(), &theirs);
    expect_packet(&ours, |packet| matches!(packet, Packet::Started { .. }));
    hostile.send(&ToProvider::GetKnownCategories, &[]);
    wait_until("the program answers", || hostile.receive().is_some());
    hostile.end("order");
}

#[test]
fn messages_without_end_are_refused() {
    let unknown = [0, 0, 0, 0, 0xff, 0x7f, 1, 0];
    let too_long = [0xff; 8];
    let many: Vec<String> = (0..5000).map(|number| format!("{number}")).collect();
    let long = vec!["x".repeat(100 << 10)];
    let (_ours, theirs) = Socket::packet_pair().unwrap();
    type Attack<'a> = &'a dyn Fn(&Hostile);
    let attacks: [(&str, Attack<'_>); 5] = [
        ("unknown messages", &|hostile| {
            (0..20).for_each(|_| hostile.send_bytes(&unknown, &[]));
        }),
        ("a long message", &|hostile| hostile.send_bytes(&too_long, &[])),
        ("many categories", &|hostile| {
            hostile.send(&initialize(&many), &[good_buffer().as_fd(), theirs.as_fd()]);
        }),
        ("long categories", &|hostile| {
            hostile.send(&initialize(&long), &[good_buffer().as_fd(), theirs.as_fd()]);
        }),
        ("no descriptors", &|hostile| hostile.send(&initialize(&[]), &[])),
    ];
    for (case, attack) in attacks {
        let hostile = Hostile::new();
        attack(&hostile);
        assert!(hostile.is_refused(), "{case}");
        hostile.end(case);
    }
}

/// A program limits the memory for the list of categories.
#[test]
fn categories_do_not_fill_the_memory_of_the_program() {
    let hostile = Hostile::new();
    let (_ours, theirs) = Socket::packet_pair().unwrap();
    for number in 0..200 {
        let pattern = format!("{number}{}", "x".repeat(60 << 10));
        hostile.send(&initialize(&[pattern]), &[good_buffer().as_fd(), theirs.as_fd()]);
        hostile.send(&start(), &[]);
        hostile.send(&ToProvider::Terminate, &[]);
    }
    assert!(hostile.is_refused());
    let said = hostile.end("categories");
    assert!(said.contains("too many categories"), "{said}");
}

/// A program limits the memory for conditions.
#[test]
fn conditions_do_not_fill_the_memory_of_the_program() {
    let limit = |number: u32, length: usize| DurationLimit {
        number,
        category: "a".to_owned(),
        name: format!("{number}{}", "x".repeat(length)),
        ticks: number.into(),
    };
    let long = ToProvider::SetConditions((0..5000).map(|number| limit(number, 0)).collect());
    let different = (0..200).map(|number| ToProvider::SetConditions(vec![limit(number, 60 << 10)]));
    for (messages, why) in [
        (vec![long], "its list of conditions is too long"),
        (different.collect(), "too many conditions"),
    ] {
        let hostile = Hostile::new();
        let (_ours, theirs) = Socket::packet_pair().unwrap();
        hostile.open(&good_buffer(), &theirs);
        messages.iter().for_each(|message| hostile.send(message, &[]));
        assert!(hostile.is_refused());
        let said = hostile.end("conditions");
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn packets_of_a_wrong_length_are_refused() {
    for length in [1, PACKET_SIZE - 1, PACKET_SIZE + 1] {
        let hostile = Hostile::new();
        let (ours, theirs) = Socket::packet_pair().unwrap();
        hostile.open(&good_buffer(), &theirs);
        expect_packet(&ours, |packet| matches!(packet, Packet::Started { .. }));
        ours.send(&vec![0; length], &[]).unwrap();
        assert!(hostile.is_refused(), "{length}");
        hostile.end("packets");
    }
}

/// The manager has a copy of the packet socket, and may make it blocking.
#[test]
fn a_blocking_packet_socket_blocks_no_thread() {
    let hostile = Hostile::new();
    let (ours, theirs) = Socket::packet_pair().unwrap();
    hostile.open(&good_buffer(), &theirs);
    expect_packet(&ours, |packet| matches!(packet, Packet::Started { .. }));
    rustix::io::ioctl_fionbio(&theirs, false).unwrap();
    hostile.send(&ToProvider::Stop, &[]);
    expect_packet(&ours, |packet| *packet == Packet::Stopped);
    hostile.end("waits");
}

/// The program continues even if the manager changes the shared memory.
#[test]
fn memory_that_changes_under_a_program_does_not_end_it() {
    let hostile = Hostile::new();
    let (ours, theirs) = Socket::packet_pair().unwrap();
    let (buffer, size) = (good_buffer(), layout().total_size() as u64);
    hostile.open(&buffer, &theirs);
    expect_packet(&ours, |packet| matches!(packet, Packet::Started { .. }));
    let garbage: Vec<u8> = (0..size).map(|index| ((index * 31) >> 3) as u8).collect();
    for _ in 0..20 {
        buffer.write_at(&garbage, 0).unwrap();
        let holes = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(buffer.as_fd(), holes, 0, size).unwrap();
        hostile.send(&ToProvider::Flush, &[]);
    }
    hostile.send(&ToProvider::Stop, &[]);
    expect_packet(&ours, |packet| *packet == Packet::Stopped);
    hostile.end("changes");
}

/// A manager without a processor for a while receives all requests to save, the oldest first.
#[test]
fn a_late_manager_gets_all_requests_at_once() {
    let hostile = Hostile::new();
    let (ours, theirs) = Socket::packet_pair().unwrap();
    hostile.open(&good_buffer(), &theirs);
    expect_packet(&ours, |packet| matches!(packet, Packet::Started { .. }));
    let last = layout().rolling_buffers() as u32 - 1;
    let mut requests = Vec::new();
    while requests.len() < last as usize {
        requests.push(next_save(&ours, &hostile));
    }
    assert_eq!(requests, Vec::from_iter(0..last));
    // The oldest request is answered first: other answers are ignored.
    for wrapped_count in [last - 1, 0] {
        let saved = Packet::BufferSaved { wrapped_count, durable_data_end: 0 };
        ours.send(&saved.encode(), &[]).unwrap();
    }
    assert_eq!(next_save(&ours, &hostile), last);
    hostile.send(&ToProvider::Stop, &[]);
    expect_packet(&ours, |packet| *packet == Packet::Stopped);
    hostile.end("late");
}

/// A manager that does not read for a while gets all requests when it reads again.
#[test]
fn a_full_packet_socket_does_not_end_the_session() {
    let mut hostile = Hostile::of("alert-chatter");
    let (ours, theirs) = Socket::packet_pair().unwrap();
    hostile.open(&good_buffer(), &theirs);
    expect_packet(&ours, |packet| matches!(packet, Packet::Started { .. }));
    fill_socket(&theirs);
    for _ in 0..20 {
        hostile.send(&ToProvider::Flush, &[]);
        // The program has handled the message before when it answers this one.
        hostile.send(&ToProvider::GetKnownCategories, &[]);
        wait_until("the program is still connected", || hostile.receive().is_some());
    }
    assert_eq!([next_save(&ours, &hostile), next_save(&ours, &hostile)], [0, 1]);
    fill_socket(&theirs);
    hostile.send(&ToProvider::Stop, &[]);
    expect_packet(&ours, |packet| *packet == Packet::Stopped);
    hostile.end("full");
}

/// Fills the program's end of the packet socket with alerts.
fn fill_socket(theirs: &Socket) {
    theirs.set_nonblocking(true);
    let alert = Packet::Alert(AlertName::new("flood").unwrap()).encode();
    while theirs.send(&alert, &[]).is_ok() {}
}

/// Has the program hand over what it has until it asks to save the next rolling buffer.
fn next_save(packets: &Socket, hostile: &Hostile) -> u32 {
    packets.set_nonblocking(true);
    let (mut bytes, mut found) = ([0; PACKET_SIZE], None);
    wait_until("the program asks to save", || {
        hostile.send(&ToProvider::Flush, &[]);
        if let Ok(PACKET_SIZE) = packets.recv(&mut bytes) {
            if let Packet::SaveBuffer { wrapped_count, .. } = Packet::decode(&bytes).unwrap() {
                found = Some(wrapped_count);
            }
        }
        found.is_some()
    });
    found.unwrap()
}
