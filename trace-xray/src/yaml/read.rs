//! A log of the records in YAML.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};
use std::rc::Rc;
use std::time::Duration;

use data_encoding::BASE64;
use saphyr_parser::{Event, Input, Tag};

use super::kind::Kind;
use super::Error;
use crate::layout::{Action, Version, MAX_FUNCTION_ID, MAX_PAYLOAD_BYTES};
use crate::map::Map;
use crate::record::{Format, FunctionId, Header};
use crate::write::{Anchor, Buffer, Log, Stamp};
use crate::yaml_parser::{number, Events, YamlError};

/// The bytes in thread buffers that are kept in memory.
const PENDING_BYTES: usize = 4 << 20;

/// The bytes of a record in a thread buffer, without arguments and payload: it may have a new CPU.
const RECORD_BYTES: usize = 32;

/// Returns whether a file is YAML of a log, by its first bytes.
#[must_use]
pub fn detects(start: &[u8]) -> bool {
    const KEYS: [&[u8]; 5] =
        [b"version:", b"type:", b"constant-tsc:", b"nonstop-tsc:", b"cycle-frequency:"];
    let Some(fields) = content(start).strip_prefix(b"header:") else { return false };
    // They are on lines of their own, or in braces.
    let fields = content(fields);
    let fields = fields.strip_prefix(b"{").map_or(fields, content);
    KEYS.iter().any(|key| fields.starts_with(key))
}

/// Returns the text from its first line on that is not empty, a comment or the start of a document.
fn content(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        let is_skipped = [&b"#"[..], b"%YAML", b"---"].iter().any(|start| text.starts_with(start));
        if !is_skipped {
            return text;
        }
        let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
        text = text.get(end..).unwrap_or_default();
    }
}

/// Writes the records of YAML as a binary log of version 5, and returns the names of functions.
///
/// The thread buffers have a wall clock of 0, since YAML has none. Memory grows with the number of
/// threads and names, and has at most 4 MiB of records, or the longest one.
///
/// # Errors
///
/// The input is not YAML of a log, or reading or writing failed.
pub fn read<R: Read, W: Write>(input: R, output: W) -> Result<Map, Error> {
    let failure = Rc::new(RefCell::new(None));
    let characters = Characters { input: BufReader::new(input), failure: failure.clone() };
    let result = Document { events: Events::of_characters(characters) }.read(output);
    match failure.take() {
        Some(error) => Err(Error::Input(error)),
        None => result,
    }
}

/// The characters of an input. They end at an error.
struct Characters<R> {
    input: BufReader<R>,
    failure: Rc<RefCell<Option<io::Error>>>,
}

impl<R: Read> Characters<R> {
    fn byte(&mut self) -> io::Result<Option<u8>> {
        self.input.by_ref().bytes().next().transpose()
    }

    fn character(&mut self) -> io::Result<Option<char>> {
        let Some(first) = self.byte()? else { return Ok(None) };
        if first.is_ascii() {
            return Ok(Some(first.into()));
        }
        let mut bytes = vec![first];
        for _ in 1..4 {
            match std::str::from_utf8(&bytes) {
                Ok(_) => break,
                Err(_) => bytes.extend(self.byte()?),
            }
        }
        let text = std::str::from_utf8(&bytes);
        let error = |_| io::Error::new(io::ErrorKind::InvalidData, "the text is not UTF-8");
        Ok(text.map_err(error)?.chars().next())
    }
}

impl<R: Read> Iterator for Characters<R> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        if self.failure.borrow().is_some() {
            return None;
        }
        self.character().unwrap_or_else(|error| {
            *self.failure.borrow_mut() = Some(error);
            None
        })
    }
}

/// The document. Its header comes before its records.
struct Document<'a, I: Input> {
    events: Events<'a, I>,
}

