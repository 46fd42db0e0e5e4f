//! The controller's state machine: each call in each state, each limit, and random sequences.

mod fake;
mod limits;
#[path = "../common/model.rs"]
mod model;
mod random;
mod table;

use fake::Fake;
use trace_insntrace::controller::{
    Allocation, BufferConfig, BufferDescriptor, Call, Controller, Mode, ThreadKoid,
};

const BUFFER: BufferDescriptor = BufferDescriptor(0);
const THREAD: ThreadKoid = ThreadKoid(7);

const CONFIG: BufferConfig = BufferConfig {
    num_chunks: 4,
    chunk_order: 2,
    is_circular: true,
    ctl: trace_insntrace::controller::ctl::DEFAULT,
    address_space_match: 0,
    address_ranges: [(0, 0); 2],
};

const CPUS: Call = Call::Initialize(Allocation { mode: Mode::Cpu, num_traces: fake::CPUS });
const THREADS: Call = Call::Initialize(Allocation { mode: Mode::Thread, num_traces: 2 });
const ALLOCATE: Call = Call::AllocateBuffer(CONFIG);
const ASSIGN: Call = Call::AssignThreadBuffer(BUFFER, THREAD);
const RELEASE: Call = Call::ReleaseThreadBuffer(BUFFER, THREAD);

/// Makes calls that succeed.
fn call_all(controller: &mut Controller<Fake>, calls: &[Call]) {
    for call in calls {
        controller.call(*call).unwrap();
    }
}
