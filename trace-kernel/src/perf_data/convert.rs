//! From records of perf to records of an archive.

mod losses;
mod rules;

use std::io;

use trace_analyze::input::into_io;
use trace_format::layout::InstantScope;
use trace_format::notes::{CATEGORY, SAMPLE_WEIGHT};
use trace_format::{
    Argument, Event, EventKind, Log, Thread, ThreadKoids, Value, WriteError, Writer,
};

use super::attribute::Attribute;
use super::error::PerfDataError;
use super::fields::Fields;
use super::header::Contents;
use super::notes::{self, Notes};
use super::raw::{RawRecord, AUXTRACE, HEADER_ATTR, HEADER_TRACING_DATA, SAMPLE};
use super::sample::{Attributes, Sample, NO_CPU};
use super::slots::Slots;
use crate::byte_order::ByteOrder;
use crate::event as kernel;
use crate::fxt::{write_event, CallNames, Translator};
use crate::live::perf::events::{Events, Switches};
use crate::live::perf::record::{Body, MappedFile, PerfRecord, SampleId, StackSample, NO_THREAD};
use crate::live::perf::samples::images::Images;
use crate::live::perf::samples::unwind::REGISTERS;
use crate::live::SAMPLES;
use crate::page::RawEvent;
use losses::{Buffer, Losses};
use rules::Rules;

/// The id of the process of the kernel's code.
const KERNEL: u32 = u32::MAX;

/// The mark before the cookie of a stack that another record has.
const DEFERRED: u64 = -640_i64 as u64;

/// The least address that is a mark of the kernel in a chain of addresses.
const MARKS: u64 = -4095_i64 as u64;

/// Converts records, which have to be in the order of time.
#[derive(Debug)]
pub(super) struct Converter {
    pub(super) order: ByteOrder,
    pub(super) contents: Contents,
    pub(super) notes: Notes,
    rules: Option<Rules>,
    is_started: bool,
    is_described: bool,
    /// The time of the last record that has one.
    now: u64,
    translator: Translator,
    events: Events,
    images: Images,
    slots: Slots,
    losses: Losses,
}

impl Converter {
    pub(super) fn new(order: ByteOrder) -> Self {
        let (contents, notes, translator, slots, losses) = Default::default();
        let (images, events) = (Images::recorded(), Events::new([], Switches::Machine, &[]));
        let (rules, is_started, is_described, now) = (None, false, false, 0);
        Self {
            order,
            contents,
            notes,
            rules,
            is_started,
            is_described,
            now,
            translator,
            events,
            images,
            slots,
            losses,
        }
    }

    /// Returns the events, of which records have to have known fields.
    pub(super) fn attributes(&mut self) -> Result<&Attributes, PerfDataError> {
        let attributes = &self.contents.attributes;
        if self.rules.is_none() {
            attributes.check()?;
            self.losses.set_of_threads(attributes.list().iter().all(Attribute::is_of_threads));
            self.rules = Some(Rules::of(attributes.list(), &self.contents.description, self.order));
        }
        Ok(attributes)
    }

    /// Uses a record of perf itself, which belongs to no time.
    pub(super) fn own(&mut self, record: &RawRecord) -> Result<(), PerfDataError> {
        match record.kind {
            HEADER_ATTR | HEADER_TRACING_DATA => self.rules = None,
            AUXTRACE => {
                let size = Fields::new(&record.body, self.order).u64();
                self.notes.aux_bytes += size.unwrap_or(0);
            }
            _ => {}
        }
        self.contents.add(record, self.order)
    }