impl<I: Input> Document<'_, I> {
    fn read<W: Write>(mut self, mut output: W) -> Result<Map, Error> {
        loop {
            match self.events.next()? {
                Some(Event::StreamStart | Event::DocumentStart(_)) => {}
                Some(Event::MappingStart(..)) => break,
                _ => return Err(self.error("expected a header and records")),
            }
        }
        let (mut frequency, mut names) = (None, None);
        while let Some(key) = self.key()? {
            match &*key {
                "header" if frequency.is_some() => return Err(self.error("a second header")),
                "records" if names.is_some() => return Err(self.error("a second list of records")),
                "header" => frequency = Some(self.header()?),
                "records" => {
                    let Some(frequency) = frequency else {
                        return Err(self.error("expected the header before the records"));
                    };
                    names = Some(self.records(frequency, &mut output)?);
                }
                _ => self.events.skip_value()?,
            }
        }
        output.flush().map_err(Error::Output)?;
        names.ok_or_else(|| self.error("the records are missing"))
    }

    fn error(&self, message: impl Into<String>) -> Error {
        self.events.error(message).into()
    }

    /// Returns the next key of a mapping, `None` at its end.
    fn key(&mut self) -> Result<Option<String>, YamlError> {
        match self.events.next()? {
            Some(Event::MappingEnd) => Ok(None),
            Some(Event::Scalar(key, ..)) => Ok(Some(key.into_owned())),
            _ => Err(self.events.error("expected a key")),
        }
    }

    /// Returns the ticks per second.
    fn header(&mut self) -> Result<u64, Error> {
        if !matches!(self.events.next()?, Some(Event::MappingStart(..))) {
            return Err(self.error("expected the fields of the header"));
        }
        let mut frequency = None;
        while let Some(key) = self.key()? {
            match &*key {
                "cycle-frequency" => frequency = Some(self.number(&key)?),
                _ => self.events.skip_value()?,
            }
        }
        frequency.ok_or_else(|| self.error("cycle-frequency is missing"))
    }

    fn records<W: Write>(&mut self, frequency: u64, output: W) -> Result<Map, Error> {
        if !matches!(self.events.next()?, Some(Event::SequenceStart(..))) {
            return Err(self.error("expected a sequence of records"));
        }
        let mut records = Records::new(frequency, output)?;
        loop {
            match self.events.next()? {
                Some(Event::MappingStart(..)) => {
                    let fields = self.record()?;
                    records.add(fields.checked().map_err(|what| self.error(what))?)?;
                }
                Some(Event::SequenceEnd) => return records.finish(),
                _ => return Err(self.error("expected a record")),
            }
        }
    }

    fn record(&mut self) -> Result<Fields, Error> {
        let mut fields = Fields::default();
        while let Some(key) = self.key()? {
            match &*key {
                "args" => fields.arguments = self.arguments()?,
                "type" => fields.event_type = self.number(&key)?,
                "func-id" => {
                    let id: u32 = self.number(&key)?;
                    if id > MAX_FUNCTION_ID {
                        return Err(self.error("func-id has more than 28 bits"));
                    }
                    fields.function = Some(FunctionId::from_bits(id.into()));
                }
                "function" => fields.name = self.text()?.0,
                "cpu" => fields.cpu = Some(self.number(&key)?),
                "thread" => fields.thread = self.number(&key)?,
                "process" => fields.process = self.number(&key)?,
                "tsc" => fields.tsc = Some(self.number(&key)?),
                "kind" => {
                    let (name, _) = self.text()?;
                    let kind = Kind::from_name(&name);
                    fields.kind =
                        Some(kind.ok_or_else(|| self.error(format!("unknown kind {name}")))?);
                }
                "data" => fields.data = self.data()?,
                _ => self.events.skip_value()?,
            }
        }
        Ok(fields)
    }

    fn text(&mut self) -> Result<(String, Option<Tag>), YamlError> {
        match self.events.next()? {
            Some(Event::Scalar(text, _, _, tag)) => {
                Ok((text.into_owned(), tag.map(std::borrow::Cow::into_owned)))
            }
            _ => Err(self.events.error("expected a value")),
        }
    }

    fn number<N: TryFrom<u64>>(&mut self, key: &str) -> Result<N, YamlError> {
        let (text, _) = self.text()?;
        let value = number(&text).and_then(|value| N::try_from(value).ok());
        value.ok_or_else(|| self.events.error(format!("invalid {key}: {text}")))
    }

    fn arguments(&mut self) -> Result<Vec<u64>, YamlError> {
        if !matches!(self.events.next()?, Some(Event::SequenceStart(..))) {
            return Err(self.events.error("expected a sequence of arguments"));
        }
        let mut arguments = Vec::new();
        loop {
            match self.events.next()? {
                Some(Event::SequenceEnd) => return Ok(arguments),
                Some(Event::Scalar(text, ..)) => {
                    let value = number(&text);
                    let error = || self.events.error(format!("invalid argument: {text}"));
                    arguments.push(value.ok_or_else(error)?);
                }
                _ => return Err(self.events.error("expected an argument")),
            }
        }
    }

    fn data(&mut self) -> Result<Vec<u8>, YamlError> {
        let (text, tag) = self.text()?;
        if !tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "binary") {
            return Ok(text.into_bytes());
        }
        let plain: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        BASE64.decode(&plain).map_err(|error| self.events.error(format!("invalid base64: {error}")))
    }
}

