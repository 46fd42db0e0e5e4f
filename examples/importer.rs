//! Adds an input format: a log of jobs with one event per line.
//!
//! ```text
//! 1500 begin 7 compile
//! 4200 end 7 compile
//! ```
//!
//! The columns are nanoseconds, event, thread and job.

use std::io::{self, BufRead, BufReader, Read};

use trace_analyze::input::{imported, into_io, Importer, InputFormat};
use trace_analyze::stats::{self, Grouping};
use trace_format::{Arguments, Event, EventKind, Reader, Thread, ThreadKoids, Writer};

/// The format.
struct JobLog;

impl InputFormat for JobLog {
    fn name(&self) -> &'static str {
        "job log"
    }

    fn detects(&self, start: &[u8]) -> bool {
        start.first().is_some_and(u8::is_ascii_digit)
    }

    fn open<'a>(&self, input: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
        imported(Jobs(BufReader::new(input)))
    }
}

/// Its importer.
struct Jobs<R>(R);

impl<R: BufRead> Importer for Jobs<R> {
    fn import(&mut self, archive: &mut Writer<Vec<u8>>) -> io::Result<bool> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Ok(false);
        }
        let malformed = || io::Error::new(io::ErrorKind::InvalidData, format!("no job: {line}"));
        let [ticks, what, thread, name] = line
            .trim_end()
            .splitn(4, ' ')
            .collect::<Vec<_>>()
            .try_into()
            .map_err(|_| malformed())?;
        let kind = match what {
            "begin" => EventKind::DurationBegin,
            "end" => EventKind::DurationEnd,
            _ => return Err(malformed()),
        };
        let thread = thread.parse().map_err(|_| malformed())?;
        let (ticks, thread) =
            (ticks.parse().map_err(|_| malformed())?, ThreadKoids::new(1, thread));
        let (thread, category, name) = (Thread::Inline(thread), "job".into(), name.into());
        let event = Event { ticks, thread, category, name, kind, arguments: Arguments::NONE };
        archive.record(&event.into()).map_err(into_io)?;
        Ok(true)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let log = "1500 begin 7 compile\n2000 begin 8 test\n4200 end 7 compile\n2900 end 8 test\n";
    assert!(JobLog.detects(log.as_bytes()));
    let archive = Reader::new(JobLog.open(Box::new(log.as_bytes()))?);
    for row in stats::collect(archive, Grouping::Together, None)?.durations {
        println!("{} {} {} ns", row.name, row.lengths.count(), row.lengths.sum());
    }
    Ok(())
}
