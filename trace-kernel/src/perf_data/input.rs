//! Files of perf as archives.
//!
//! The output of a pipe is read as it comes. A file has the names of its events at its end, so it
//! waits in a temporary file.

use std::io::{self, BufReader, Cursor, Read};

use trace_analyze::input::{imported, into_io, temporary_copy, Importer, InputFormat};
use trace_format::Writer;

use super::convert::Converter;
use super::error::PerfDataError;
use super::header::{self, MAGIC, OLD_MAGIC, PIPE_BYTES, SWAPPED_MAGIC};
use super::notes::Notes;
use super::order::Sorter;
use super::raw::{RawRecord, FINISHED_ROUND, FIRST_OWN};
use super::sample::sample_id;
use super::stream::Stream;
use crate::live::perf::record::SampleId;

/// The bytes of memory that a waiting record needs beside its own.
const WAITING_BYTES: usize = 128;

/// A file of `perf record` as an input.
#[derive(Clone, Copy, Debug, Default)]
pub struct PerfData;

impl InputFormat for PerfData {
    fn name(&self) -> &'static str {
        "perf.data"
    }

    fn detects(&self, start: &[u8]) -> bool {
        [MAGIC, SWAPPED_MAGIC, OLD_MAGIC].iter().any(|magic| start.starts_with(*magic))
    }

    fn open<'a>(&self, mut input: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
        let mut start = Vec::new();
        input.by_ref().take(PIPE_BYTES as u64).read_to_end(&mut start)?;
        let (order, is_pipe) = header::kind(&start)?;
        if is_pipe {
            let stream = Stream::new(BufReader::new(input), None, order);
            return imported(PerfDataImporter::new(stream, Converter::new(order)));
        }
        let mut file = BufReader::new(temporary_copy(Cursor::new(start).chain(input))?);
        let (contents, data) = header::read(&mut file, order)?;
        header::seek(&mut file, data.offset)?;
        let is_incomplete = data.size == 0;
        let stream = Stream::new(file, (!is_incomplete).then_some(data.size), order);
        let mut converter = Converter::new(order);
        converter.contents = contents;
        converter.notes = Notes { is_incomplete, ..Notes::default() };
        imported(PerfDataImporter::new(stream, converter))
    }
}

struct PerfDataImporter<R> {
    stream: Stream<R>,
    /// Records with the index of their event.
    sorter: Sorter<(usize, SampleId, RawRecord)>,
    converter: Converter,
    state: State,
    error: Option<PerfDataError>,
}

/// What is left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Records are read.
    Reading,
    /// All have been read, and some wait.
    Waiting,
    /// All have been converted.
    Finished,
}

impl<R: Read> Importer for PerfDataImporter<R> {
    fn import(&mut self, archive: &mut Writer<Vec<u8>>) -> io::Result<bool> {
        if let Some((_, (index, id, record))) = self.sorter.next() {
            self.converter.record(archive, index, id, &record)?;
            return Ok(true);
        }
        match self.state {
            State::Reading => self.read(),
            State::Waiting => {
                self.converter.finish(archive, self.sorter.late()).map_err(into_io)?;
                self.state = State::Finished;
            }
            State::Finished => {
                let error = self.error.take().or_else(|| self.converter.contents.fault.take());
                return error.map_or(Ok(false), |error| Err(error.into()));
            }
        }
        Ok(true)
    }
}

impl<R: Read> PerfDataImporter<R> {
    fn new(stream: Stream<R>, converter: Converter) -> Self {
        let (sorter, state) = (Sorter::default(), State::Reading);
        Self { stream, sorter, converter, state, error: None }
    }

    /// Reads the next record. After an error, those before it are converted.
    fn read(&mut self) {
        let result = match self.stream.next() {
            Ok(Some(record)) => self.add(record),
            Ok(None) => self.converter.contents.attributes.check().map(|()| self.end()),
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            self.error = Some(error).filter(|it| !self.is_expected(it));
            self.end();
        }
    }

    /// Returns whether it is the end of a file that perf could not complete.
    fn is_expected(&self, error: &PerfDataError) -> bool {
        let is_end = |it: &io::Error| it.kind() == io::ErrorKind::UnexpectedEof;
        self.converter.notes.is_incomplete && matches!(error, PerfDataError::Io(it) if is_end(it))
    }

    fn end(&mut self) {
        self.sorter.end();
        self.state = State::Waiting;
    }

    fn add(&mut self, record: RawRecord) -> Result<(), PerfDataError> {
        if record.kind == FINISHED_ROUND {
            self.sorter.end_round();
            return Ok(());
        }
        if record.kind >= FIRST_OWN {
            return self.converter.own(&record);
        }
        let malformed = PerfDataError::Record { offset: record.offset };
        let order = self.converter.order;
        let attributes = self.converter.attributes()?;
        let Some(index) = attributes.of(&record, order) else {
            self.converter.notes.unknown += 1;
            return Ok(());
        };
        let id = attributes.get(index).and_then(|it| sample_id(&record, it, order));
        let mut id = id.ok_or(malformed)?;
        if id.time == u64::MAX {
            id.time = 0;
        }
        let bytes = WAITING_BYTES + record.body.len();
        self.sorter.add(id.time, bytes, (index, id, record));
        Ok(())
    }
}