    /// Converts a record of the kernel.
    pub(super) fn record(
        &mut self,
        archive: &mut Writer<Vec<u8>>,
        index: usize,
        id: SampleId,
        record: &RawRecord,
    ) -> io::Result<()> {
        let malformed = || PerfDataError::Record { offset: record.offset };
        let attribute = self.contents.attributes.get(index).ok_or_else(malformed)?.clone();
        if id.time > 0 {
            self.now = id.time;
        }
        self.start(archive).map_err(into_io)?;
        let buffer = Buffer::of(id.cpu, self.contents.attributes.id(record, self.order));
        if record.kind == SAMPLE {
            let sample = Sample::parse(&record.body, &attribute, self.order);
            let sample = sample.ok_or_else(malformed)?;
            self.losses.seen(buffer, self.now);
            self.notes.outside += u64::from(record.is_outside());
            let profile = self.rules.as_ref().and_then(|rules| rules.profile.get(index));
            let is_stack = !record.is_outside() && profile.is_some_and(|is_stack| *is_stack);
            let of = (is_stack, &attribute);
            return self.sample(archive, of, known(id), sample).map_err(into_io);
        }
        if record.is_outside() {
            return Ok(());
        }
        let body = super::parse::body(record, &attribute, self.order).ok_or_else(malformed)?;
        let is_timed = id.time > 0;
        self.image(is_timed, super::parse::is_made_fork(record), &body);
        self.body(archive, (id, buffer), body).map_err(into_io)
    }

    /// Writes the provider before the first record, and what is known about the recording at the
    /// time of the first one that has a time.
    fn start(&mut self, archive: &mut Writer<Vec<u8>>) -> Result<(), WriteError> {
        if !std::mem::replace(&mut self.is_started, true) {
            archive.provider(1, "perf")?;
            archive.initialization(1_000_000_000)?;
            let names = CallNames::of_architecture(&self.contents.description.architecture);
            self.translator.name_calls(names);
            for (thread, name) in &self.contents.description.formats.names {
                self.translator.name(archive, *thread, name)?;
            }
        }
        match self.now {
            0 => Ok(()),
            _ => self.describe(archive),
        }
    }

    /// Writes what is known about the recording, once.
    fn describe(&mut self, archive: &mut Writer<Vec<u8>>) -> Result<(), WriteError> {
        if std::mem::replace(&mut self.is_described, true) {
            return Ok(());
        }
        let Contents { attributes, description, .. } = &self.contents;
        let profile = self.rules.as_ref().map(|rules| &*rules.profile).unwrap_or_default();
        let lines = notes::at_start(description, attributes.list(), profile);
        self.log(archive, &lines)
    }

    fn log(&self, archive: &mut Writer<Vec<u8>>, lines: &[String]) -> Result<(), WriteError> {
        let thread = Thread::Inline(ThreadKoids::UNKNOWN);
        lines.iter().try_for_each(|line| {
            archive.record(&Log { ticks: self.now, thread, message: line.as_bytes() }.into())
        })
    }

    /// Writes what is open, and what is missing.
    pub(super) fn finish(
        &mut self,
        archive: &mut Writer<Vec<u8>>,
        late: u64,
    ) -> Result<(), WriteError> {
        self.start(archive)?;
        self.describe(archive)?;
        self.losses.finish(archive, &mut self.translator, self.now)?;
        self.translator.finish(archive)?;
        let lines = self.notes.at_end(late, self.images.omitted());
        self.log(archive, &lines)
    }

    /// Converts a record that is no sample.
    fn body(
        &mut self,
        archive: &mut Writer<Vec<u8>>,
        (id, buffer): (SampleId, Buffer),
        body: Body,
    ) -> Result<(), WriteError> {
        let is_timed = id.time > 0;
        let mut sample = id;
        self.place(&mut sample, &body);
        let timed = self.losses.timed(buffer, self.now, is_timed, PerfRecord { sample, body });
        self.losses.note(archive, &mut self.translator, &timed, is_timed)?;
        let Self { translator, events, rules, .. } = self;
        let has =
            |event: &kernel::Event<'_>| rules.as_ref().is_some_and(|rules| rules.own.have(event));
        let is_switch = matches!(timed.record.body, Body::SwitchIn { .. } | Body::SwitchOut { .. });
        if is_switch && !rules.as_ref().is_some_and(|rules| rules.own.switches) {
            return Ok(());
        }
        let SampleId { process, thread, .. } = timed.record.sample;
        if thread != 0 && thread != NO_THREAD && process != NO_THREAD {
            translator.process(thread.into(), process.into());
        }
        match &timed.record.body {
            Body::Comm { process, thread, name, .. } => {
                let koids = ThreadKoids::new((*process).into(), (*thread).into());
                translator.thread(archive, koids, name)?;
            }
            Body::Exit { process, thread } => {
                translator.process((*thread).into(), (*process).into());
            }
            Body::Fork { process, thread, creator_process, creator } => {
                translator.process((*creator).into(), (*creator_process).into());
                if !is_timed {
                    translator.process((*thread).into(), (*process).into());
                }
            }
            _ => {}
        }
        events.push(&timed, |entry| match is_timed && has(&entry.event) {
            true => translator.entry(archive, entry),
            false => Ok(()),
        })
    }

