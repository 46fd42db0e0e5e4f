//! Adds an input format, a log of jobs. A line has the time in nanoseconds, an event, a thread and
//! a job: `1500 begin 7 compile`.

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
        archive.record(&event(&line).ok_or_else(malformed)?.into()).map_err(into_io)?;
        Ok(true)
    }
}

fn event(line: &str) -> Option<Event<'_>> {
    let mut words = line.trim_end().splitn(4, ' ');
    let ticks = words.next()?.parse().ok()?;
    let kind = match words.next()? {
        "begin" => EventKind::DurationBegin,
        "end" => EventKind::DurationEnd,
        _ => return None,
    };
    let thread = Thread::Inline(ThreadKoids::new(1, words.next()?.parse().ok()?));
    let (category, name) = ("job".into(), words.next()?.into());
    Some(Event { ticks, thread, category, name, kind, arguments: Arguments::NONE })
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
