//! The area of a CPU on which processes take turns, as the processor would write it.

use std::fs;
use std::path::Path;

use trace_kernel::perf_data::AuxEvent;

use super::*;
use crate::flow::Item;
use crate::hardware::{AuxArea, Collector};
use crate::pt::{ExecMode, PsbState, Writer};
use crate::recording::TraceDecoder;

const CPU: u32 = 3;

/// The address of both programs.
const BASE: u64 = 0x1000;

/// An area that the processor has written.
struct Written {
    bytes: Vec<u8>,
    head: u64,
    overwrites: bool,
}

impl AuxArea for Written {
    fn size(&self) -> usize {
        self.bytes.len()
    }

    fn head(&self) -> u64 {
        match self.overwrites {
            true => self.head % self.bytes.len() as u64,
            false => self.head,
        }
    }

    fn set_tail(&mut self, _: u64) {}

    fn append_to(&self, bytes: &mut Vec<u8>, start: usize, length: usize) {
        bytes.extend_from_slice(&self.bytes[start..start + length]);
    }

    fn take_records(&mut self) -> Vec<u8> {
        Vec::new()
    }
}

/// Writes an ELF file with `dec ecx; jnz BASE; syscall` behind as many `nop`. Returns its mapping
/// in a process of this number.
fn program(folder: &Path, process: u32, nops: usize) -> AuxEvent {
    let path = folder.join(process.to_string());
    let back = 0xfc_u8 - nops as u8;
    let mut file = b"\x7fELF".to_vec();
    file.resize(0x1000, 0);
    file.extend(vec![0x90; nops]);
    file.extend([0xff, 0xc9, 0x75, back, 0x0f, 0x05]);
    fs::write(&path, file).unwrap();
    let path = path.to_str().unwrap().to_owned();
    let (address, build_id) = (BASE, Vec::new());
    AuxEvent::Mapped { process, address, size: 0x1000, offset: 0x1000, path, build_id }
}

/// Returns the executed addresses of a program that makes this many rounds.
fn executed(nops: u64, rounds: usize) -> Vec<u64> {
    let round = (0..nops).chain([nops, nops + 2]).map(|at| BASE + at);
    round.collect::<Vec<_>>().repeat(rounds).into_iter().chain([BASE + nops + 4]).collect()
}

/// The turns of two processes: the time, the process and the number of rounds.
fn turns() -> Vec<(u64, u32, usize)> {
    (0..40).map(|turn| (1000 * (turn + 1), (turn % 2) as u32 + 1, turn as usize % 7 + 1)).collect()
}

/// Returns the packets of the CPU, with PSB+ in each fourth turn.
fn packets() -> Vec<u8> {
    let mut writer = Writer::new();
    for (index, (time, _, rounds)) in turns().into_iter().enumerate() {
        let tsc = Some(time + 10);
        if index % 4 == 0 {
            writer.psb(PsbState { tsc, cbr: None, mode: ExecMode::LONG, ip: None });
        } else {
            writer.packet(Packet::Tsc(time + 10));
        }
        writer.enable(BASE, ExecMode::LONG);
        (1..rounds).for_each(|_| writer.conditional(true));
        writer.conditional(false);
        writer.disable(None);
    }
    writer.take()
}

/// Returns the addresses that a buffer of these packets is decoded to.
fn decoded(folder: &Path, packets: &[u8]) -> Vec<u64> {
    let (found, errors) = decoded_with(folder, packets, turns().len());
    assert_eq!(errors, 0);
    found
}

/// Returns the addresses, and the number of errors, if only the switches of the first turns are
/// known.
fn decoded_with(folder: &Path, packets: &[u8], known: usize) -> (Vec<u64>, usize) {
    let mut events = vec![(1, program(folder, 1, 0)), (1, program(folder, 2, 1))];
    for (time, process, _) in turns().into_iter().take(known) {
        events.push((time, AuxEvent::Entered { cpu: CPU, process, thread: process }));
        events.push((time + 500, AuxEvent::Left { cpu: CPU }));
    }
    let timeline = Timeline::new(events).unwrap();
    let queue = AuxQueue { index: CPU, thread: None, cpu: Some(CPU) };
    let notes = notes_of_buffer(TraceId(0), queue, packets, &timeline, Timing::default());
    let mut decoder = TraceDecoder::new(&notes, TraceId(0), packets);
    let (mut found, mut errors) = (Vec::new(), 0);
    while let Some(item) = decoder.next_item().unwrap() {
        match item {
            Ok(Item::Instruction(instruction)) => found.push(instruction.ip),
            Ok(_) => {}
            Err(_) => errors += 1,
        }
    }
    (found, errors)
}

/// The last switch that is known is that of a thread that leaves the CPU.
#[test]
fn packets_of_unknown_threads_are_not_decoded_with_the_code_of_others() {
    let folder = tempfile::tempdir().unwrap();
    for known in [0, 1, 8] {
        let (found, errors) = decoded_with(folder.path(), &packets(), known);
        let turns = turns().into_iter().take(known);
        let expected: Vec<u64> = turns
            .flat_map(|(_, process, rounds)| executed(u64::from(process) - 1, rounds))
            .collect();
        assert_eq!(found, expected);
        assert!(errors > 0, "code is missing");
    }
}

#[test]
fn each_turn_on_a_cpu_is_decoded_with_the_code_of_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = packets();
    let (head, size) = (bytes.len() as u64, bytes.len().next_power_of_two().max(1 << 14));
    bytes.resize(size, 0);
    let taken = Collector::new().take(&mut Written { bytes, head, overwrites: false });
    let turns = turns().into_iter();
    let expected: Vec<u64> =
        turns.flat_map(|(_, process, rounds)| executed(u64::from(process) - 1, rounds)).collect();
    assert_eq!(decoded(folder.path(), &taken), expected);
}

#[test]
fn an_area_that_was_overwritten_is_decoded_from_its_first_psb_on() {
    let folder = tempfile::tempdir().unwrap();
    let packets = packets();
    let size = 512;
    assert!(packets.len() > size);
    let mut bytes = vec![0; size];
    for (at, byte) in packets.iter().enumerate() {
        bytes[at % size] = *byte;
    }
    let mut area = Written { bytes, head: packets.len() as u64, overwrites: true };
    let taken = Collector::new().take_overwritten(&mut area);
    let found = decoded(folder.path(), &taken);
    // Each fourth turn begins with PSB+.
    let of_last = |count: usize| {
        let last = turns().into_iter().skip(40 - count);
        let addresses =
            last.flat_map(|(_, process, rounds)| executed(u64::from(process) - 1, rounds));
        addresses.collect::<Vec<_>>()
    };
    let wholes: Vec<_> = (1..10).map(|fours| of_last(4 * fours)).collect();
    assert!(wholes.contains(&found), "{} instructions", found.len());
}
