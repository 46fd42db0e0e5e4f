//! Which event a record belongs to, and the fields of samples.

use std::collections::HashMap;

use super::attribute::Attribute;
use super::error::PerfDataError;
use super::fields::{numbers, to_text, Fields};
use super::raw::{RawRecord, FIRST_OWN, SAMPLE};
use crate::byte_order::ByteOrder;
use crate::live::perf::record::SampleId;

/// Bits of `sample_type`.
const IP: u64 = 1 << 0;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
pub(super) const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
pub(super) const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const RAW: u64 = 1 << 10;
const BRANCH_STACK: u64 = 1 << 11;
const REGS_USER: u64 = 1 << 12;
const STACK_USER: u64 = 1 << 13;
const IDENTIFIER: u64 = 1 << 16;

/// The fields of a `sample_id`, each of 8 bytes, in their order: with the event's id at its end.
const OF_SAMPLE_ID: u64 = TID | TIME | ID | STREAM_ID | CPU | IDENTIFIER;

/// Bits of `read_format`.
const TIME_ENABLED: u64 = 1 << 0;
const TIME_RUNNING: u64 = 1 << 1;
const READ_ID: u64 = 1 << 2;
const GROUP: u64 = 1 << 3;
const READ_LOST: u64 = 1 << 4;

/// The kinds of registers in samples. Those of programs of 32 bits are not used.
const NO_REGISTERS: u64 = 0;
const REGISTERS_OF_64_BITS: u64 = 2;

/// Bits of `branch_sample_type`.
const HW_INDEX: u64 = 1 << 17;
const BRANCH_COUNTERS: u64 = 1 << 19;

/// The most events.
const MAX_EVENTS: usize = 1 << 16;

/// The number of a CPU that is unknown.
pub(super) const NO_CPU: u32 = u32::MAX;

/// The most bytes of ids and names of events.
const MAX_BYTES: usize = 16 << 20;

/// The events of a file, by their ids.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    list: Vec<Attribute>,
    by_id: HashMap<u64, usize>,
    /// The bytes of ids and names.
    bytes: usize,
}

/// The fields of a sample.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sample<'a> {
    /// The address of the instruction.
    pub(super) address: Option<u64>,
    pub(super) period: Option<u64>,
    /// The addresses of a stack, innermost first, with marks of the kernel.
    pub(super) chain: Vec<u64>,
    /// The record of a tracepoint.
    pub(super) raw: Option<&'a [u8]>,
    /// The registers of user mode that the event selects; none of a thread of the kernel.
    pub(super) registers: Vec<u64>,
    /// The bytes from the stack pointer on.
    pub(super) stack: &'a [u8],
}

impl Attributes {
    /// Adds an event.
    pub(super) fn add(&mut self, mut attribute: Attribute) -> Result<(), PerfDataError> {
        if self.list.len() >= MAX_EVENTS {
            return Err(PerfDataError::TooLarge("number of events"));
        }
        let ids = std::mem::take(&mut attribute.ids);
        self.count(std::mem::size_of_val(&*ids))?;
        self.by_id.extend(ids.into_iter().map(|id| (id, self.list.len())));
        self.list.push(attribute);
        Ok(())
    }

    /// Counts bytes of ids or of a name.
    fn count(&mut self, bytes: usize) -> Result<(), PerfDataError> {
        self.bytes = self.bytes.saturating_add(bytes);
        match self.bytes <= MAX_BYTES {
            true => Ok(()),
            false => Err(PerfDataError::TooLarge("ids and names of events")),
        }
    }

    pub(super) fn list(&self) -> &[Attribute] {
        &self.list
    }

    pub(super) fn get(&self, index: usize) -> Option<&Attribute> {
        self.list.get(index)
    }

    /// Names the event of an id.
    pub(super) fn rename(&mut self, id: u64, name: &[u8]) -> Result<(), PerfDataError> {
        let index = self.by_id.get(&id).copied().unwrap_or(usize::MAX);
        self.set_name(index, name)
    }

    fn set_name(&mut self, index: usize, name: &[u8]) -> Result<(), PerfDataError> {
        let Some(attribute) = self.list.get_mut(index) else { return Ok(()) };
        let before = std::mem::replace(&mut attribute.name, to_text(name).into());
        let length = attribute.name.len();
        self.bytes = self.bytes.saturating_sub(before.len());
        self.count(length)
    }