    /// Gives a switch without a CPU one.
    fn place(&mut self, id: &mut SampleId, body: &Body) {
        let is_of_thread = match body {
            Body::SwitchIn { from } => from.is_none(),
            Body::SwitchOut { to, .. } => to.is_none(),
            _ => false,
        };
        if is_of_thread {
            self.events.of_threads();
        }
        if id.cpu != NO_CPU {
            return;
        }
        match body {
            Body::SwitchIn { .. } => id.cpu = self.slots.enter(id.thread).into(),
            Body::SwitchOut { .. } => id.cpu = self.slots.leave(id.thread).into(),
            Body::Exit { thread, .. } => id.cpu = self.slots.leave(*thread).into(),
            _ => {}
        }
    }

    /// Uses a record for the address spaces of processes.
    fn image(&mut self, is_timed: bool, is_made_fork: bool, body: &Body) {
        // Mappings without a time existed at the start.
        let ticks = if is_timed { self.now } else { 0 };
        match body {
            Body::Comm { process, is_exec: true, .. } => self.images.exec(*process),
            Body::Fork { process, creator_process, .. } if process != creator_process => {
                match is_made_fork {
                    true => self.images.exec(*process),
                    false => self.images.fork(*process, *creator_process),
                }
            }
            Body::Exit { process, thread } if process == thread => self.images.exit(*process),
            Body::Mmap(file) if file.process == KERNEL => {
                self.images.map_kernel(ticks, &kernel_code(file));
            }
            Body::Mmap(file) => {
                let mut file = MappedFile::clone(file);
                if file.build_id.is_empty() {
                    file.build_id = self.contents.description.id_of(&file.path).into();
                }
                self.images.map(ticks, &file);
            }
            _ => {}
        }
    }

    fn sample(
        &mut self,
        archive: &mut Writer<Vec<u8>>,
        (is_stack, attribute): (bool, &Attribute),
        id: SampleId,
        sample: Sample<'_>,
    ) -> Result<(), WriteError> {
        if id.thread != 0 {
            self.translator.process(id.thread.into(), id.process.into());
        }
        if let (Some(raw), true) = (sample.raw, attribute.is_tracepoint()) {
            self.tracepoint(archive, id, raw)?;
        } else if !is_stack {
            return self.instant(archive, attribute, id, &sample);
        }
        match is_stack {
            true => self.stack(archive, attribute, id, sample),
            false => Ok(()),
        }
    }

    fn tracepoint(
        &mut self,
        archive: &mut Writer<Vec<u8>>,
        id: SampleId,
        payload: &[u8],
    ) -> Result<(), WriteError> {
        let decoder = &self.contents.description.formats.decoder;
        let number = decoder.order().number_at(payload, 0, 2).unwrap_or(0);
        let raw = RawEvent { time: self.now, id: number as u16, payload, offset: 0 };
        let cpu = if id.cpu == NO_CPU { 0 } else { u16::try_from(id.cpu).unwrap_or(u16::MAX) };
        self.translator.entry(archive, &decoder.decode(cpu, &raw))
    }

