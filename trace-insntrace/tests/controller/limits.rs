//! Each limit and its neighbours.

use trace_insntrace::controller::{
    ctl, Allocation, BufferConfig, BufferDescriptor, BufferState, Call, Capabilities, Controller,
    Mode, Reply, Status, ThreadKoid,
};

use crate::fake::{Fake, ALL, CPUS as CPU_COUNT, LEAST};
use crate::{call_all, ALLOCATE, ASSIGN, BUFFER, CONFIG, CPUS, RELEASE, THREAD, THREADS};

const INVALID: Result<(), Status> = Err(Status::InvalidArgs);
const UNSUPPORTED: Result<(), Status> = Err(Status::NotSupported);

fn initialize(capabilities: Capabilities, mode: Mode, num_traces: u16) -> Result<(), Status> {
    let mut controller = Controller::new(Fake::new(capabilities));
    let allocation = Allocation { mode, num_traces };
    controller.call(Call::Initialize(allocation)).map(|reply| {
        assert_eq!(reply, Reply::Done);
        let allocated = controller.call(Call::GetAllocation);
        assert_eq!(allocated, Ok(Reply::Allocation(Some(allocation))));
    })
}

#[test]
fn numbers_of_traces() {
    let threads = |count| initialize(ALL, Mode::Thread, count);
    assert_eq!([0, 1, 64, 65, u16::MAX].map(threads), [INVALID, Ok(()), Ok(()), INVALID, INVALID]);
    let cpus = |count| initialize(ALL, Mode::Cpu, count);
    let counts = [0, CPU_COUNT - 1, CPU_COUNT, CPU_COUNT + 1];
    assert_eq!(counts.map(cpus), [INVALID, INVALID, Ok(()), INVALID]);
    let many = |cpus| initialize(Capabilities { cpus, ..ALL }, Mode::Cpu, cpus);
    assert_eq!([64, 65].map(many), [Ok(()), INVALID]);
}

#[test]
fn unsupported_modes() {
    assert_eq!(initialize(LEAST, Mode::Cpu, 1), UNSUPPORTED);
    assert_eq!(initialize(Capabilities { threads: false, ..ALL }, Mode::Thread, 1), UNSUPPORTED);
}

fn allocate(capabilities: Capabilities, config: BufferConfig) -> Result<(), Status> {
    let mut controller = Controller::new(Fake::new(capabilities));
    controller.call(THREADS).unwrap();
    controller.call(Call::AllocateBuffer(config)).map(|reply| {
        assert_eq!(reply, Reply::Descriptor(BUFFER));
        let found = controller.call(Call::GetBufferConfig(BUFFER));
        assert_eq!(found, Ok(Reply::Config(config)));
    })
}

#[test]
fn sizes_of_buffers() {
    let size = |(num_chunks, chunk_order)| {
        allocate(ALL, BufferConfig { num_chunks, chunk_order, ..CONFIG })
    };
    let chunks = [(0, 0), (1, 0), (4096, 0), (4097, 0), (u32::MAX, 0)];
    assert_eq!(chunks.map(size), [INVALID, Ok(()), Ok(()), INVALID, INVALID]);
    let orders = [(1, 8), (1, 9), (1, 63), (1, 64), (1, u32::MAX)];
    assert_eq!(orders.map(size), [Ok(()), INVALID, INVALID, INVALID, INVALID]);
    // 256 MiB, and one chunk more.
    let totals = [(256, 8), (257, 8), (4096, 4), (4096, 5), (2048, 5), (2049, 5)];
    assert_eq!(totals.map(size), [Ok(()), INVALID, Ok(()), INVALID, Ok(()), INVALID]);
    let config = BufferConfig { num_chunks: 1, chunk_order: 8, ..CONFIG };
    assert_eq!(config.chunk_bytes(), 1 << 20);
}

#[test]
fn control_bits() {
    let set = |capabilities, ctl| allocate(capabilities, BufferConfig { ctl, ..CONFIG });
    for bit in 0..64 {
        let expected = if ALL.ctl >> bit & 1 == 0 { INVALID } else { Ok(()) };
        let part_of_number = [14..18, 19..23, 24..28].iter().any(|bits| bits.contains(&bit));
        if !part_of_number {
            assert_eq!(set(ALL, 1 << bit), expected, "bit {bit}");
        }
        let expected = if ctl::ALWAYS >> bit & 1 == 0 { INVALID } else { Ok(()) };
        assert_eq!(set(LEAST, 1 << bit), expected, "bit {bit}");
    }
    assert_eq!(set(LEAST, ctl::DEFAULT), Ok(()));
    assert_eq!(ctl::DEFAULT, 0x240c);
}

#[test]
fn frequencies_and_thresholds() {
    for value in 0..16 {
        let set = |ctl| allocate(ALL, BufferConfig { ctl, ..CONFIG });
        let allowed = |only| if value == 0 || value == only { Ok(()) } else { INVALID };
        assert_eq!(set(ctl::MtcFrequency::make(value)), allowed(3), "MTC frequency {value}");
        assert_eq!(set(ctl::CycleThreshold::make(value)), allowed(2), "cycle threshold {value}");
        assert_eq!(set(ctl::PsbFrequency::make(value)), allowed(5), "PSB frequency {value}");
    }
}

