//! Records of a log as YAML.

use std::fmt::Write as _;
use std::io::{self, Read, Seek, Write};

use data_encoding::BASE64;

use super::kind::Kind;
use super::Error;
use crate::layout::{Version, TYPE_FDR};
use crate::map::Names;
use crate::read::{Item, Ordered, ReadError};
use crate::record::{FunctionId, Record};
use crate::yaml_parser::scalar;

/// The records that were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Entries and exits of functions.
    pub functions: u64,
    /// Custom and typed events.
    pub events: u64,
    /// Errors of the log, of which some stand for several.
    pub errors: u64,
}

/// Writes the calls and events of a log as YAML.
///
/// `version` is the number in the header. LLVM's tools read version 1 only, and its records may be
/// of any kind. A payload that is not UTF-8 has the tag `!!binary`, and is in base64. Each thread
/// buffer comes whole, in the order of their first times. `damage` gets each error.
///
/// # Errors
///
/// Reading or writing failed, or the log has several clocks.
///
/// # Examples
///
/// ```
/// use std::fs::File;
/// use trace_xray::layout::Version;
/// use trace_xray::map::{Map, Names};
/// use trace_xray::read::Ordered;
/// use trace_xray::yaml;
///
/// fn print(log: File, program: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
///     let mut names = Names::new(Map::parse(program)?);
///     let damage = |error: &_| eprintln!("{error}");
///     yaml::write(Ordered::new(log)?, &mut names, Version::V1, std::io::stdout(), damage)?;
///     Ok(())
/// }
/// ```
pub fn write<R: Read + Seek, W: Write>(
    mut log: Ordered<R>,
    names: &mut Names,
    version: Version,
    output: W,
    mut damage: impl FnMut(&ReadError),
) -> Result<Counts, Error> {
    let header = log.header().copied();
    let frequency = header.map_or(0, |header| header.cycle_frequency);
    let mut yaml = Yaml { output, names, frequency, last: None, counts: Counts::default() };
    let flags = header.map_or([true; 2], |header| [header.constant_tsc, header.nonstop_tsc]);
    yaml.start(version, flags).map_err(Error::Output)?;
    loop {
        match log.next() {
            Ok(Some(item)) => yaml.item(&item)?,
            Ok(None) => break,
            Err(error @ ReadError::Io { .. }) => return Err(Error::Log(error)),
            Err(error) => {
                yaml.counts.errors += error.number();
                damage(&error);
            }
        }
    }
    yaml.finish().map_err(Error::Output)
}

struct Yaml<'a, W> {
    output: W,
    names: &'a mut Names,
    frequency: u64,
    /// The last record, to which arguments may be added.
    last: Option<Line>,
    counts: Counts,
}

/// A record that is not written yet.
struct Line {
    /// Its fields up to the arguments.
    start: String,
    arguments: Vec<u64>,
    /// Its fields behind the arguments.
    end: String,
}

impl<W: Write> Yaml<'_, W> {
    fn start(&mut self, version: Version, [constant, nonstop]: [bool; 2]) -> io::Result<()> {
        let Self { output, frequency, .. } = self;
        writeln!(output, "---")?;
        writeln!(output, "header:")?;
        writeln!(output, "  version:         {}", version.number())?;
        writeln!(output, "  type:            {TYPE_FDR}")?;
        writeln!(output, "  constant-tsc:    {constant}")?;
        writeln!(output, "  nonstop-tsc:     {nonstop}")?;
        writeln!(output, "  cycle-frequency: {frequency}")?;
        write!(output, "records:")
    }

    fn item(&mut self, item: &Item<'_>) -> Result<(), Error> {
        if item.header.cycle_frequency != self.frequency {
            return Err(Error::OtherClock { offset: item.offset });
        }
        let line = match item.record {
            Record::CallArgument { value } => {
                self.last.iter_mut().for_each(|line| line.arguments.push(value));
                return Ok(());
            }
            Record::Function(record) => {
                self.counts.functions += 1;
                self.line(item, Kind::Function(record.action), Some(record.function), &[])
            }
            Record::CustomEvent(event) if !event.is_filler() => {
                self.counts.events += 1;
                self.line(item, Kind::Custom, None, event.payload)
            }
            Record::TypedEvent(event) => {
                self.counts.events += 1;
                self.line(item, Kind::Typed, None, event.payload)
            }
            _ => return Ok(()),
        };
        self.write_last().map_err(Error::Output)?;
        self.last = Some(line);
        Ok(())
    }

    fn line(
        &mut self,
        item: &Item<'_>,
        kind: Kind,
        function: Option<FunctionId>,
        payload: &[u8],
    ) -> Line {
        let number = match item.record {
            Record::TypedEvent(event) => event.event_type,
            _ => 0,
        };
        let mut start = format!("type: {number}");
        if let Some(id) = function {
            let name = scalar(&self.names.get(id));
            // Writing to a string does not fail.
            let _ = write!(start, ", func-id: {}, function: {name}", id.number());
        }
        let mut end = format!(", cpu: {}", item.cpu());
        let ids = [("thread", item.buffer.thread), ("process", item.buffer.process.unwrap_or(0))];
        for (name, id) in ids.into_iter().filter(|(_, id)| *id != 0) {
            let _ = write!(end, ", {name}: {}", id as u32);
        }
        let _ =
            write!(end, ", kind: {}, tsc: {}, data: {}", kind.name(), item.tsc(), data(payload));
        Line { start, arguments: Vec::new(), end }
    }

    fn write_last(&mut self) -> io::Result<()> {
        let is_first = self.counts.functions + self.counts.events == 1;
        let Some(Line { start, arguments, end }) = self.last.take() else {
            return if is_first { writeln!(self.output) } else { Ok(()) };
        };
        write!(self.output, "  - {{ {start}")?;
        if !arguments.is_empty() {
            let arguments: Vec<_> = arguments.iter().map(u64::to_string).collect();
            write!(self.output, ", args: [ {} ]", arguments.join(", "))?;
        }
        writeln!(self.output, "{end} }}")
    }

    fn finish(mut self) -> io::Result<Counts> {
        match self.last {
            Some(_) => self.write_last()?,
            None => writeln!(self.output, "         []")?,
        }
        writeln!(self.output, "...")?;
        self.output.flush()?;
        Ok(self.counts)
    }
}

/// Returns a payload as a scalar.
fn data(payload: &[u8]) -> String {
    match std::str::from_utf8(payload) {
        Ok("") => "''".to_owned(),
        Ok(text) => scalar(text),
        Err(_) => format!("!!binary '{}'", BASE64.encode(payload)),
    }
}
