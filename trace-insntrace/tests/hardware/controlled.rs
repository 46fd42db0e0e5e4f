//! The controller with the back end of the processor, and areas that another engine has written.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use trace_insntrace::controller::{
    ctl, Allocation, BufferConfig, BufferDescriptor, BufferState, Call, Controller, Losses, Mode,
    Reply, Status, MAX_TRACES,
};
use trace_insntrace::flow::Item;
use trace_insntrace::hardware::Settings;
use trace_insntrace::pt;
use trace_insntrace::recording::{Recording, TraceDecoder};
use trace_insntrace::service::HardwareBackend;
use trace_insntrace::step::{Options, Tracer};
use trace_kernel::perf_event::{online, Target as EventTarget};
use trace_protocol::clock;

use crate::replayed::Replayed;
use crate::required::lacks;
use crate::side::of_this_thread;
use crate::stepped::{options, Stepped, FIRST};
use crate::sysfs::Sysfs;
use crate::target::Target;

/// What areas have written, of one test at a time.
static PACKETS: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const CONFIG: BufferConfig = BufferConfig {
    num_chunks: 64,
    chunk_order: 0,
    is_circular: false,
    ctl: ctl::DEFAULT,
    address_space_match: 0,
    address_ranges: [(0, 0); 2],
};

const FOUR_CHUNKS: BufferConfig = BufferConfig { num_chunks: 4, ..CONFIG };

type Controlled = Controller<HardwareBackend<Replayed>>;

fn controller() -> Controlled {
    controller_of(open)
}

fn controller_of(
    open: fn(&Settings, EventTarget, Option<u16>) -> io::Result<Replayed>,
) -> Controlled {
    let pmu = Sysfs::new().read().unwrap();
    Controller::new(HardwareBackend::with_areas(pmu, 1 << 30, open))
}

/// Opens an area that has the packets.
fn open(settings: &Settings, target: EventTarget, cpu: Option<u16>) -> io::Result<Replayed> {
    let is_of_cpu = target == EventTarget::Cpu;
    assert_eq!(is_of_cpu, cpu.is_some());
    assert!(is_of_cpu || matches!(target, EventTarget::OneThread(_)));
    let packets = PACKETS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Replayed::new(packets, settings.overwrites)
}

/// Opens an area of any CPU but the last one, which is offline.
fn open_but_last(
    settings: &Settings,
    target: EventTarget,
    cpu: Option<u16>,
) -> io::Result<Replayed> {
    match cpu == online().last().copied() {
        true => Err(io::Error::from_raw_os_error(libc::ENODEV)),
        false => open(settings, target, cpu),
    }
}

fn done(controller: &mut Controlled, call: Call) {
    assert!(matches!(controller.call(call), Ok(Reply::Done)), "{call:?}");
}

fn allocate(controller: &mut Controlled, config: BufferConfig) -> BufferDescriptor {
    match controller.call(Call::AllocateBuffer(config)) {
        Ok(Reply::Descriptor(descriptor)) => descriptor,
        other => panic!("{other:?}"),
    }
}

fn state(controller: &mut Controlled, buffer: BufferDescriptor) -> BufferState {
    match controller.call(Call::GetBufferState(buffer)) {
        Ok(Reply::State(state)) => state,
        other => panic!("{other:?}"),
    }
}

fn capture_end(controller: &mut Controlled, buffer: BufferDescriptor) -> u64 {
    state(controller, buffer).capture_end
}

