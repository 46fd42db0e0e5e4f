//! The records of a perf ring buffer: `linux/perf_event.h`.
//!
//! ```text
//!  header               body                              sample_id
//! ┌──────┬──────┬──────┬─────────────────────────────────┬──────────────────────────────┐
//! │ type │ misc │ size │ fields of the type              │ pid, tid, time, cpu, reserved│
//! └──────┴──────┴──────┴─────────────────────────────────┴──────────────────────────────┘
//!   u32    u16    u16                                      u32  u32  u64   u32  u32
//! ```
//!
//! The attribute's `sample_type` has TID, TIME and CPU, which gives this `sample_id`. Samples begin
//! with it instead.

mod fields;
mod mapping;
mod stack;

use std::fmt;

use fields::Fields;
pub(crate) use mapping::{Inode, MappedFile};
pub(crate) use stack::{Branch, SampleLayout, StackSample};

const HEADER_BYTES: usize = 8;
const SAMPLE_ID_BYTES: usize = 24;

const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const THROTTLE: u32 = 5;
const UNTHROTTLE: u32 = 6;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const MMAP2: u32 = 10;
const LOST_SAMPLES: u32 = 13;
const SWITCH: u32 = 14;
const SWITCH_CPU_WIDE: u32 = 15;

const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_SWITCH_OUT: u16 = 1 << 13;
const MISC_SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// The id of a thread that has ended, or of one that is outside of the pid namespace.
pub(crate) const NO_THREAD: u32 = u32::MAX;

/// A record, with the place where the kernel wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PerfRecord {
    pub(crate) sample: SampleId,
    pub(crate) body: Body,
}

/// The thread, time and CPU of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampleId {
    pub(crate) process: u32,
    pub(crate) thread: u32,
    /// In nanoseconds of the event's clock.
    pub(crate) time: u64,
    pub(crate) cpu: u32,
}

/// The fields of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// The thread gets its CPU. `from` is the thread before it, in records of a whole CPU.
    SwitchIn { from: Option<u32> },
    /// The thread leaves its CPU, and could continue if `is_preempted`. `to` is the next one, in
    /// records of a whole CPU.
    SwitchOut { is_preempted: bool, to: Option<u32> },
    /// The name of a thread.
    Comm { process: u32, thread: u32, name: Box<str>, is_exec: bool },
    /// A thread was created by another one.
    Fork { process: u32, thread: u32, creator_process: u32, creator: u32 },
    /// A thread ends.
    Exit { process: u32, thread: u32 },
    /// A process has mapped code.
    Mmap(Box<MappedFile>),
    /// A sample of a thread.
    Sample(Box<StackSample>),
    /// The kernel dropped records because the buffer was full.
    Lost { number: u64 },
    /// The CPU lost samples before the kernel could write them.
    LostSamples { number: u64 },
    /// The kernel stops an event whose samples take too much time, until the next timer interrupt.
    /// Each event has a number of its own, also those that threads inherit.
    Throttle { event: u64 },
    /// The event continues.
    Unthrottle { event: u64 },
    /// The events of the CPU have been opened because it came online. The kernel has no such
    /// record.
    CameOnline,
    /// A record of another type.
    Other,
}

/// Why records cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordError {
    /// The buffer ends within a record.
    Truncated { offset: usize },
    /// The record is too short for its type.
    Short { offset: usize },
}

/// The records in a copy of a ring buffer's unread bytes. Ends after an error.
#[derive(Clone, Debug)]
pub(crate) struct PerfRecords<'a> {
    rest: &'a [u8],
    offset: usize,
    layout: SampleLayout,
}

impl<'a> PerfRecords<'a> {
    /// Returns the records of events whose samples have this layout.
    pub(crate) fn new(bytes: &'a [u8], layout: SampleLayout) -> Self {
        Self { rest: bytes, offset: 0, layout }
    }

