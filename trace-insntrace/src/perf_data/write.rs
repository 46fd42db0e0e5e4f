//! The export of a recording.

use std::io::{self, Read, Write};
use std::path::Path;

use super::code::{CodeFiles, Located};
use super::code_directory::CodeDirectory;
use super::layout::{
    info, Fields, TimeConversion, ATTRIBUTE_BYTES, AUXTRACE, AUXTRACE_INFO, COMM, HEADER_BYTES,
    INTEL_PT, ITRACE_START, MAGIC, MISC_USER, MMAP2,
};
use crate::flow::Image;
use crate::print::{PrintError, Summary};
use crate::pt::{Packet, PacketDecoder};
use crate::recording::{Mapping, Note, Recording, SpaceId, Trace};

/// The type of the event. perf compares it only with that in `AUXTRACE_INFO`.
const PMU_TYPE: u32 = 8;

/// The event's id, at the end of each record.
const EVENT_ID: u64 = 1;

/// Bits of `config`, which are those of the control register: tracing, TSC, branches.
const TSC_BIT: u64 = 1 << 10;
const UNCOMPRESSED_BIT: u64 = 1 << 11;
const CONFIG: u64 = 1 | TSC_BIT | 1 << 13;

/// `sample_type`: the address, the thread, the time and the event's id.
const SAMPLE_TYPE: u64 = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 16;

/// Flags: no kernel, no hypervisor, and ids in all records.
const FLAGS: u64 = 1 << 5 | 1 << 6 | 1 << 18;

/// The number of an event's CPU if it belongs to a thread.
const ANY_CPU: u32 = u32::MAX;

/// A record of the kernel, with its time.
type Timed = (u64, Vec<u8>);

/// A part of a trace that is decoded with the code of one moment.
#[derive(Debug, Clone, Copy)]
struct Part {
    offset: u64,
    space: SpaceId,
    /// The number of notes before it.
    notes: usize,
    /// The first time stamp in it.
    ticks: Option<u64>,
}

/// Writes the traces `chosen` of a recording as a file of perf. Code that no file has is written to
/// files in `code`, which is created if it is required.
///
/// Call [`CodeDirectory::complete`] when the file of perf is complete and has its name. Otherwise
/// the files of its code are removed.
///
/// # Errors
///
/// Fails if the recording cannot be read, if a trace has no time stamps, or if the output fails.
pub fn write(
    recording: &Recording,
    chosen: &[Trace],
    mut out: impl Write,
    code: &Path,
) -> Result<(Summary, CodeDirectory), PrintError> {
    let conversion = TimeConversion::of_rate(recording.ticks_per_second());
    let mut files = CodeFiles::new(code);
    let (mut timed, mut packets) = (Vec::new(), Vec::new());
    for trace in chosen {
        let (parts, size) = scan(recording, trace)?;
        add_records(recording, trace, &parts, conversion, &mut files, &mut timed)?;
        let first = parts.first().and_then(|part| part.ticks);
        packets.push(Packets { trace, size, reference: first.unwrap_or(0) });
    }
    timed.sort_by_key(|(time, _)| *time);
    let data = Data { info: info(conversion), packets, timed };
    out.write_all(&header(data.size())).map_err(PrintError::Output)?;
    data.write(recording, &mut out)?;
    let summary = Summary { traces: chosen.len() as u64, ..Summary::default() };
    Ok((summary, files.into_directory()))
}

/// Finds the parts of a trace, and its size.
fn scan(recording: &Recording, trace: &Trace) -> Result<(Vec<Part>, u64), PrintError> {
    let mut parts = parts(recording.notes(), trace);
    let mut input = recording.packets(trace.id).map_err(PrintError::Recording)?;
    let mut decoder = PacketDecoder::new();
    let (mut piece, mut size, mut next) = (vec![0; 1 << 16], 0, 0);
    loop {
        let count = input.read(&mut piece).map_err(PrintError::Packets)?;
        if count == 0 {
            break;
        }
        size += count as u64;
        decoder.push(piece.get(..count).unwrap_or_default());
        while let Some(found) = decoder.next_packet() {
            let Ok(found) = found else { continue };
            let Packet::Tsc(ticks) = found.packet else { continue };
            while let Some(part) = parts.get_mut(next).filter(|part| part.offset <= found.offset) {
                part.ticks = Some(ticks);
                next += 1;
            }
        }
    }
    Ok((parts, size))
}