/// Returns the first bytes of a buffer, and its archive.
fn read(controller: &mut Controlled, buffer: BufferDescriptor) -> (Vec<u8>, Vec<u8>) {
    let side = match controller.call(Call::GetSideData(buffer)) {
        Ok(Reply::SideData(side)) => side,
        other => panic!("{other:?}"),
    };
    let mut bytes = Vec::new();
    for chunk in 0..side.written.div_ceil(4096) as u32 {
        let chunk: OwnedFd = match controller.call(Call::GetChunkHandle(buffer, chunk)) {
            Ok(Reply::Chunk(chunk)) => chunk,
            other => panic!("{other:?}"),
        };
        let mut part = vec![0; 4096];
        File::from(chunk).read_exact_at(&mut part, 0).unwrap();
        bytes.extend(part);
    }
    bytes.truncate(side.written as usize);
    let mut archive = Vec::new();
    File::from(side.archive).read_to_end(&mut archive).unwrap();
    (bytes, archive)
}

#[test]
fn the_buffer_of_a_thread_is_decoded() {
    if of_this_thread().is_none() {
        return;
    }
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut target = Target::start();
    let thread = target.thread();
    let options = Options { clock: clock::ticks, ..options(pt::Writer::new()) };
    let mut tracer = Tracer::attach_thread(thread.0 as u32, options).unwrap();
    target.write_lines(3);
    let mut stepped = Stepped::default();
    while stepped.executed.len() < 3000 {
        stepped.executed.push(tracer.step().unwrap().unwrap());
    }
    tracer.stop().unwrap();
    while let Some(executed) = tracer.step().unwrap() {
        stepped.executed.push(executed);
    }
    stepped.drain(&mut tracer);
    drop(tracer);
    let packets = stepped.packets[&FIRST].clone();
    *PACKETS.lock().unwrap_or_else(PoisonError::into_inner) = packets.clone();

    for is_circular in [false, true] {
        let mut controller = controller();
        let allocation = Allocation { mode: Mode::Thread, num_traces: 4 };
        done(&mut controller, Call::Initialize(allocation));
        let buffer = allocate(&mut controller, BufferConfig { is_circular, ..CONFIG });
        done(&mut controller, Call::AssignThreadBuffer(buffer, thread));
        assert_eq!(capture_end(&mut controller, buffer), 0);
        done(&mut controller, Call::Start);
        // The packets are in the area, and then in the buffer.
        assert_eq!(capture_end(&mut controller, buffer), packets.len() as u64);
        done(&mut controller, Call::Stop);
        assert_eq!(capture_end(&mut controller, buffer), packets.len() as u64);
        let (bytes, archive) = read(&mut controller, buffer);
        assert!(bytes == packets);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("insn.side.fxt"), archive).unwrap();
        let recording = Recording::open(folder.path()).unwrap();
        let [trace] = &recording.traces()[..] else { panic!("{:?}", recording.traces()) };
        assert_eq!((u64::from(trace.tid), &*trace.name), (thread.0, "sh"));
        let mut decoder = TraceDecoder::new(recording.notes(), trace.id, &bytes[..]);
        let mut found = Vec::new();
        while let Some(item) = decoder.next_item().unwrap() {
            if let Item::Instruction(instruction) = item.unwrap() {
                found.push(instruction.ip);
            }
        }
        assert!(found == stepped.executed_by(FIRST), "{} instructions", found.len());
        done(&mut controller, Call::ReleaseThreadBuffer(buffer, thread));
        done(&mut controller, Call::FreeBuffer(buffer));
    }
    target.finish();
}

#[test]
fn a_buffer_has_what_is_missing() {
    if of_this_thread().is_none() {
        return;
    }
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // The area is full up to a byte.
    *PACKETS.lock().unwrap_or_else(PoisonError::into_inner) = vec![7; (1 << 14) - 1];
    let mut controller = controller();
    done(&mut controller, Call::Initialize(Allocation { mode: Mode::Thread, num_traces: 1 }));
    let buffer = allocate(&mut controller, CONFIG);
    let target = Target::start();
    done(&mut controller, Call::AssignThreadBuffer(buffer, target.thread()));
    for truncated in 1..3 {
        let losses = Losses { truncated, ..Losses::default() };
        done(&mut controller, Call::Start);
        for _ in 0..2 {
            assert_eq!(state(&mut controller, buffer).losses, losses, "while tracing is on");
        }
        done(&mut controller, Call::Stop);
        assert_eq!(state(&mut controller, buffer).losses, losses);
        let side = match controller.call(Call::GetSideData(buffer)) {
            Ok(Reply::SideData(side)) => side,
            other => panic!("{other:?}"),
        };
        assert_eq!(side.losses, losses);
    }
    target.finish();
}