    fn parse_next(&mut self) -> Result<PerfRecord, RecordError> {
        let offset = self.offset;
        let mut header = Fields(self.rest);
        let truncated = RecordError::Truncated { offset };
        let kind = header.u32().ok_or(truncated)?;
        let misc = header.u16().ok_or(truncated)?;
        let size = usize::from(header.u16().ok_or(truncated)?);
        if size < HEADER_BYTES + SAMPLE_ID_BYTES {
            return Err(RecordError::Short { offset });
        }
        let (record, rest) = self.rest.split_at_checked(size).ok_or(truncated)?;
        (self.rest, self.offset) = (rest, offset + size);
        let parsed = match kind {
            SAMPLE => parse_sample(record, self.layout),
            _ => parse(kind, misc, record),
        };
        parsed.ok_or(RecordError::Short { offset })
    }
}

impl Iterator for PerfRecords<'_> {
    type Item = Result<PerfRecord, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let parsed = self.parse_next();
        if parsed.is_err() {
            self.rest = &[];
        }
        Some(parsed)
    }
}

/// Parses a record that has a header and a `sample_id`.
fn parse(kind: u32, misc: u16, record: &[u8]) -> Option<PerfRecord> {
    let (front, sample) = record.split_at_checked(record.len().checked_sub(SAMPLE_ID_BYTES)?)?;
    let sample = SampleId::parse(&mut Fields(sample))?;
    let body = Body::parse(kind, misc, Fields(front.get(HEADER_BYTES..)?))?;
    Some(PerfRecord { sample, body })
}

/// Parses a sample, which begins with a `sample_id`.
fn parse_sample(record: &[u8], layout: SampleLayout) -> Option<PerfRecord> {
    let mut fields = Fields(record.get(HEADER_BYTES..)?);
    let sample = SampleId::parse(&mut fields)?;
    let body = Body::Sample(Box::new(StackSample::parse(fields, layout)?));
    Some(PerfRecord { sample, body })
}

impl SampleId {
    fn parse(fields: &mut Fields<'_>) -> Option<Self> {
        let (process, thread, time) = (fields.u32()?, fields.u32()?, fields.u64()?);
        let (cpu, _reserved) = (fields.u32()?, fields.u32()?);
        Some(Self { process, thread, time, cpu })
    }
}

impl Body {
    fn parse(kind: u32, misc: u16, mut fields: Fields<'_>) -> Option<Self> {
        Some(match kind {
            SWITCH => Self::switch(misc, None),
            SWITCH_CPU_WIDE => {
                let _process = fields.u32()?;
                Self::switch(misc, Some(fields.u32()?))
            }
            COMM => {
                let (process, thread) = (fields.u32()?, fields.u32()?);
                let is_exec = misc & MISC_COMM_EXEC != 0;
                Self::Comm { process, thread, name: fields.text(), is_exec }
            }
            FORK => {
                let (process, creator_process) = (fields.u32()?, fields.u32()?);
                let (thread, creator) = (fields.u32()?, fields.u32()?);
                Self::Fork { process, thread, creator_process, creator }
            }
            EXIT => {
                let (process, _parent) = (fields.u32()?, fields.u32()?);
                Self::Exit { process, thread: fields.u32()? }
            }
            MMAP2 => Self::Mmap(Box::new(MappedFile::parse(misc, fields)?)),
            LOST => {
                let _event = fields.u64()?;
                Self::Lost { number: fields.u64()? }
            }
            LOST_SAMPLES => Self::LostSamples { number: fields.u64()? },
            THROTTLE => Self::Throttle { event: stream(fields)? },
            UNTHROTTLE => Self::Unthrottle { event: stream(fields)? },
            _ => Self::Other,
        })
    }

    fn switch(misc: u16, other: Option<u32>) -> Self {
        match misc & MISC_SWITCH_OUT != 0 {
            true => {
                let is_preempted = misc & MISC_SWITCH_OUT_PREEMPT != 0;
                Self::SwitchOut { is_preempted, to: other }
            }
            false => Self::SwitchIn { from: other },
        }
    }
}

