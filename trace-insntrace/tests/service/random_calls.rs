//! Random sequences of calls over a socket, compared with the model of the state machine.

use trace_insntrace::controller::{
    ctl, Call, Capabilities, Losses, Reply, SideData, Status, ThreadKoid,
};
use trace_insntrace::flow::Item;
use trace_insntrace::recording::{TraceDecoder, TraceId};
use trace_insntrace::service::{Client, Error};
use trace_insntrace::step::Engine;

use crate::model::{call, Answer, Model};
use crate::random::Random;
use crate::target::{wait_until, Target};
use crate::{fails, with_each_engine, Running, BUFFER, CONFIG};

with_each_engine! {
    calls_over_the_socket_do_what_the_model_does,
    traces_of_random_calls_are_decoded,
}

const SEQUENCES: u32 = 300;

/// The longest sequence.
const CALLS: u64 = 50;

/// What `docs/insntrace.md` says of these engines.
const BACK_END: Capabilities = Capabilities {
    cpus: 0,
    threads: true,
    address_ranges: 2,
    address_space_match: false,
    ctl: ctl::ALWAYS | ctl::PsbFrequency::make(15),
    mtc_frequencies: 0,
    cycle_thresholds: 0,
    psb_frequencies: u16::MAX,
};

/// Programs, one for each thread of the model.
struct Targets(Vec<Target>);

impl Targets {
    /// Replaces the model's number of a thread by its id.
    fn translate(&self, call: Call) -> Call {
        let id = |thread: ThreadKoid| self.0[thread.0 as usize].thread();
        match call {
            Call::AssignThreadBuffer(buffer, thread) => {
                Call::AssignThreadBuffer(buffer, id(thread))
            }
            Call::ReleaseThreadBuffer(buffer, thread) => {
                Call::ReleaseThreadBuffer(buffer, id(thread))
            }
            call => call,
        }
    }

    /// Checks that exactly the threads are traced that have a buffer while tracing is on.
    fn check(&self, model: &Model) {
        for (number, target) in (0..).zip(&self.0) {
            let is_assigned = model.buffers.iter().any(|buffer| buffer.2 == Some(number));
            assert_eq!(target.is_traced(), model.active && is_assigned, "{number} in {model:?}");
        }
    }
}

fn perform(client: &Client, call: Call) -> Result<Reply<(u32, u32)>, Error> {
    let done = |()| Reply::Done;
    match call {
        Call::Initialize(allocation) => client.initialize(allocation).map(done),
        Call::Terminate => client.terminate().map(done),
        Call::GetAllocation => client.get_allocation().map(Reply::Allocation),
        Call::AllocateBuffer(config) => client.allocate_buffer(config).map(Reply::Descriptor),
        Call::AssignThreadBuffer(buffer, thread) => {
            client.assign_thread_buffer(buffer, thread).map(done)
        }
        Call::ReleaseThreadBuffer(buffer, thread) => {
            client.release_thread_buffer(buffer, thread).map(done)
        }
        Call::GetBufferConfig(buffer) => client.get_buffer_config(buffer).map(Reply::Config),
        Call::GetBufferState(buffer) => client.get_buffer_state(buffer).map(Reply::State),
        Call::GetChunkHandle(buffer, chunk) => {
            let handle = client.get_chunk_handle(buffer, chunk)?;
            let config = client.get_buffer_config(buffer)?;
            assert_eq!(handle.metadata()?.len(), config.chunk_bytes());
            Ok(Reply::Chunk((buffer.0, chunk)))
        }
        Call::FreeBuffer(buffer) => client.free_buffer(buffer).map(done),
        Call::Start => client.start().map(done),
        Call::Stop => client.stop().map(done),
        Call::GetSideData(buffer) => {
            let written = client.get_side_data(buffer)?.written;
            Ok(Reply::SideData(SideData {
                written,
                losses: Losses::default(),
                archive: (buffer.0, u32::MAX),
            }))
        }
    }
}

/// Returns the result without what depends on the trace.
fn comparable(answer: Answer) -> Result<Option<Reply<(u32, u32)>>, Status> {
    answer.map(|reply| match reply {
        Reply::State(_) | Reply::SideData(_) => None,
        reply => Some(reply),
    })
}

fn calls_over_the_socket_do_what_the_model_does(engine: Engine) {
    let service = Running::with(engine);
    let targets = Targets((0..3).map(|_| Target::start()).collect());
    let random = &mut Random(15);
    for sequence in 0..SEQUENCES {
        // The service may still end the connection before.
        wait_until(|| Client::connect(&service.path()).is_ok_and(|client| client.close().is_ok()));
        let client = service.connect();
        let mut model = Model::new(BACK_END);
        for _ in 0..random.below(CALLS) {
            let numbers = (random.next() as u32, random.next() as u32);
            let call = call(numbers, CONFIG, false);
            let found = perform(&client, targets.translate(call));
            let found = found.map_err(|error| error.status().expect("a status"));
            let (found, expected) = (comparable(found), comparable(model.call(call)));
            assert_eq!(found, expected, "{call:?} in {model:?}, sequence {sequence}");
            if random.below(10) == 0 {
                fails(Client::connect(&service.path()), Status::AlreadyBound);
            }
            targets.check(&model);
            assert_eq!(client.is_active().unwrap(), model.active);
        }
        match sequence % 2 {
            0 => _ = client.close().unwrap(),
            _ => drop(client),
        }
        wait_until(|| targets.0.iter().all(|target| !target.is_traced()));
    }
    targets.0.into_iter().for_each(Target::finish);
}

/// Starts, stops, assignments and releases at random leave traces that can be decoded.
fn traces_of_random_calls_are_decoded(engine: Engine) {
    let service = Running::with(engine);
    let mut target = Target::start();
    let random = &mut Random(16);
    let client = service.connect();
    client.initialize(crate::THREADS).unwrap();
    client.allocate_buffer(CONFIG).unwrap();
    let thread = target.thread();
    for _ in 0..40 {
        target.write_lines(2);
        // Each of them fails in some states.
        let _result = match random.below(5) {
            0 => client.assign_thread_buffer(BUFFER, thread),
            1 => client.release_thread_buffer(BUFFER, thread),
            2 | 3 => client.start(),
            _ => client.stop(),
        };
    }
    // Whatever the state was, the thread is traced now.
    let _results = (client.assign_thread_buffer(BUFFER, thread), client.start());
    let written = || client.get_buffer_state(BUFFER).unwrap().capture_end;
    let before = written();
    target.write_lines(20);
    wait_until(|| written() > before + 1000);
    client.stop().unwrap();
    let data = client.trace_data(BUFFER).unwrap();
    let mut decoder = TraceDecoder::new(&data.notes, TraceId(0), &data.packets[..]);
    let mut instructions = 0;
    while let Some(item) = decoder.next_item().unwrap() {
        instructions += u64::from(matches!(item.unwrap(), Item::Instruction(_)));
    }
    assert!(instructions > 500, "{instructions}");
    client.close().unwrap();
    target.finish();
}