fn parts(notes: &[Note], of: &Trace) -> Vec<Part> {
    let part = |(notes, note): (usize, &Note)| match note {
        Note::Position { trace, offset, space } if *trace == of.id => {
            Some(Part { offset: *offset, space: *space, notes, ticks: None })
        }
        _ => None,
    };
    notes.iter().enumerate().filter_map(part).collect()
}

/// Adds the records of a thread: its name, the begin of its trace, and the code of each part.
fn add_records(
    recording: &Recording,
    trace: &Trace,
    parts: &[Part],
    conversion: TimeConversion,
    files: &mut CodeFiles,
    timed: &mut Vec<Timed>,
) -> Result<(), PrintError> {
    let (mut code, mut last) = (Code::default(), Vec::new());
    for (index, part) in parts.iter().enumerate() {
        let Some(ticks) = part.ticks else {
            // A part without a time stamp has no packets behind it.
            if index == 0 {
                return Err(PrintError::NoTime { tid: trace.tid });
            }
            break;
        };
        // Before the time stamp, so that perf has the code when it decodes the packets behind it.
        let time = conversion.nanos(ticks).saturating_sub(1);
        if index == 0 {
            let comm = Fields::default().u32(trace.pid).u32(trace.tid).text(&trace.name);
            let start = Fields::default().u32(trace.pid).u32(trace.tid);
            for (fields, kind) in [(comm, COMM), (start, ITRACE_START)] {
                timed.push((time, with_id(fields, trace, time).record(kind, MISC_USER)));
            }
        }
        code.begin(recording.notes(), *part);
        let located = files.locate(&code.image, &code.mappings).map_err(PrintError::Output)?;
        for located in located.iter().filter(|located| !last.contains(*located)) {
            timed.push((time, mapped(located, trace, time)));
        }
        last = located;
    }
    Ok(())
}

/// The code of a part, as [`TraceDecoder`](crate::recording::TraceDecoder) has it.
#[derive(Debug, Default)]
struct Code {
    image: Image,
    /// A later mapping replaces an earlier one.
    mappings: Vec<Mapping>,
    part: Option<Part>,
}

impl Code {
    /// Moves to a part. Each address has its newest code before the part, or its first one after.
    fn begin(&mut self, notes: &[Note], part: Part) {
        let (before, after) = notes.split_at(part.notes.min(notes.len()));
        match self.part.replace(part) {
            Some(last) if last.space == part.space => {
                self.add(before.iter().skip(last.notes), part.space);
            }
            _ => {
                (self.image, self.mappings) = (Image::new(), Vec::new());
                self.add(after.iter().rev().chain(before), part.space);
            }
        }
    }

    fn add<'a>(&mut self, notes: impl Iterator<Item = &'a Note>, of: SpaceId) {
        for note in notes {
            match note {
                Note::Code { space, address, bytes } if *space == of => {
                    self.image.insert(*address, bytes);
                }
                Note::Mapping { space, mapping } if *space == of => {
                    self.mappings.push(mapping.clone());
                }
                _ => {}
            }
        }
    }
}

fn mapped(located: &Located, trace: &Trace, time: u64) -> Vec<u8> {
    // The device, inode and generation of the file are unknown. Code is readable and executable,
    // and private.
    let fields = Fields::default().u32(trace.pid).u32(trace.tid);
    let fields = fields.words(&[located.address, located.size, located.offset, 0, 0, 0]);
    let fields = fields.u32(5).u32(2).text(&located.path.to_string_lossy());
    with_id(fields, trace, time).record(MMAP2, MISC_USER)
}