    /// Takes the names of descriptions: the number of events, the size of a structure, and for each
    /// event the structure, the number of ids, the name and the ids.
    pub(super) fn take_names(&mut self, mut fields: Fields<'_>) -> Result<(), PerfDataError> {
        let malformed = || PerfDataError::Malformed("description of the events");
        let number = fields.u32().ok_or_else(malformed)?;
        let size = fields.u32().and_then(|it| usize::try_from(it).ok()).ok_or_else(malformed)?;
        for index in 0..number {
            let (name, id) = named(&mut fields, size).ok_or_else(malformed)?;
            match id {
                Some(id) => self.rename(id, name)?,
                None => self.set_name(index as usize, name)?,
            }
        }
        Ok(())
    }

    /// Returns whether the fields of each record are known: they are those of its event.
    pub(super) fn check(&self) -> Result<(), PerfDataError> {
        let first = self.list.first().ok_or(PerfDataError::NoEvents)?;
        let has_ids = self.list.iter().all(|it| it.sample_type & IDENTIFIER != 0);
        let is_same = |it: &Attribute| {
            (it.sample_type, it.read_format, it.branch_type, it.registers)
                == (first.sample_type, first.read_format, first.branch_type, first.registers)
                && it.has_sample_ids() == first.has_sample_ids()
        };
        match has_ids || self.list.iter().all(is_same) {
            true => Ok(()),
            false => Err(PerfDataError::NoIds),
        }
    }

    /// Returns the index of the event of a record. Records that are no samples may belong to none,
    /// and have the fields of the first. A sample of an unknown event has none.
    pub(super) fn of(&self, record: &RawRecord, order: ByteOrder) -> Option<usize> {
        let first = self.list.first()?;
        let has_ids = first.sample_type & (IDENTIFIER | ID) != 0;
        if self.list.len() == 1 || record.kind >= FIRST_OWN || !has_ids {
            return Some(0);
        }
        let id = self.id(record, order);
        let found = id.and_then(|id| self.by_id.get(&id).copied());
        // perf writes records with the id 0 itself.
        let is_first = record.kind != SAMPLE || id == Some(0);
        found.or(is_first.then_some(0))
    }

    /// Returns the id of the event of a record, which is of one CPU; `None` if the record has none.
    pub(super) fn id(&self, record: &RawRecord, order: ByteOrder) -> Option<u64> {
        let first = self.list.first()?;
        let fields = Fields::new(&record.body, order);
        let kind = first.sample_type;
        if kind & (IDENTIFIER | ID) == 0 {
            return None;
        }
        match record.kind {
            SAMPLE => {
                let before = match kind & IDENTIFIER {
                    0 => (kind & (IP | TID | TIME | ADDR)).count_ones() as usize,
                    _ => 0,
                };
                order.number_at(&record.body, before * 8, 8)
            }
            _ if !first.has_sample_ids() => None,
            _ => fields.word_from_end(from_end(kind, if kind & IDENTIFIER == 0 { ID } else { 0 })),
        }
    }
}

/// Returns the name of a described event, and its first id.
fn named<'a>(fields: &mut Fields<'a>, size: usize) -> Option<(&'a [u8], Option<u64>)> {
    fields.bytes(size)?;
    let ids = fields.u32()?;
    let name = fields.string()?;
    let ids = fields.words(ids.into())?;
    Some((name, numbers(ids, fields.order).next()))
}

/// Returns the number of fields from a field to the end of a `sample_id`; 0 is the event's id at
/// its end.
fn from_end(kind: u64, field: u64) -> usize {
    let later: u64 = match field {
        TID => OF_SAMPLE_ID,
        TIME => OF_SAMPLE_ID & !TID,
        ID => ID | STREAM_ID | CPU | IDENTIFIER,
        CPU => CPU | IDENTIFIER,
        _ => IDENTIFIER,
    };
    (kind & later).count_ones() as usize
}

/// Returns the thread, the time and the CPU of a record: 0 for an unknown thread or time,
/// [`NO_CPU`] for an unknown CPU. Returns `None` if the record is too short.
pub(super) fn sample_id(
    record: &RawRecord,
    attribute: &Attribute,
    order: ByteOrder,
) -> Option<SampleId> {
    let (kind, mut fields) = (attribute.sample_type, Fields::new(&record.body, order));
    if record.kind == SAMPLE {
        return start(&mut fields, kind).map(|(id, _)| id);
    }
    let unknown = SampleId { process: 0, thread: 0, time: 0, cpu: NO_CPU };
    if !attribute.has_sample_ids() {
        return Some(unknown);
    }
    let size = (kind & OF_SAMPLE_ID).count_ones() as usize * 8;
    let mut fields = Fields::new(record.body.get(record.body.len().checked_sub(size)?..)?, order);
    let (process, thread) = pair(&mut fields, kind & TID, (0, 0))?;
    let time = word(&mut fields, kind & TIME)?.unwrap_or(0);
    word(&mut fields, kind & ID)?;
    word(&mut fields, kind & STREAM_ID)?;
    let (cpu, _) = pair(&mut fields, kind & CPU, (NO_CPU, 0))?;
    Some(SampleId { process, thread, time, cpu })
}

