//! Perfetto's Rust SDK with its in-process backend: protobuf packets into a shared memory ring,
//! copied by a service thread.

use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use perfetto_sdk::heap_buffer::HeapBuffer;
use perfetto_sdk::pb_msg::{PbMsg, PbMsgWriter};
use perfetto_sdk::producer::{Backends, Producer, ProducerInitArgsBuilder};
use perfetto_sdk::protos::config::data_source_config::DataSourceConfig;
use perfetto_sdk::protos::config::trace_config::{
    TraceConfig, TraceConfigBufferConfig, TraceConfigDataSource,
};
use perfetto_sdk::protos::config::track_event::track_event_config::TrackEventConfig;
use perfetto_sdk::tracing_session::TracingSession;
use perfetto_sdk::track_event::{
    EventContext, TrackEvent, TrackEventCounter, TrackEventDebugArg, TrackEventTrack,
};
use perfetto_sdk::{scoped_track_event, track_event_counter, track_event_instant};

use crate::peer::{Peer, Session};

/// A separate module, because the SDK's macro expands to `unsafe` code.
#[allow(unsafe_code)]
mod registry {
    perfetto_sdk::track_event_categories! {
        pub mod categories {
            ("bench", "What is measured here", []),
        }
    }
}
// The name that the SDK's macros look for.
use registry::categories as perfetto_te_ns;

/// The ring that the service thread empties: the largest that Perfetto accepts, so that few events
/// are dropped. Dropping is cheaper than recording.
const SHARED_MEMORY_KIB: u32 = 32 * 1024;
/// The service's buffer, which can hold a whole run.
const BUFFER_KIB: u32 = 512 * 1024;

/// perfetto-sdk, in process.
pub const PEER: Peer = Peer {
    name: "perfetto-sdk",
    through_tracing: false,
    off: Some(scope),
    scope,
    scope_args: Some(|n| {
        for i in 0..n as i64 {
            scoped_track_event!("bench", "scope", |event: &mut EventContext| {
                event.add_debug_arg("value", TrackEventDebugArg::Int64(i));
                event.add_debug_arg("text", TrackEventDebugArg::String("short"));
            });
            black_box(i);
        }
    }),
    instant: Some(|n| {
        for i in 0..n {
            track_event_instant!("bench", "instant");
            black_box(i);
        }
    }),
    counter: Some(|n| {
        let track = counter_track();
        for i in 0..n as i64 {
            track_event_counter!("bench", |event: &mut EventContext| {
                event.set_track(track);
                event.set_counter(TrackEventCounter::Int64(i));
            });
            black_box(i);
        }
    }),
    start,
};

fn scope(n: u64) {
    for i in 0..n {
        scoped_track_event!("bench", "scope");
        black_box(i);
    }
}

fn counter_track() -> &'static TrackEventTrack {
    static TRACK: OnceLock<TrackEventTrack> = OnceLock::new();
    TRACK.get_or_init(|| {
        TrackEventTrack::register_counter_track("counter", TrackEventTrack::process_track_uuid())
            .expect("the name holds no NUL")
    })
}

struct InProcess {
    session: TracingSession,
    file: PathBuf,
}

fn start(file: &Path) -> Box<dyn Session> {
    start_with(file, "bench", || {
        perfetto_te_ns::register().expect("categories are registered once")
    })
}

/// Records a category, which `register` makes known, into the file.
pub fn start_with(file: &Path, category: &str, register: impl Fn()) -> Box<dyn Session> {
    let args = ProducerInitArgsBuilder::new()
        .backends(Backends::IN_PROCESS)
        .shmem_size_hint_kb(SHARED_MEMORY_KIB);
    Producer::init(args.build());
    TrackEvent::init();
    register();
    let mut session =
        TracingSession::in_process().expect("the in-process backend was just initialised");
    session.setup(&config(category));
    session.start_blocking();
    Box::new(InProcess { session, file: file.to_owned() })
}

/// An encoded trace configuration: one buffer, one category.
fn config(category: &str) -> Vec<u8> {
    let writer = PbMsgWriter::new();
    let heap = HeapBuffer::new(writer.stream_writer());
    let mut message = PbMsg::new(&writer).expect("a fresh writer has room");
    let mut config = TraceConfig { msg: &mut message };
    config.set_buffers(|buffer: &mut TraceConfigBufferConfig| {
        buffer.set_size_kb(BUFFER_KIB);
    });
    config.set_data_sources(|source: &mut TraceConfigDataSource| {
        source.set_config(|source: &mut DataSourceConfig| {
            source.set_name("track_event");
            source.set_track_event_config(|events: &mut TrackEventConfig| {
                events.set_enabled_categories(category);
            });
        });
    });
    message.finalize();
    let mut bytes = vec![0; writer.stream_writer().get_written_size()];
    heap.copy_into(&mut bytes);
    bytes
}

impl Session for InProcess {
    fn finish(mut self: Box<Self>) {
        self.session.flush_blocking(Duration::from_secs(60));
        self.session.stop_blocking();
        let output =
            Mutex::new(File::create(&self.file).expect("the scratch directory is writable"));
        self.session.read_trace_blocking(move |data, _end| {
            let mut output = output.lock().expect("the callback has not panicked");
            output.write_all(data).expect("the scratch directory has room");
        });
    }
}
