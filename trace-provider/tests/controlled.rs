//! Recordings by a manager that the test controls.
#![cfg(target_os = "linux")]

use std::os::fd::{AsFd, AsRawFd};
use std::sync::{mpsc, Mutex};
use std::thread;

use trace_format::record::Value;
use trace_protocol::buffer::header::Layout;
use trace_protocol::message::{
    BufferDisposition, Decoder, Initialize, StartOptions, ToManager, ToProvider,
};
use trace_protocol::mode::BufferingMode;
use trace_protocol::packet::{Packet, PACKET_SIZE};
use trace_protocol::socket::{Listener, MemoryFile, Socket};
use trace_protocol::words::as_bytes;
use trace_provider::{Provider, TraceState};

/// A manager with a provider that records.
struct Recorded {
    provider: Provider,
    socket: Socket,
    /// Both ends of the packet socket.
    ours: Socket,
    theirs: Socket,
}

impl Recorded {
    fn start(mode: BufferingMode) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sock");
        let listener = Listener::bind(&path).unwrap();
        let connecting = thread::spawn(|| Provider::builder("test").socket(path).connect());
        let socket = listener.accept().unwrap();
        wait_for_registration(&socket);
        let (ours, theirs) = Socket::packet_pair().unwrap();
        let layout = Layout::plan(mode, 1 << 20, 0).unwrap();
        let memory = MemoryFile::new("buffer", layout.total_size() as u64).unwrap();
        memory.write_at(as_bytes(&layout.to_header()), 0).unwrap();
        send(&socket, &ToProvider::Registered { started: true });
        let initialize = Initialize { mode, categories: Vec::new() };
        let message = ToProvider::Initialize(initialize).encode();
        let handles = [memory.as_fd(), theirs.as_fd()];
        assert_eq!(socket.send(&message, &handles).unwrap(), message.len());
        let (disposition, additional_categories) = (BufferDisposition::ClearEntire, Vec::new());
        let options = StartOptions { disposition, additional_categories };
        send(&socket, &ToProvider::Start(options));
        let mut packet = [0; PACKET_SIZE];
        assert_eq!(ours.recv(&mut packet).unwrap(), PACKET_SIZE);
        assert!(matches!(Packet::decode(&packet), Ok(Packet::Started { .. })));
        let provider = connecting.join().unwrap().unwrap();
        Self { provider, socket, ours, theirs }
    }
}

fn wait_for_registration(socket: &Socket) {
    let (mut decoder, mut bytes) = (Decoder::new(), [0; 4096]);
    loop {
        let length = socket.recv(&mut bytes).unwrap();
        assert_ne!(length, 0, "the provider is connected");
        decoder.feed(&bytes[..length]);
        while let Some(message) = decoder.next_message() {
            if matches!(message.unwrap(), ToManager::Register(_)) {
                return;
            }
        }
    }
}

fn send(socket: &Socket, message: &ToProvider) {
    let bytes = message.encode();
    assert_eq!(socket.send(&bytes, &[]).unwrap(), bytes.len());
}

/// Returns whether the socket has unread packets.
fn has_unread(socket: &Socket) -> bool {
    let fd = socket.as_fd().as_raw_fd();
    let mut file = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: the pointer is to one valid entry.
    let ready = unsafe { libc::poll(&mut file, 1, 0) };
    ready > 0
}

/// The connection fails while the observers of the stop run: they are called once.
#[test]
fn a_stop_that_fails_is_announced_once() {
    let Recorded { provider, socket, ours, theirs } = Recorded::start(BufferingMode::Streaming);
    let (sender, states) = mpsc::channel();
    let ends = Mutex::new((ours, theirs));
    let observer = provider.observe(move |state| {
        sender.send(state).unwrap();
        let (ours, theirs) = &*ends.lock().unwrap();
        if state == TraceState::Stopping {
            // A packet of the wrong length.
            ours.send(&[0], &[]).unwrap();
            while has_unread(theirs) {
                thread::yield_now();
            }
        }
    });
    send(&socket, &ToProvider::Stop);
    let mut rest = [0; 4096];
    while socket.recv(&mut rest).is_ok_and(|length| length > 0) {}
    drop((provider, observer));
    let states: Vec<TraceState> = states.iter().collect();
    assert_eq!(states, [TraceState::Stopping, TraceState::Stopped]);
}

fn receive(packets: &Socket) -> Packet {
    let mut packet = [0; PACKET_SIZE];
    assert_eq!(packets.recv(&mut packet).unwrap(), PACKET_SIZE);
    Packet::decode(&packet).unwrap()
}

/// The reply comes before the requests to save. A second request, or one in another mode, changes
/// nothing.
#[test]
fn a_circular_recording_streams_on_request() {
    let Recorded { provider, socket, ours, .. } = Recorded::start(BufferingMode::Circular);
    let mut writer = provider.writer();
    let mut record = |number: u64| {
        let mut context = writer.context().unwrap();
        assert!(context.instant("test", "event", &[("number", Value::Uint64(number))]));
    };
    (0..100).for_each(&mut record);
    send(&socket, &ToProvider::Stream);
    assert_eq!(receive(&ours), Packet::Streaming { first: 0, current: 0 });
    send(&socket, &ToProvider::Stream);
    (0..100).for_each(&mut record);
    send(&socket, &ToProvider::Flush);
    let Packet::SaveBuffer { wrapped_count: 0, durable_data_end } = receive(&ours) else {
        panic!("the first rolling buffer is saved")
    };
    assert!(durable_data_end > 0);
    send(&socket, &ToProvider::Stop);
    assert_eq!(receive(&ours), Packet::Stopped);
    for mode in [BufferingMode::Oneshot, BufferingMode::Streaming] {
        let Recorded { provider: _provider, socket, ours, .. } = Recorded::start(mode);
        send(&socket, &ToProvider::Stream);
        send(&socket, &ToProvider::Stop);
        assert_eq!(receive(&ours), Packet::Stopped, "{mode:?}");
    }
}