/// Returns the number of bytes at the end of a record's body that are its `sample_id`.
pub(super) fn sample_id_bytes(attribute: &Attribute) -> usize {
    match attribute.has_sample_ids() {
        true => (attribute.sample_type & OF_SAMPLE_ID).count_ones() as usize * 8,
        false => 0,
    }
}

/// Returns whether records of an event have their CPU.
pub(super) fn has_cpu(attribute: &Attribute) -> bool {
    attribute.sample_type & CPU != 0
}

/// Returns whether records of an event have their time.
pub(super) fn has_time(attribute: &Attribute) -> bool {
    attribute.sample_type & TIME != 0
}

/// Reads the fields up to the CPU. Returns them with the address.
fn start(fields: &mut Fields<'_>, kind: u64) -> Option<(SampleId, Option<u64>)> {
    word(fields, kind & IDENTIFIER)?;
    let address = word(fields, kind & IP)?;
    let (process, thread) = pair(fields, kind & TID, (0, 0))?;
    let time = word(fields, kind & TIME)?.unwrap_or(0);
    for field in [ADDR, ID, STREAM_ID] {
        word(fields, kind & field)?;
    }
    let (cpu, _) = pair(fields, kind & CPU, (NO_CPU, 0))?;
    Some((SampleId { process, thread, time, cpu }, address))
}

/// Reads a number if its bit is set. `None` means that the record is too short.
fn word(fields: &mut Fields<'_>, bit: u64) -> Option<Option<u64>> {
    match bit {
        0 => Some(None),
        _ => fields.u64().map(Some),
    }
}

/// Reads two numbers of 4 bytes if their bit is set.
fn pair(fields: &mut Fields<'_>, bit: u64, unknown: (u32, u32)) -> Option<(u32, u32)> {
    match bit {
        0 => Some(unknown),
        _ => Some((fields.u32()?, fields.u32()?)),
    }
}

impl<'a> Sample<'a> {
    /// Parses a sample up to the copied stack. Later fields are not used.
    pub(super) fn parse(body: &'a [u8], attribute: &Attribute, order: ByteOrder) -> Option<Self> {
        let (kind, mut fields) = (attribute.sample_type, Fields::new(body, order));
        let (_, address) = start(&mut fields, kind)?;
        let mut sample =
            Self { address, period: word(&mut fields, kind & PERIOD)?, ..Self::default() };
        if kind & READ != 0 {
            skip_counts(&mut fields, attribute.read_format)?;
        }
        if kind & CALLCHAIN != 0 {
            let number = fields.u64()?;
            sample.chain = numbers(fields.words(number)?, order).collect();
        }
        if kind & RAW != 0 {
            let size = usize::try_from(fields.u32()?).ok()?;
            sample.raw = Some(fields.bytes(size)?);
        }
        if kind & BRANCH_STACK != 0 {
            skip_branches(&mut fields, attribute.branch_type)?;
        }
        let registers = if kind & REGS_USER == 0 { NO_REGISTERS } else { fields.u64()? };
        if registers != NO_REGISTERS {
            let words = fields.words(attribute.registers.count_ones().into())?;
            let is_usable = registers == REGISTERS_OF_64_BITS;
            sample.registers = numbers(words, order).filter(|_| is_usable).collect();
        }
        if kind & STACK_USER != 0 {
            sample.stack = stack(&mut fields)?;
        }
        Some(sample)
    }
}

/// Skips the counts of an event, or of its group.
fn skip_counts(fields: &mut Fields<'_>, format: u64) -> Option<()> {
    let number = if format & GROUP == 0 { 1 } else { fields.u64()? };
    let times = (format & (TIME_ENABLED | TIME_RUNNING)).count_ones();
    let each = 1 + (format & (READ_ID | READ_LOST)).count_ones();
    fields.words(number.checked_mul(each.into())?.checked_add(times.into())?).map(drop)
}

fn skip_branches(fields: &mut Fields<'_>, kind: u64) -> Option<()> {
    let number = fields.u64()?;
    word(fields, kind & HW_INDEX)?;
    let each = if kind & BRANCH_COUNTERS == 0 { 3 } else { 4 };
    fields.words(number.checked_mul(each)?).map(drop)
}

/// Returns the part of the copied stack that is in use.
fn stack<'a>(fields: &mut Fields<'a>) -> Option<&'a [u8]> {
    let size = usize::try_from(fields.u64()?).ok()?;
    if size == 0 {
        return Some(&[]);
    }
    let bytes = fields.bytes(size)?;
    let used = usize::try_from(fields.u64()?).unwrap_or(usize::MAX);
    bytes.get(..used.min(size))
}