/// Returns the number of the event that a record of a pause is about.
fn stream(mut fields: Fields<'_>) -> Option<u64> {
    let (_time, _inherited_from) = (fields.u64()?, fields.u64()?);
    fields.u64()
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { offset } => {
                write!(f, "the ring buffer ends within the record at byte {offset}")
            }
            Self::Short { offset } => {
                write!(f, "the perf record at byte {offset} is too short")
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Samples with all fields.
    const LAYOUT: SampleLayout = SampleLayout {
        has_chain: true,
        has_raw: false,
        has_branches: false,
        registers: 2,
        has_stack: true,
    };

    const ID: SampleId = SampleId { process: 10, thread: 11, time: 77, cpu: 3 };

    /// Returns the bytes of a record.
    pub(in super::super) fn bytes(kind: u32, misc: u16, body: &[u8], sample: SampleId) -> Vec<u8> {
        let size = (HEADER_BYTES + body.len() + SAMPLE_ID_BYTES) as u16;
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend([misc, size].map(u16::to_ne_bytes).concat());
        bytes.extend(body);
        bytes.extend([sample.process, sample.thread].map(u32::to_ne_bytes).concat());
        bytes.extend(sample.time.to_ne_bytes());
        bytes.extend([sample.cpu, 0].map(u32::to_ne_bytes).concat());
        bytes
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn parsed(bytes: &[u8]) -> Vec<Result<Body, RecordError>> {
        let body = |record: Result<PerfRecord, _>| {
            record.map(|record| {
                assert_eq!(record.sample, ID);
                record.body
            })
        };
        PerfRecords::new(bytes, LAYOUT).map(body).collect()
    }

    #[test]
    fn each_type_has_its_fields() {
        let comm = [&words(&[10, 11]), &b"worker\0\0"[..]].concat();
        let cut = [&words(&[10, 11]), &b"na\xC3\0"[..], &[0; 4]].concat();
        let lost = [7_u64, 5].map(u64::to_ne_bytes).concat();
        let name = |name: &str, is_exec| Body::Comm {
            process: 10,
            thread: 11,
            name: name.into(),
            is_exec,
        };
        let cases = [
            (SWITCH, 0, vec![], Body::SwitchIn { from: None }),
            (SWITCH, 1 << 13, vec![], Body::SwitchOut { is_preempted: false, to: None }),
            (SWITCH, 3 << 13, vec![], Body::SwitchOut { is_preempted: true, to: None }),
            (SWITCH_CPU_WIDE, 0, words(&[8, 9]), Body::SwitchIn { from: Some(9) }),
            (
                SWITCH_CPU_WIDE,
                3 << 13,
                words(&[8, NO_THREAD]),
                Body::SwitchOut { is_preempted: true, to: Some(NO_THREAD) },
            ),
            (COMM, 0, comm.clone(), name("worker", false)),
            (COMM, 1 << 13, comm, name("worker", true)),
            (COMM, 0, cut, name("na", false)),
            (
                FORK,
                0,
                words(&[20, 10, 21, 11, 0, 0]),
                Body::Fork { process: 20, thread: 21, creator_process: 10, creator: 11 },
            ),
            (EXIT, 0, words(&[10, 1, 11, 1, 0, 0]), Body::Exit { process: 10, thread: 11 }),
            (LOST, 0, lost, Body::Lost { number: 5 }),
            (LOST_SAMPLES, 0, 5_u64.to_ne_bytes().to_vec(), Body::LostSamples { number: 5 }),
            (THROTTLE, 0, longs(&[77, 5, 6]), Body::Throttle { event: 6 }),
            (UNTHROTTLE, 0, longs(&[77, 5, 6]), Body::Unthrottle { event: 6 }),
            (99, 0, vec![0; 16], Body::Other),
        ];
        let all: Vec<u8> =
            cases.iter().flat_map(|(kind, misc, body, _)| bytes(*kind, *misc, body, ID)).collect();
        let expected: Vec<_> = cases.into_iter().map(|(.., body)| Ok(body)).collect();
        assert_eq!(parsed(&all), expected);
    }

    /// Returns the bytes of a sample.
    fn sample(body: &[u8]) -> Vec<u8> {
        let id = &bytes(SAMPLE, 0, &[], ID)[HEADER_BYTES..];
        let size = (HEADER_BYTES + id.len() + body.len()) as u16;
        let header =
            [SAMPLE.to_ne_bytes(), [[0; 2], size.to_ne_bytes()].concat().try_into().unwrap()];
        [&header.concat()[..], id, body].concat()
    }

    fn longs(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn samples_have_the_chain_the_registers_and_the_stack_in_use() {
        let found = |body: &[u8]| match parsed(&sample(body)).remove(0) {
            Ok(Body::Sample(found)) => *found,
            other => panic!("{other:?}"),
        };
        let all = longs(&[2, u64::MAX - 511, 0x10, 2, 5, 6, 16, 7, 8, 8]);
        let chain = vec![u64::MAX - 511, 0x10];
        let expected = StackSample {
            chain,
            raw: Vec::new(),
            branches: Vec::new(),
            registers: vec![5, 6],
            stack: longs(&[7]),
        };
        assert_eq!(found(&all), expected);
        // A thread of the kernel has no registers of a user.
        let without = longs(&[0, 0, 0]);
        let (chain, registers, stack) = Default::default();
        assert_eq!(
            found(&without),
            StackSample { chain, raw: Vec::new(), branches: Vec::new(), registers, stack }
        );
        for length in 0..all.len() {
            let short = Err(RecordError::Short { offset: 0 });
            assert_eq!(parsed(&sample(&all[..length])), [short], "{length}");
        }
        let endless = longs(&[u64::MAX, 1]);
        assert_eq!(parsed(&sample(&endless)), [Err(RecordError::Short { offset: 0 })]);
    }

    #[test]
    fn mappings_have_a_build_id_or_an_inode() {
        let inode = [words(&[10, 11]), longs(&[0x1000, 0x2000, 0x3000, 1, 2, 3])].concat();
        let tail = [&words(&[5, 2])[..], b"/bin/x\0\0"].concat();
        let mapped = |build_id: &[u8], inode| {
            Body::Mmap(Box::new(MappedFile {
                process: 10,
                start: 0x1000,
                length: 0x2000,
                offset: 0x3000,
                protection: 5,
                build_id: build_id.into(),
                inode,
                path: b"/bin/x"[..].into(),
            }))
        };
        let first = bytes(MMAP2, 0, &[inode.clone(), tail.clone()].concat(), ID);
        assert_eq!(
            parsed(&first),
            [Ok(mapped(&[], Some(Inode { major: 1, minor: 0, number: 2 })))]
        );
        let mut with_id = inode;
        with_id.truncate(32);
        with_id.extend([2, 0, 0, 0, 0xab, 0xcd]);
        with_id.resize(56, 0);
        let second = bytes(MMAP2, 1 << 14, &[with_id.clone(), tail.clone()].concat(), ID);
        assert_eq!(parsed(&second), [Ok(mapped(&[0xab, 0xcd], None))]);
        // A size beyond the field.
        with_id[32] = 200;
        let third = bytes(MMAP2, 1 << 14, &[with_id, tail].concat(), ID);
        assert_eq!(parsed(&third), [Err(RecordError::Short { offset: 0 })]);
    }

    #[test]
    fn truncated_records_are_errors_after_those_before() {
        let first = bytes(SWITCH, 0, &[], ID);
        let second = bytes(EXIT, 0, &words(&[10, 1, 11, 1, 0, 0]), ID);
        let both = [first.clone(), second].concat();
        for length in first.len() + 1..both.len() {
            let error = RecordError::Truncated { offset: first.len() };
            let expected = [Ok(Body::SwitchIn { from: None }), Err(error)];
            assert_eq!(parsed(&both[..length]), expected, "{length}");
        }
        assert_eq!(parsed(&[]), []);
    }

    #[test]
    fn short_records_are_errors() {
        let short = RecordError::Short { offset: 0 };
        for size in 0..(HEADER_BYTES + SAMPLE_ID_BYTES) as u16 {
            let mut record = bytes(SWITCH, 0, &[], ID);
            record[6..8].copy_from_slice(&size.to_ne_bytes());
            assert_eq!(parsed(&record), [Err(short)], "{size}");
        }
        let switches = [(SWITCH_CPU_WIDE, 4), (COMM, 4), (FORK, 12), (EXIT, 8)];
        let losses = [(LOST, 8), (LOST_SAMPLES, 0), (THROTTLE, 16), (UNTHROTTLE, 16)];
        for (kind, fields) in switches.into_iter().chain(losses) {
            let record = bytes(kind, 0, &vec![0; fields], ID);
            assert_eq!(parsed(&record), [Err(short)], "{kind}");
        }
    }

    #[test]
    fn branches_before_a_sample() {
        let layout = SampleLayout { has_chain: true, has_branches: true, ..Default::default() };
        let body = [
            longs(&[1, 0x11]),                               // the chain
            longs(&[2, 0xa0, 0xb0, 0x71, 0xc0, 0xd0, 0x20]), // the branches
        ];
        let id = [7_u32, 8, 0, 0, 3, 0].map(u32::to_ne_bytes).concat();
        let size = (8 + id.len() + body.concat().len()) as u16;
        let header = [&9_u32.to_ne_bytes()[..], &[0, 0], &size.to_ne_bytes()].concat();
        let record = [header, id, body.concat()].concat();
        let found = PerfRecords::new(&record, layout).next().unwrap().unwrap();
        let Body::Sample(sample) = found.body else { panic!("{found:?}") };
        assert_eq!(sample.chain, [0x11]);
        let [first, second] = sample.branches[..] else { panic!("{sample:?}") };
        assert_eq!((first.from, first.to, second.from, second.to), (0xa0, 0xb0, 0xc0, 0xd0));
        #[cfg(target_endian = "little")]
        assert_eq!((first.cycles(), first.is_mispredicted()), (7, true));
        #[cfg(target_endian = "little")]
        assert_eq!((second.cycles(), second.is_mispredicted()), (2, false));
        // A number of branches that the record does not have.
        let cut = record.len() - 8;
        let mut short = record.clone();
        short.truncate(cut);
        short[6..8].copy_from_slice(&(cut as u16).to_ne_bytes());
        let error = PerfRecords::new(&short, layout).next().unwrap();
        assert_eq!(error, Err(RecordError::Short { offset: 0 }));
    }

    #[test]
    fn events_of_tracepoints() {
        let layout = SampleLayout { has_raw: true, ..Default::default() };
        let id = [7_u32, 8, 0, 0, 3, 0].map(u32::to_ne_bytes).concat();
        // The size of the event, and the event, padded to a multiple of 8.
        let record = |size: u32| {
            let raw = [&size.to_ne_bytes()[..], &[1; 12]].concat();
            let header = [&9_u32.to_ne_bytes()[..], &[0, 0], &48_u16.to_ne_bytes()].concat();
            [header, id.clone(), raw].concat()
        };
        let found = |size| PerfRecords::new(&record(size), layout).next().unwrap();
        let Body::Sample(sample) = found(12).unwrap().body else { panic!("a sample") };
        assert_eq!(sample.raw, [1; 12]);
        assert_eq!(found(13), Err(RecordError::Short { offset: 0 }));
        assert_eq!(found(u32::MAX), Err(RecordError::Short { offset: 0 }));
    }
}
