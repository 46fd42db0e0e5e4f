//! A file of perf with buffers of CPUs, on which threads take turns.

use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::path::Path;

use trace_insntrace::perf_data::{read, ImportError, Imported};
use trace_insntrace::pt::{ExecMode, PsbState, Writer};
use trace_insntrace::recording::{Recording, Trace};

use crate::decode;

/// The address of both programs.
const BASE: u64 = 0x1000;

/// The offset of their code in their files.
const CODE_OFFSET: usize = 0x1000;

/// `dec ecx; jnz BASE; syscall`, behind as many `nop`.
fn program(nops: usize) -> Vec<u8> {
    let back = 0xfc_u8 - nops as u8;
    [&vec![0x90; nops][..], &[0xff, 0xc9, 0x75, back, 0x0f, 0x05]].concat()
}

/// The file of a program: only ELF files have code.
pub(crate) fn executable(nops: usize) -> Vec<u8> {
    let mut file = b"\x7fELF".to_vec();
    file.resize(CODE_OFFSET, 0);
    [file, program(nops)].concat()
}

/// The executed addresses of a program that makes this many rounds.
pub(crate) fn executed(nops: u64, rounds: usize) -> Vec<u64> {
    let round = (0..nops).chain([nops, nops + 2]).map(|at| BASE + at);
    round.collect::<Vec<_>>().repeat(rounds).into_iter().chain([BASE + nops + 4]).collect()
}

fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let size = 8 + body.len() as u16;
    [&kind.to_le_bytes()[..], &misc.to_le_bytes(), &size.to_le_bytes(), body].concat()
}

