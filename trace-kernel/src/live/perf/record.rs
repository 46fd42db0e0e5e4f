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
//! The attribute's `sample_type` is TID, TIME and CPU, which gives this `sample_id`.

use std::fmt;

const HEADER_BYTES: usize = 8;
const SAMPLE_ID_BYTES: usize = 24;

const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SWITCH: u32 = 14;
const SWITCH_CPU_WIDE: u32 = 15;

const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_SWITCH_OUT: u16 = 1 << 13;
const MISC_SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// The id of a thread that has ended, or of one that is outside of the pid namespace.
pub(super) const NO_THREAD: u32 = u32::MAX;

/// A record, with the place where the kernel wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PerfRecord {
    pub(super) sample: SampleId,
    pub(super) body: Body,
}

/// The thread, time and CPU of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleId {
    pub(super) process: u32,
    pub(super) thread: u32,
    /// In nanoseconds of the event's clock.
    pub(super) time: u64,
    pub(super) cpu: u32,
}

/// The fields of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
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
    Exit { thread: u32 },
    /// The kernel dropped records because the buffer was full.
    Lost { number: u64 },
    /// A record of another type.
    Other,
}

/// Why records cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordError {
    /// The buffer ends within a record.
    Truncated { offset: usize },
    /// The record is too short for its type.
    Short { offset: usize },
}

/// The records in a copy of a ring buffer's unread bytes. Ends after an error.
#[derive(Clone, Debug)]
pub(super) struct PerfRecords<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> PerfRecords<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, offset: 0 }
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
        parse(kind, misc, record).ok_or(RecordError::Short { offset })
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
    let mut fields = Fields(sample);
    let sample = SampleId {
        process: fields.u32()?,
        thread: fields.u32()?,
        time: fields.u64()?,
        cpu: fields.u32()?,
    };
    let body = Body::parse(kind, misc, Fields(front.get(HEADER_BYTES..)?))?;
    Some(PerfRecord { sample, body })
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
                let _processes = fields.u64()?;
                Self::Exit { thread: fields.u32()? }
            }
            LOST => {
                let _event = fields.u64()?;
                Self::Lost { number: fields.u64()? }
            }
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

/// The unread fields of a record, in this machine's byte order.
#[derive(Clone, Copy, Debug)]
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_ne_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_ne_bytes)
    }

    /// Returns the text before the first zero. The kernel cuts names at 15 bytes, so the last
    /// character may be incomplete.
    fn text(self) -> Box<str> {
        let bytes = self.0.split(|byte| *byte == 0).next().unwrap_or_default();
        match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(error) => {
                String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default()).into()
            }
        }
    }
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

    const SAMPLE: SampleId = SampleId { process: 10, thread: 11, time: 77, cpu: 3 };

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
                assert_eq!(record.sample, SAMPLE);
                record.body
            })
        };
        PerfRecords::new(bytes).map(body).collect()
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
            (EXIT, 0, words(&[10, 1, 11, 1, 0, 0]), Body::Exit { thread: 11 }),
            (LOST, 0, lost, Body::Lost { number: 5 }),
            (99, 0, vec![0; 16], Body::Other),
        ];
        let all: Vec<u8> = cases
            .iter()
            .flat_map(|(kind, misc, body, _)| bytes(*kind, *misc, body, SAMPLE))
            .collect();
        let expected: Vec<_> = cases.into_iter().map(|(.., body)| Ok(body)).collect();
        assert_eq!(parsed(&all), expected);
    }

    #[test]
    fn truncated_records_are_errors_after_those_before() {
        let first = bytes(SWITCH, 0, &[], SAMPLE);
        let second = bytes(EXIT, 0, &words(&[10, 1, 11, 1, 0, 0]), SAMPLE);
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
            let mut record = bytes(SWITCH, 0, &[], SAMPLE);
            record[6..8].copy_from_slice(&size.to_ne_bytes());
            assert_eq!(parsed(&record), [Err(short)], "{size}");
        }
        for (kind, fields) in [(SWITCH_CPU_WIDE, 4), (COMM, 4), (FORK, 12), (EXIT, 8), (LOST, 8)] {
            let record = bytes(kind, 0, &vec![0; fields], SAMPLE);
            assert_eq!(parsed(&record), [Err(short)], "{kind}");
        }
    }
}
