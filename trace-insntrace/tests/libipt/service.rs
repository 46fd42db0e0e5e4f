//! libipt finds the same instructions in the buffers of a service as we do.

#[path = "../common/target.rs"]
mod target;

use std::collections::BTreeMap;
use std::path::Path;

use trace_insntrace::controller::{ctl, Allocation, BufferConfig, BufferDescriptor, Mode};
use trace_insntrace::service::{Client, Lifetime, Service, Settings};

use crate::flow::theirs;
use crate::stepped::{Stepped, FIRST};
use target::{wait_until, Target};

const BUFFER: BufferDescriptor = BufferDescriptor(0);

/// Traces a thread into a buffer of this many chunks of a page until `bytes` were written.
fn traced(socket: &Path, chunks: u32, bytes: u64) -> Stepped {
    let mut target = Target::start();
    let client = Client::connect(socket).unwrap();
    client.initialize(Allocation { mode: Mode::Thread, num_traces: 1 }).unwrap();
    let config = BufferConfig {
        num_chunks: chunks,
        chunk_order: 0,
        is_circular: true,
        ctl: ctl::DEFAULT,
        address_space_match: 0,
        address_ranges: [(0, 0); 2],
    };
    client.allocate_buffer(config).unwrap();
    client.assign_thread_buffer(BUFFER, target.thread()).unwrap();
    let written = || client.get_side_data(BUFFER).unwrap().written;
    while written() < bytes {
        let before = client.get_buffer_state(BUFFER).unwrap();
        client.start().unwrap();
        target.write_lines(50);
        wait_until(|| client.get_buffer_state(BUFFER).unwrap() != before);
        client.stop().unwrap();
    }
    let data = client.trace_data(BUFFER).unwrap();
    client.close().unwrap();
    target.finish();
    Stepped {
        executed: Vec::new(),
        packets: BTreeMap::from([(FIRST, data.packets)]),
        notes: data.notes,
    }
}

#[test]
#[ignore = "needs libipt-dev"]
fn libipt_finds_the_instructions_of_a_service() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let service = Service::bind(&socket, Lifetime::Connection, Settings::default()).unwrap();
    let ender = service.ender();
    let thread = std::thread::spawn(|| service.run().unwrap());
    for (chunks, bytes) in [(64, 8 << 10), (3, 40 << 10)] {
        let run = traced(&socket, chunks, bytes);
        let parts = run.parts(FIRST).into_iter();
        let found: Vec<u64> =
            parts.flat_map(|(space, packets)| theirs(&run.image(space), packets)).collect();
        let (ours, _) = run.decode(FIRST);
        assert!(ours.len() > 1000, "{}", ours.len());
        let first = found.iter().zip(&ours).position(|(theirs, ours)| theirs != ours);
        assert_eq!((first, found.len()), (None, ours.len()), "{chunks} chunks");
    }
    ender.end();
    thread.join().unwrap();
}