#[test]
fn address_ranges() {
    let set = |address_ranges_of, first, second| {
        let capabilities = Capabilities { address_ranges: address_ranges_of, ..ALL };
        allocate(capabilities, BufferConfig { address_ranges: [first, second], ..CONFIG })
    };
    let none = (0, 0);
    assert_eq!(set(2, (5, 5), (0, u64::MAX)), Ok(()));
    assert_eq!(set(2, (5, 4), none), INVALID);
    assert_eq!(set(2, none, (5, 4)), INVALID);
    assert_eq!([set(1, (1, 2), none), set(1, none, (1, 2))], [Ok(()), UNSUPPORTED]);
    assert_eq!([set(0, (1, 2), none), set(0, none, none)], [UNSUPPORTED, Ok(())]);
}

#[test]
fn address_spaces() {
    let set = |capabilities, address_space_match| {
        allocate(capabilities, BufferConfig { address_space_match, ..CONFIG })
    };
    assert_eq!([0, 0x20, 0x1000].map(|cr3| set(ALL, cr3)), [Ok(()); 3]);
    assert_eq!([1, 0x1f, 0x1001].map(|cr3| set(ALL, cr3)), [INVALID; 3]);
    assert_eq!([0, 0x1000].map(|cr3| set(LEAST, cr3)), [Ok(()), UNSUPPORTED]);
    assert_eq!([1, 0x1f, 0x1001].map(|cr3| set(LEAST, cr3)), [UNSUPPORTED; 3]);
}

#[test]
fn errors_come_in_order() {
    let mut controller = Controller::new(Fake::new(LEAST));
    let wrong = BufferConfig { num_chunks: 0, address_space_match: 0x20, ..CONFIG };
    let unsupported = BufferConfig { address_space_match: 0x20, ..CONFIG };
    let mut allocate = |config| controller.call(Call::AllocateBuffer(config));
    assert_eq!(allocate(wrong), Err(Status::BadState));
    controller.call(THREADS).unwrap();
    let mut allocate = |config| controller.call(Call::AllocateBuffer(config));
    assert_eq!(allocate(wrong), Err(Status::InvalidArgs));
    assert_eq!(allocate(unsupported), Err(Status::NotSupported));
    assert!(allocate(CONFIG).and(allocate(CONFIG)).is_ok());
    assert_eq!(allocate(wrong), Err(Status::InvalidArgs));
    assert_eq!(allocate(unsupported), Err(Status::NoResources));
    // An unsupported mode is reported first, in each state.
    assert_eq!(controller.call(CPUS), Err(Status::NotSupported));
}

#[test]
fn descriptors_are_the_lowest_free_ones() {
    let mut controller = Controller::new(Fake::new(ALL));
    controller.call(THREADS).unwrap();
    let descriptor = |number| Ok(Reply::Descriptor(BufferDescriptor(number)));
    assert_eq!([0, 1].map(|_| controller.call(ALLOCATE)), [0, 1].map(descriptor));
    assert_eq!(controller.call(ALLOCATE), Err(Status::NoResources));
    controller.call(Call::FreeBuffer(BUFFER)).unwrap();
    assert_eq!(controller.call(Call::FreeBuffer(BUFFER)), Err(Status::InvalidArgs));
    assert_eq!(controller.call(ALLOCATE), descriptor(0));
    for number in [2, u32::MAX] {
        let buffer = BufferDescriptor(number);
        let calls = [
            Call::AssignThreadBuffer(buffer, THREAD),
            Call::ReleaseThreadBuffer(buffer, THREAD),
            Call::GetBufferConfig(buffer),
            Call::GetBufferState(buffer),
            Call::GetChunkHandle(buffer, 0),
            Call::FreeBuffer(buffer),
            Call::GetSideData(buffer),
        ];
        for call in calls {
            assert_eq!(controller.call(call), Err(Status::InvalidArgs), "{call:?}");
        }
    }
}

#[test]
fn chunks_are_counted_from_0() {
    let mut controller = Controller::new(Fake::new(ALL));
    controller.call(THREADS).unwrap();
    controller.call(ALLOCATE).unwrap();
    let mut chunk = |number| controller.call(Call::GetChunkHandle(BUFFER, number));
    assert_eq!([0, 3].map(&mut chunk), [0, 3].map(|number| Ok(Reply::Chunk((0, number)))));
    assert_eq!([4, u32::MAX].map(chunk), [Err(Status::InvalidArgs), Err(Status::InvalidArgs)]);
    let state = BufferState { capture_end: 100, ..BufferState::default() };
    assert_eq!(controller.call(Call::GetBufferState(BUFFER)), Ok(Reply::State(state)));
}

#[test]
fn a_thread_has_one_buffer_and_a_buffer_one_thread() {
    let mut controller = Controller::new(Fake::new(ALL));
    let second = BufferDescriptor(1);
    let other = ThreadKoid(8);
    let calls = [THREADS, ALLOCATE, ALLOCATE, ASSIGN];
    call_all(&mut controller, &calls);
    let mut call = |call| controller.call(call).map(drop);
    assert_eq!(call(Call::AssignThreadBuffer(second, THREAD)), Err(Status::BadState));
    assert_eq!(call(Call::AssignThreadBuffer(BUFFER, other)), Err(Status::BadState));
    assert_eq!(call(Call::ReleaseThreadBuffer(BUFFER, other)), Err(Status::InvalidArgs));
    assert_eq!(call(Call::AssignThreadBuffer(second, other)), Ok(()));
    assert_eq!(call(RELEASE), Ok(()));
    assert_eq!(call(Call::Terminate), Err(Status::BadState));
    assert_eq!(call(Call::ReleaseThreadBuffer(second, other)), Ok(()));
    assert_eq!([call(Call::Terminate), call(Call::Terminate)], [Ok(()), Ok(())]);
}