/// The fields of a record that were read so far.
#[derive(Debug, Default)]
struct Fields {
    event_type: u16,
    function: Option<FunctionId>,
    name: String,
    arguments: Vec<u64>,
    cpu: Option<u16>,
    thread: u32,
    process: u32,
    kind: Option<Kind>,
    tsc: Option<u64>,
    data: Vec<u8>,
}

/// The function of an event.
const NO_FUNCTION: FunctionId = FunctionId::from_bits(0);

/// Why a record of function 0 is refused.
const ZEROS: &str =
    "func-id 0 is no function: llvm-xray reads zeros of a log as its entries, convert the log itself";

/// A record.
struct Checked {
    at: Stamp,
    kind: Kind,
    /// The id of a function, or that of none.
    function: FunctionId,
    fields: Fields,
}

impl Fields {
    /// Returns a record; fails with what it lacks.
    fn checked(self) -> Result<Checked, &'static str> {
        let kind = self.kind.ok_or("the record has no kind")?;
        let tsc = self.tsc.ok_or("the record has no tsc")?;
        let cpu = self.cpu.ok_or("the record has no cpu")?;
        let at = Stamp { tsc, cpu };
        // LLVM's tools write 0 for an event, too.
        let function = self.function.unwrap_or(NO_FUNCTION);
        match kind {
            Kind::Function(_) if self.function.is_none() => {
                return Err("the record has no func-id")
            }
            Kind::Function(_) if function == NO_FUNCTION => return Err(ZEROS),
            Kind::Custom | Kind::Typed if self.data.is_empty() => {
                return Err("the event has no data")
            }
            Kind::Custom | Kind::Typed if self.data.len() > MAX_PAYLOAD_BYTES => {
                return Err("the data of the event is too long");
            }
            _ => {}
        }
        Ok(Checked { at, kind, function, fields: self })
    }
}

/// The log of the records.
struct Records<W> {
    log: Log<W>,
    /// The buffers of threads, by process and thread.
    threads: BTreeMap<[i32; 2], Buffer>,
    /// The bytes in the buffers, at most.
    pending: usize,
    names: BTreeMap<FunctionId, String>,
}

impl<W: Write> Records<W> {
    fn new(cycle_frequency: u64, output: W) -> Result<Self, Error> {
        let format = Format::little(Version::V5);
        let header = Header {
            format,
            constant_tsc: true,
            nonstop_tsc: true,
            cycle_frequency,
            buffer_size: u64::MAX,
            map_id: 0,
        };
        let anchor = Anchor { tsc: u64::MAX, time: Duration::ZERO };
        let log = Log::new(output, header, anchor)?;
        Ok(Self { log, threads: BTreeMap::new(), pending: 0, names: BTreeMap::new() })
    }

    fn add(&mut self, Checked { at, kind, function, fields }: Checked) -> Result<(), Error> {
        let Fields { event_type, name, arguments, thread, process, data, .. } = fields;
        self.pending += RECORD_BYTES + 16 * arguments.len() + data.len();
        if self.pending > PENDING_BYTES {
            self.write()?;
        }
        let Self { log, threads, names, .. } = self;
        let ids = [process as i32, thread as i32];
        let buffer = threads.entry(ids).or_insert_with(|| log.thread(ids[0], ids[1]));
        match kind {
            Kind::Function(Action::Entry | Action::EntryArgs) if !arguments.is_empty() => {
                log.entry_with_arguments(buffer, at, function, &arguments)?;
            }
            Kind::Function(action) => log.function(buffer, at, action, function)?,
            Kind::Custom => log.custom_event(buffer, at, &data)?,
            Kind::Typed => log.typed_event(buffer, at, event_type, &data)?,
        }
        let number = function.number().to_string();
        let is_name = !name.is_empty() && name.strip_prefix('#').unwrap_or(&name) != number;
        if matches!(kind, Kind::Function(_)) && is_name {
            names.entry(function).or_insert(name);
        }
        Ok(())
    }

    /// Writes the buffers of all threads.
    fn write(&mut self) -> Result<(), Error> {
        self.pending = 0;
        let Self { log, threads, .. } = self;
        threads.values_mut().try_for_each(|buffer| Ok(log.write(buffer)?))
    }

    fn finish(mut self) -> Result<Map, Error> {
        self.write()?;
        Ok(Map::of_names(self.names))
    }
}