fn longs(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn text(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(bytes.len() / 8 * 8 + 8, 0);
    bytes
}

/// A record of the kernel about a thread, which is the only one of its process.
fn event(kind: u32, misc: u16, body: &[u8], (task, cpu, time): (u64, u64, u64)) -> Vec<u8> {
    let id = longs(&[task | task << 32, time, cpu, 1]);
    record(kind, misc, &[body, &id].concat())
}

/// The records of a process that executes a file.
pub(crate) fn process(task: u64, path: &Path) -> Vec<u8> {
    let ids = longs(&[task | task << 32]);
    let comm = [ids.clone(), text(&format!("task{task}"))].concat();
    let mapped = longs(&[BASE, 0x1000, CODE_OFFSET as u64, 0, 0, 0, 5 | 2 << 32]);
    let mapped = [ids, mapped, text(path.to_str().unwrap())].concat();
    [event(3, 0, &comm, (task, 0, 1)), event(10, 2, &mapped, (task, 0, 1))].concat()
}

pub(crate) fn switch(is_in: bool, task: u64, cpu: u64, time: u64) -> Vec<u8> {
    event(14, if is_in { 0 } else { 1 << 13 }, &[], (task, cpu, time))
}

/// The packets of a CPU that executes programs from these times on, for so many rounds.
fn cpu(periods: &[(u64, usize)]) -> Vec<u8> {
    let mut writer = Writer::new();
    for (index, (time, rounds)) in periods.iter().enumerate() {
        if index == 0 {
            let mode = ExecMode::LONG;
            writer.psb(PsbState { tsc: Some(*time), cbr: None, mode, ip: None });
        } else {
            writer.packet(trace_insntrace::pt::Packet::Tsc(*time));
        }
        writer.enable(BASE, ExecMode::LONG);
        (1..*rounds).for_each(|_| writer.conditional(true));
        writer.conditional(false);
        writer.disable(None);
    }
    let mut packets = writer.take();
    packets.resize(packets.len().next_multiple_of(8), 0);
    packets
}

pub(crate) fn buffer(index: u32, packets: &[u8]) -> Vec<u8> {
    let numbers = longs(&[packets.len() as u64, 0, 0]);
    let place = [index, u32::MAX, index, 0].map(u32::to_le_bytes).concat();
    [record(71, 0, &[numbers, place].concat()), packets.to_vec()].concat()
}

const MAGIC: u64 = u64::from_le_bytes(*b"PERFILE2");

/// The only event, without its id 1.
fn attribute() -> Vec<u8> {
    // TID, TIME, CPU and IDENTIFIER; `sample_id_all`, `context_switch`.
    let sample_type = 1 << 1 | 1 << 2 | 1 << 7 | 1 << 16;
    let mut event = longs(&[8 | 112 << 32, 0x2401, 1, sample_type, 0, 1 << 18 | 1 << 26]);
    event.resize(112, 0);
    event
}

/// A file with a clock that counts time stamps.
pub(crate) fn file(data: &[u8]) -> Vec<u8> {
    let header = longs(&[MAGIC, 104, 128, 112, 128, 240]);
    let sizes = longs(&[data.len() as u64, 0, 0, 0, 0, 0, 0, 1]);
    [&header[..], &sizes, &attribute(), &longs(&[104, 8]), data].concat()
}

/// The same, as perf writes it to a pipe.
fn pipe(data: &[u8]) -> Vec<u8> {
    let event = record(64, 0, &[attribute(), longs(&[1])].concat());
    [&longs(&[MAGIC, 16])[..], &event, data].concat()
}

pub(crate) fn info(has_snapshots: bool) -> Vec<u8> {
    let mut fields = [0; 18];
    (fields[0], fields[1], fields[3], fields[5]) = (1, 8, 1, 1);
    fields[9] = has_snapshots.into();
    record(70, 0, &longs(&fields))
}

/// Returns the decoded addresses of each thread, whose name is that of [`process`].
pub(crate) fn instructions(recording: &Recording) -> BTreeMap<u32, Vec<u64>> {
    let of_trace = |trace: Trace| {
        assert_eq!((trace.pid, &*trace.name), (trace.tid, &*format!("task{}", trace.tid)));
        (trace.tid, decode(recording, trace.id))
    };
    recording.traces().into_iter().map(of_trace).collect()
}

#[test]
fn buffers_of_cpus_are_divided_among_threads_in_files_and_the_output_of_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("one"), executable(0)).unwrap();
    fs::write(path("two"), executable(1)).unwrap();
    let data = [
        info(false),
        buffer(0, &cpu(&[(100, 1), (300, 2), (600, 3), (900, 7)])),
        buffer(1, &cpu(&[(400, 4), (700, 5)])),
        process(1, &path("one")),
        process(2, &path("two")),
        switch(true, 1, 0, 90),
        switch(false, 1, 0, 200),
        switch(true, 2, 0, 290),
        switch(true, 1, 1, 390),
        switch(false, 1, 1, 500),
        switch(false, 2, 0, 510),
        switch(true, 1, 0, 590),
        switch(true, 2, 1, 690),
        switch(false, 1, 0, 650),
    ]
    .concat();
    let one = [1, 4, 3].map(|rounds| executed(0, rounds)).concat();
    let two = [2, 5].map(|rounds| executed(1, rounds)).concat();
    let expected = BTreeMap::from([(1, one), (2, two)]);
    for (name, bytes) in [("of file", file(&data)), ("of pipe", pipe(&data))] {
        let (recording, imported) = read(Cursor::new(bytes), &path(name)).unwrap();
        // At 900, no thread is on the CPU.
        assert_eq!(imported, Imported { unattributed: 1, missing: Vec::new() });
        assert_eq!(instructions(&recording), expected, "{name}");
    }
}

#[test]
fn other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let import = |bytes: Vec<u8>, name: &str| {
        read(Cursor::new(bytes), &folder.path().join(name)).unwrap_err()
    };
    assert!(matches!(import(b"none".to_vec(), "a"), ImportError::File(_)));
    let without = process(1, Path::new("/bin/true"));
    assert!(matches!(import(file(&without), "b"), ImportError::NoPackets));
    let short = record(70, 0, &longs(&[1, 8]));
    let packets = buffer(0, &cpu(&[(1, 1)]));
    assert!(matches!(import(file(&[short, packets].concat()), "c"), ImportError::NoTime));
    let data = [info(false), buffer(0, &cpu(&[(1, 1)])), without].concat();
    for whole in [file(&data), pipe(&data)] {
        for length in 0..whole.len() {
            let name = format!("cut {length} of {}", whole.len());
            // Any part of a file is an error or a recording, and no panic.
            let _result = read(Cursor::new(&whole[..length]), &folder.path().join(name));
        }
    }
    let no_event = [&longs(&[MAGIC, 16])[..], &data].concat();
    assert!(matches!(import(no_event, "d"), ImportError::File(_)));
}
