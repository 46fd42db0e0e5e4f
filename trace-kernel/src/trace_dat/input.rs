//! Files of trace-cmd (`trace.dat`) as archives.
//!
//! The pages of a CPU are one after another in a file, so all of it has to be there before the
//! events of all CPUs can be put in the order of time. It waits in a temporary file.

use std::io::{self, Read, Seek};

use trace_analyze::input::{imported, into_io, temporary_copy, Importer, InputFormat};
use trace_format::{Log, Thread, ThreadKoids, Writer};

use super::{TraceDat, TraceDatError, MAGIC};
use crate::fxt::Translator;

/// A file of trace-cmd as an input.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceCmd;

impl InputFormat for TraceCmd {
    fn name(&self) -> &'static str {
        "trace.dat"
    }

    fn detects(&self, start: &[u8]) -> bool {
        start.starts_with(MAGIC)
    }

    fn open<'a>(&self, input: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
        let copy = temporary_copy(input)?;
        let file = TraceDat::open(io::BufReader::new(copy)).map_err(invalid)?;
        let (translator, is_started, message) = (Translator::default(), false, None);
        imported(TraceDatImporter { file, translator, is_started, message })
    }
}

struct TraceDatImporter<R> {
    file: TraceDat<R>,
    translator: Translator,
    is_started: bool,
    /// A log message at the time of the first event.
    message: Option<String>,
}

impl<R: Read + Seek> Importer for TraceDatImporter<R> {
    fn import(&mut self, archive: &mut Writer<Vec<u8>>) -> io::Result<bool> {
        if !std::mem::replace(&mut self.is_started, true) {
            self.start(archive)?;
        }
        let Some(item) = self.file.next().map_err(invalid)? else {
            for (cpu, missed, times) in self.file.missed_at_end() {
                self.translator.missed(archive, cpu, missed, times).map_err(into_io)?;
            }
            self.translator.finish(archive).map_err(into_io)?;
            return Ok(false);
        };
        if let Some(message) = self.message.take() {
            let (ticks, thread) = (item.entry.ticks, Thread::Inline(ThreadKoids::UNKNOWN));
            let message = message.as_bytes();
            archive.record(&Log { ticks, thread, message }.into()).map_err(into_io)?;
        }
        let (cpu, time) = (item.entry.cpu, item.entry.ticks);
        let missed = self.translator.missed(archive, cpu, item.missed, (item.since, time));
        missed.and_then(|()| self.translator.entry(archive, &item.entry)).map_err(into_io)?;
        Ok(true)
    }
}

impl<R: Read + Seek> TraceDatImporter<R> {
    fn start(&mut self, archive: &mut Writer<Vec<u8>>) -> io::Result<()> {
        archive.provider(1, "kernel").map_err(into_io)?;
        let rate = self.file.ticks_per_second();
        archive.initialization(rate.unwrap_or(1_000_000_000)).map_err(into_io)?;
        if rate.is_none() {
            let clock = self.file.clock();
            let message = format!("the file has no rate of the clock {clock}: a tick is 1 ns here");
            self.message = Some(message);
        }
        for (thread, name) in self.file.names() {
            self.translator.name(archive, thread, name).map_err(into_io)?;
        }
        Ok(())
    }
}

fn invalid(error: TraceDatError) -> io::Error {
    match error {
        TraceDatError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => error,
        error => io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
    }
}
