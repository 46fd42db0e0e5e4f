//! AUX data, such as packets of Intel PT, and the records that are required to decode them.

use std::io::{self, BufReader, Read, Seek};

use super::error::PerfDataError;
use super::fields::{numbers, Fields};
use super::header::{self, Contents, PIPE_BYTES};
use super::order::Sorter;
use super::parse;
use super::raw::{RawRecord, AUXTRACE_INFO, FINISHED_ROUND, FIRST_OWN, HEADER_ATTR};
use super::sample::sample_id;
use super::stream::Stream;
use crate::byte_order::ByteOrder;
use crate::live::perf::aux_event::AuxEvent;
use crate::live::perf::record::{Body, MappedFile, SampleId};

/// The bytes of memory that a waiting record needs beside its own.
const WAITING_BYTES: usize = 128;

/// The buffer of AUX data: that of a thread or of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuxQueue {
    /// The number of the buffer.
    pub index: u32,
    /// The thread, or `None` if the buffer is that of a CPU.
    pub thread: Option<u32>,
    /// The CPU, or `None` if the buffer is that of a thread.
    pub cpu: Option<u32>,
}

/// Receives the AUX data of a file.
pub trait AuxVisitor {
    /// Receives the type and the options of an event of the file.
    fn event_type(&mut self, kind: u32, config: u64);

    /// Receives the description of the AUX data: its type, and numbers that depend on it.
    fn info(&mut self, kind: u32, fields: Vec<u64>);

    /// Receives the next AUX data of a buffer. What is not read is skipped.
    ///
    /// # Errors
    ///
    /// An error ends reading.
    fn data(&mut self, queue: AuxQueue, bytes: &mut dyn Read) -> io::Result<()>;

    /// Receives the next event in the order of time, in nanoseconds.
    fn event(&mut self, time: u64, event: AuxEvent);
}

/// Reads the AUX data of a file of perf, also of one that it wrote to a pipe, and the records about
/// threads and code.
///
/// # Errors
///
/// Fails if the file is malformed. The records before were visited.
pub fn read_aux<R: Read + Seek>(
    mut input: R,
    visitor: &mut impl AuxVisitor,
) -> Result<(), PerfDataError> {
    let mut start = Vec::new();
    header::seek(&mut input, 0)?;
    input.by_ref().take(PIPE_BYTES as u64).read_to_end(&mut start)?;
    let (order, is_pipe) = header::kind(&start)?;
    if is_pipe {
        let stream = Stream::new(BufReader::new(input), None, order);
        return Parser::new(Contents::default(), order).read(stream, visitor);
    }
    let (contents, data) = header::read(&mut input, order)?;
    header::seek(&mut input, data.offset)?;
    contents.attributes.list().iter().for_each(|it| visitor.event_type(it.kind, it.config));
    let stream = Stream::new(BufReader::new(input), Some(data.size), order);
    Parser::new(contents, order).read(stream, visitor)
}

struct Parser {
    contents: Contents,
    order: ByteOrder,
    /// Records with the index of their event.
    sorter: Sorter<(usize, SampleId, RawRecord)>,
    /// Whether the fields of records are known.
    is_checked: bool,
}

impl Parser {
    fn new(contents: Contents, order: ByteOrder) -> Self {
        Self { contents, order, sorter: Sorter::default(), is_checked: false }
    }

    fn read<R: Read>(
        mut self,
        mut stream: Stream<R>,
        visitor: &mut impl AuxVisitor,
    ) -> Result<(), PerfDataError> {
        let order = self.order;
        loop {
            let mut data = |body: &[u8], bytes: &mut dyn Read| match queue(body, order) {
                Some(queue) => visitor.data(queue, bytes),
                None => Ok(()),
            };
            let Some(record) = stream.next_with(&mut data)? else { break };
            match record.kind {
                AUXTRACE_INFO => info(&record, order, visitor),
                FINISHED_ROUND => self.sorter.end_round(),
                HEADER_ATTR => self.event_type(&record, visitor)?,
                kind if kind >= FIRST_OWN => self.contents.add(&record, order)?,
                _ => self.add(record)?,
            }
            self.visit_sorted(visitor);
        }
        self.sorter.end();
        self.visit_sorted(visitor);
        Ok(())
    }

    fn event_type(
        &mut self,
        record: &RawRecord,
        visitor: &mut impl AuxVisitor,
    ) -> Result<(), PerfDataError> {
        self.contents.add(record, self.order)?;
        self.is_checked = false;
        if let Some(added) = self.contents.attributes.list().last() {
            visitor.event_type(added.kind, added.config);
        }
        Ok(())
    }

    fn add(&mut self, record: RawRecord) -> Result<(), PerfDataError> {
        let attributes = &self.contents.attributes;
        if !self.is_checked {
            attributes.check()?;
            self.is_checked = true;
        }
        let malformed = PerfDataError::Record { offset: record.offset };
        let Some(index) = attributes.of(&record, self.order) else { return Ok(()) };
        let id = attributes.get(index).and_then(|it| sample_id(&record, it, self.order));
        let id = id.ok_or(malformed)?;
        let time = if id.time == u64::MAX { 0 } else { id.time };
        self.sorter.add(time, WAITING_BYTES + record.body.len(), (index, id, record));
        Ok(())
    }

    fn visit_sorted(&mut self, visitor: &mut impl AuxVisitor) {
        while let Some((time, (index, id, record))) = self.sorter.next() {
            if let Some(event) = self.event(index, id, &record) {
                visitor.event(time, event);
            }
        }
    }

    fn event(&self, index: usize, id: SampleId, record: &RawRecord) -> Option<AuxEvent> {
        let attribute = self.contents.attributes.get(index)?;
        Some(match parse::body(record, attribute, self.order)? {
            Body::Comm { process, thread, name, is_exec } => {
                AuxEvent::Named { process, thread, name: name.into(), is_exec }
            }
            Body::Fork { process, thread, creator_process, .. } => {
                AuxEvent::Forked { process, thread, creator: creator_process }
            }
            Body::Mmap(file) if !record.is_outside() => self.mapped(&file),
            Body::SwitchIn { .. } => {
                AuxEvent::Entered { cpu: id.cpu, process: id.process, thread: id.thread }
            }
            Body::SwitchOut { .. } => AuxEvent::Left { cpu: id.cpu },
            _ => return None,
        })
    }

    fn mapped(&self, file: &MappedFile) -> AuxEvent {
        let build_id = match file.build_id.is_empty() {
            true => self.contents.description.id_of(&file.path),
            false => &file.build_id,
        };
        AuxEvent::Mapped {
            process: file.process,
            address: file.start,
            size: file.length,
            offset: file.offset,
            path: String::from_utf8_lossy(&file.path).into_owned(),
            build_id: build_id.to_vec(),
        }
    }
}

fn queue(body: &[u8], order: ByteOrder) -> Option<AuxQueue> {
    let mut fields = Fields::new(body, order);
    let (_size, _offset, _reference) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let index = fields.u32()?;
    let (thread, cpu) = (fields.u32()?, fields.u32()?);
    let known = |number| Some(number).filter(|number| *number != u32::MAX);
    Some(AuxQueue { index, thread: known(thread), cpu: known(cpu) })
}

fn info(record: &RawRecord, order: ByteOrder, visitor: &mut impl AuxVisitor) {
    let mut fields = Fields::new(&record.body, order);
    if let (Some(kind), Some(_)) = (fields.u32(), fields.u32()) {
        visitor.info(kind, numbers(fields.rest, order).collect());
    }
}