    fn stack(
        &mut self,
        archive: &mut Writer<Vec<u8>>,
        attribute: &Attribute,
        id: SampleId,
        sample: Sample<'_>,
    ) -> Result<(), WriteError> {
        let Sample { address, period, mut chain, registers, stack, .. } = sample;
        let end = chain.iter().position(|address| *address == DEFERRED);
        chain.truncate(end.unwrap_or(chain.len()));
        let is_native = self.rules.as_ref().is_some_and(|rules| rules.is_native);
        let registers = match is_native {
            true => selected(&registers, attribute.registers),
            false => Vec::new(),
        };
        self.weight(archive, attribute, id, period)?;
        if registers.is_empty() && chain.iter().all(|address| *address >= MARKS) {
            chain.extend(address);
        }
        let sample = StackSample {
            chain,
            raw: Vec::new(),
            branches: Vec::new(),
            registers,
            stack: stack.to_vec(),
        };
        self.images.sample(self.now, id, &sample, archive)
    }

    /// Writes the weight of the next stack, if it is not that of all.
    fn weight(
        &mut self,
        archive: &mut Writer<Vec<u8>>,
        attribute: &Attribute,
        id: SampleId,
        period: Option<u64>,
    ) -> Result<(), WriteError> {
        let is_weighted = self.rules.as_ref().is_some_and(|rules| rules.is_weighted);
        let weight = period.or(attribute.period()).filter(|weight| is_weighted && *weight != 1);
        let Some(weight) = weight else { return Ok(()) };
        write_event(
            archive,
            Event {
                ticks: self.now,
                thread: Thread::Inline(ThreadKoids::new(id.process.into(), id.thread.into())),
                category: CATEGORY.into(),
                name: SAMPLE_WEIGHT.into(),
                kind: EventKind::Instant { scope: Some(InstantScope::Thread) },
                arguments: [Argument::new("weight", Value::Uint64(weight))][..].into(),
            },
        )
    }

    /// Writes a sample of an event whose samples are not the profile.
    fn instant(
        &mut self,
        archive: &mut Writer<Vec<u8>>,
        attribute: &Attribute,
        id: SampleId,
        sample: &Sample<'_>,
    ) -> Result<(), WriteError> {
        let address = sample.address.map(|it| Argument::new("address", Value::Pointer(it)));
        let period = sample.period.map(|it| Argument::new("period", Value::Uint64(it)));
        let cpu = (id.cpu != NO_CPU).then(|| Argument::new("cpu", Value::Uint32(id.cpu)));
        let arguments: Vec<_> = address.into_iter().chain(period).chain(cpu).collect();
        let label = attribute.label();
        let name = trace_format::layout::cut_str(&label, trace_format::layout::MAX_STRING_BYTES);
        let event = Event {
            ticks: self.now,
            thread: Thread::Inline(ThreadKoids::new(id.process.into(), id.thread.into())),
            category: SAMPLES.into(),
            name: name.into(),
            kind: EventKind::Instant { scope: Some(InstantScope::Thread) },
            arguments: arguments[..].into(),
        };
        write_event(archive, event)
    }
}

/// Returns the place of a sample with the ids 0 for those of a thread that has ended.
fn known(id: SampleId) -> SampleId {
    let known = |id| if id == NO_THREAD { 0 } else { id };
    SampleId { process: known(id.process), thread: known(id.thread), ..id }
}

/// Returns the registers that unwinding needs, of those that a mask selects; none if one is
/// missing.
fn selected(registers: &[u64], mask: u64) -> Vec<u64> {
    if mask & REGISTERS != REGISTERS {
        return Vec::new();
    }
    let numbers = (0..u64::BITS).filter(|number| mask >> number & 1 != 0);
    let pairs = numbers.zip(registers);
    pairs.filter(|(number, _)| REGISTERS >> number & 1 != 0).map(|(_, value)| *value).collect()
}

/// Returns the kernel's code with a name that is not that of a file: addresses in files of modules
/// are not those of their functions.
fn kernel_code(file: &MappedFile) -> MappedFile {
    let path = &*file.path;
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let stem = name.split(|byte| *byte == b'.').next().unwrap_or_default();
    let path = match path.split(|byte| *byte == b']').next() {
        Some(inner) if path.first() == Some(&b'[') => [inner, b"]"].concat(),
        _ => [b"[", stem, b"]"].concat(),
    };
    MappedFile { path: path.into(), ..file.clone() }
}

#[cfg(test)]
mod tests;