/// Opens an area with a record about packets that did not fit, one about a gap, and one about 30
/// lost records.
fn open_with_losses(
    settings: &Settings,
    target: EventTarget,
    cpu: Option<u16>,
) -> io::Result<Replayed> {
    let mut area = open(settings, target, cpu)?.with_space();
    for (kind, fields) in [(11_u32, &[0, 0, 1_u64][..]), (11, &[0, 0, 1 << 2]), (2, &[1, 30])] {
        let size = 8 + 8 * fields.len() as u16;
        area.records.extend([&kind.to_ne_bytes()[..], &[0, 0], &size.to_ne_bytes()].concat());
        area.records.extend(fields.iter().flat_map(|field| field.to_ne_bytes()));
    }
    Ok(area)
}

#[test]
fn the_state_of_a_buffer_has_what_the_kernel_has_reported() {
    if of_this_thread().is_none() {
        return;
    }
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    *PACKETS.lock().unwrap_or_else(PoisonError::into_inner) = vec![0; 20_000];
    let losses = Losses { truncated: 1, gaps: 1, records: 30 };
    for (config, is_circular, expected) in [
        (CONFIG, false, BufferState { capture_end: 20_000, is_full: false, losses }),
        (CONFIG, true, BufferState { capture_end: 20_000, is_full: false, losses }),
        // The buffer is smaller than the area.
        (FOUR_CHUNKS, false, BufferState { capture_end: 16_384, is_full: true, losses }),
    ] {
        let mut controller = controller_of(open_with_losses);
        done(&mut controller, Call::Initialize(Allocation { mode: Mode::Thread, num_traces: 1 }));
        let buffer = allocate(&mut controller, BufferConfig { is_circular, ..config });
        assert_eq!(state(&mut controller, buffer), BufferState::default());
        let target = Target::start();
        done(&mut controller, Call::AssignThreadBuffer(buffer, target.thread()));
        done(&mut controller, Call::Start);
        for _ in 0..2 {
            assert_eq!(state(&mut controller, buffer), expected);
        }
        done(&mut controller, Call::Stop);
        assert_eq!(state(&mut controller, buffer), expected);
        target.finish();
    }
}

/// Returns the number of CPUs, or `None` if a controller has not that many buffers.
fn cpus() -> Option<u16> {
    let cpus = u16::try_from(online().len()).ok().filter(|cpus| *cpus <= MAX_TRACES);
    if cpus.is_none() {
        eprintln!("skipped: there are more than {MAX_TRACES} CPUs");
    }
    cpus
}

/// Traces all CPUs. Returns the bytes and the archive of each buffer, or `None` where the kernel
/// permits no side events, or there are too many CPUs.
fn of_cpus(mut controller: Controlled, config: BufferConfig) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    of_this_thread()?;
    let cpus = cpus()?;
    let allocation = Allocation { mode: Mode::Cpu, num_traces: cpus };
    done(&mut controller, Call::Initialize(allocation));
    let buffers: Vec<_> = (0..cpus).map(|_| allocate(&mut controller, config)).collect();
    match controller.call(Call::Start) {
        Err(Status::AccessDenied) => {
            lacks("permission for events of all CPUs");
            return None;
        }
        started => assert!(matches!(started, Ok(Reply::Done)), "{started:?}"),
    }
    done(&mut controller, Call::Stop);
    Some(buffers.into_iter().map(|buffer| read(&mut controller, buffer)).collect())
}