/// Appends the `sample_id` of [`SAMPLE_TYPE`].
fn with_id(fields: Fields, trace: &Trace, time: u64) -> Fields {
    fields.u32(trace.pid).u32(trace.tid).u64(time).u64(EVENT_ID)
}

fn info(conversion: TimeConversion) -> Vec<u8> {
    let mut fields = [0; info::COUNT];
    fields[info::PMU_TYPE] = PMU_TYPE.into();
    fields[info::TIME_SHIFT] = conversion.shift.into();
    fields[info::TIME_MULTIPLIER] = conversion.multiplier.into();
    fields[info::TIME_ZERO] = conversion.zero;
    fields[info::HAS_TIME_ZERO] = 1;
    fields[info::TSC_BIT] = TSC_BIT;
    fields[info::UNCOMPRESSED_BIT] = UNCOMPRESSED_BIT;
    Fields::default().u32(INTEL_PT).u32(0).words(&fields).record(AUXTRACE_INFO, 0)
}

/// Returns the header of a file with this many bytes of records, and the list of events.
fn header(data_bytes: u64) -> Vec<u8> {
    let ids = HEADER_BYTES;
    let events = ids + 8;
    let event_bytes = ATTRIBUTE_BYTES as u64 + 16;
    let data = events + event_bytes;
    let start = u64::from_le_bytes(*MAGIC);
    let places = [start, HEADER_BYTES, event_bytes, events, event_bytes, data, data_bytes];
    // There are no names of events, and no descriptions.
    let header = Fields::default().words(&places).words(&[0; 6]).u64(EVENT_ID);
    let mut event = Fields::default().u32(PMU_TYPE).u32(ATTRIBUTE_BYTES as u32);
    event = event.words(&[CONFIG, 1, SAMPLE_TYPE, 0, FLAGS]);
    event.0.resize(ATTRIBUTE_BYTES, 0);
    [header.0, event.words(&[ids, 8]).0].concat()
}

/// The packets of a trace.
struct Packets<'a> {
    trace: &'a Trace,
    /// In bytes.
    size: u64,
    /// The first time stamp. perf completes the others with it, and ignores them if it is 0.
    reference: u64,
}

/// The records of a file.
struct Data<'a> {
    info: Vec<u8>,
    packets: Vec<Packets<'a>>,
    timed: Vec<Timed>,
}

impl Data<'_> {
    /// The size of `AUXTRACE` before its data.
    const AUXTRACE_BYTES: u64 = 48;

    fn size(&self) -> u64 {
        let packets = self.packets.iter().map(|it| Self::AUXTRACE_BYTES + padded(it.size));
        let timed = self.timed.iter().map(|(_, record)| record.len() as u64);
        self.info.len() as u64 + packets.chain(timed).sum::<u64>()
    }

    /// Writes the packets first: perf requires them when it reads a record of a later time.
    fn write(&self, recording: &Recording, out: &mut impl Write) -> Result<(), PrintError> {
        out.write_all(&self.info).map_err(PrintError::Output)?;
        for (index, Packets { trace, size, reference }) in (0..).zip(&self.packets) {
            let fields = Fields::default().words(&[padded(*size), 0, *reference]);
            let fields = fields.u32(index).u32(trace.tid).u32(ANY_CPU).u32(0);
            out.write_all(&fields.record(AUXTRACE, 0)).map_err(PrintError::Output)?;
            let packets = recording.packets(trace.id).map_err(PrintError::Recording)?;
            // Zeros are packets: padding.
            let padding = io::repeat(0).take(padded(*size) - size);
            let mut bytes = packets.take(*size).chain(padding);
            io::copy(&mut bytes, out).map_err(PrintError::Output)?;
        }
        for (_, record) in &self.timed {
            out.write_all(record).map_err(PrintError::Output)?;
        }
        Ok(())
    }
}

fn padded(size: u64) -> u64 {
    size.next_multiple_of(8)
}