#[test]
fn each_cpu_has_its_buffer() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    *PACKETS.lock().unwrap_or_else(PoisonError::into_inner) = vec![7; 10_000];
    let Some(found) = of_cpus(controller(), FOUR_CHUNKS) else { return };
    for ((bytes, archive), cpu) in found.into_iter().zip(online()) {
        assert!(bytes == [7; 10_000]);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("insn.side.fxt"), archive).unwrap();
        let recording = Recording::open(folder.path()).unwrap();
        let [trace] = &recording.traces()[..] else { panic!("{:?}", recording.traces()) };
        assert_eq!((trace.pid, trace.tid), (0, cpu.into()));
        assert_eq!(trace.name, format!("CPU {cpu}"));
    }
}

#[test]
fn the_buffer_of_a_cpu_that_is_offline_is_empty() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    *PACKETS.lock().unwrap_or_else(PoisonError::into_inner) = vec![7; 10_000];
    let Some(found) = of_cpus(controller_of(open_but_last), FOUR_CHUNKS) else { return };
    let sizes: Vec<_> = found.iter().map(|(bytes, _)| bytes.len()).collect();
    let others = vec![10_000; online().len() - 1];
    assert_eq!(sizes, [others, vec![0]].concat());
}

/// Opens no area: all CPUs are offline.
fn open_none(_: &Settings, _: EventTarget, _: Option<u16>) -> io::Result<Replayed> {
    Err(io::Error::from_raw_os_error(libc::ENODEV))
}

#[test]
fn tracing_does_not_start_if_all_cpus_are_offline() {
    let (Some(_), Some(cpus)) = (of_this_thread(), cpus()) else { return };
    let mut controller = controller_of(open_none);
    done(&mut controller, Call::Initialize(Allocation { mode: Mode::Cpu, num_traces: cpus }));
    let buffers: Vec<_> = (0..cpus).map(|_| allocate(&mut controller, FOUR_CHUNKS)).collect();
    for _ in 0..2 {
        match controller.call(Call::Start) {
            Err(Status::AccessDenied) => return lacks("permission for events of all CPUs"),
            started => assert_eq!(started.map(drop), Err(Status::NotSupported)),
        }
        // Tracing is off.
        assert!(read(&mut controller, buffers[0]).0.is_empty());
    }
}

/// The sizes of the areas that were opened last.
static SIZES: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// Opens areas of 32 KiB for each CPU together.
fn open_in_little_memory(
    settings: &Settings,
    target: EventTarget,
    cpu: Option<u16>,
) -> io::Result<Replayed> {
    let mut sizes = SIZES.lock().unwrap_or_else(PoisonError::into_inner);
    if cpu == online().first().copied() {
        sizes.clear();
    }
    if sizes.iter().sum::<u64>() + settings.aux_bytes > 32_768 * online().len() as u64 {
        return Err(io::Error::from_raw_os_error(libc::ENOMEM));
    }
    sizes.push(settings.aux_bytes);
    open(settings, target, cpu)
}

#[test]
fn all_areas_are_smaller_if_memory_is_short() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    *PACKETS.lock().unwrap_or_else(PoisonError::into_inner) = vec![7; 10_000];
    let Some(found) = of_cpus(controller_of(open_in_little_memory), CONFIG) else { return };
    assert!(found.iter().all(|(bytes, _)| *bytes == [7; 10_000]));
    let sizes = SIZES.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(*sizes, vec![32_768; online().len()]);
}

#[test]
fn a_thread_that_has_ended_has_no_packets() {
    if of_this_thread().is_none() {
        return;
    }
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut controller = controller();
    done(&mut controller, Call::Initialize(Allocation { mode: Mode::Thread, num_traces: 1 }));
    let buffer = allocate(&mut controller, CONFIG);
    let target = Target::start();
    done(&mut controller, Call::AssignThreadBuffer(buffer, target.thread()));
    target.finish();
    done(&mut controller, Call::Start);
    done(&mut controller, Call::Stop);
    assert!(read(&mut controller, buffer).0.is_empty());
}
