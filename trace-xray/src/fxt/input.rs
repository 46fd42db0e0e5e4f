//! Logs as inputs of every command.
//!
//! LLVM's runtime does not write thread buffers in the order of time, so the log is read twice. It
//! waits in a temporary file.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek};

use trace_analyze::input::{
    imported, into_io, temporary_copy, temporary_file_error, Importer, InputFormat,
};
use trace_format::Writer;

use super::Translator;
use crate::map::Map;
use crate::read::{decode, Ordered, ReadError};
use crate::yaml;

/// A log of XRay's flight data recorder as an input.
#[derive(Clone, Debug, Default)]
pub struct Fdr {
    /// The names of functions.
    pub map: Map,
}

impl InputFormat for Fdr {
    fn name(&self) -> &'static str {
        "XRay FDR"
    }

    fn detects(&self, start: &[u8]) -> bool {
        decode::is_plausible(start)
    }

    fn open<'a>(&self, input: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
        self.open_file(temporary_copy(input)?)
    }
}

impl Fdr {
    /// Opens a log as a stream of FXT.
    ///
    /// # Errors
    ///
    /// The file is not a log, or reading failed.
    pub fn open_file<'a>(&self, log: File) -> io::Result<Box<dyn Read + 'a>> {
        self.open_file_with(log, |_| {})
    }

    /// Opens a log as a stream of FXT. `damage` gets each error of the log when it is reached. The
    /// stream has the errors as dropped records.
    ///
    /// # Errors
    ///
    /// The file is not a log, or reading failed.
    pub fn open_file_with<'a>(
        &self,
        log: File,
        damage: impl FnMut(&ReadError) + 'a,
    ) -> io::Result<Box<dyn Read + 'a>> {
        let log = Ordered::new(log).map_err(invalid)?;
        let translator = Translator::new(self.map.clone());
        imported(FdrImporter { log, translator, damage, current: None, providers: 0 })
    }
}

/// The YAML of a log, as `llvm-xray convert -f yaml` writes it, as an input.
#[derive(Clone, Debug, Default)]
pub struct FdrYaml {
    /// The names of functions, instead of those in the YAML.
    pub map: Option<Map>,
}

impl InputFormat for FdrYaml {
    fn name(&self) -> &'static str {
        "XRay YAML"
    }

    fn detects(&self, start: &[u8]) -> bool {
        yaml::detects(start)
    }

    fn open<'a>(&self, input: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
        let (log, own) = log_of_yaml(input)?;
        Fdr { map: self.map.clone().unwrap_or(own) }.open_file(log)
    }
}

/// Returns the log of a YAML in a temporary file, and the names of its functions.
///
/// # Errors
///
/// The input is not the YAML of a log, or reading it or writing the temporary file failed.
pub fn log_of_yaml(input: impl Read) -> io::Result<(File, Map)> {
    let mut log = tempfile::tempfile().map_err(temporary_file_error)?;
    let map = yaml::read(input, BufWriter::new(&log)).map_err(|error| match error {
        yaml::Error::Input(error) => error,
        yaml::Error::Output(error) => temporary_file_error(error),
        error => io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
    })?;
    log.rewind().map_err(temporary_file_error)?;
    Ok((log, map))
}

/// Returns the id of a log's own map by its first bytes; `None` if the ids of functions are those
/// of a program, as in a log of LLVM's runtime.
#[must_use]
pub fn map_id(start: &[u8]) -> Option<u64> {
    let header = decode::header(start).ok()?;
    Some(header.map_id).filter(|id| *id != 0)
}

struct FdrImporter<R, D> {
    log: Ordered<R>,
    translator: Translator,
    /// Gets each error of the log.
    damage: D,
    /// The number of the log whose provider is the current one.
    current: Option<u32>,
    providers: u32,
}

impl<R: Read + Seek, D: FnMut(&ReadError)> Importer for FdrImporter<R, D> {
    fn import(&mut self, archive: &mut Writer<Vec<u8>>) -> io::Result<bool> {
        match self.log.next() {
            Ok(Some(item)) => {
                let (log, rate) = (item.buffer.log, item.header.cycle_frequency);
                // Errors before the first record have opened its provider.
                let is_open = self.providers > 0 && self.current.is_none_or(|it| it == log);
                self.current = Some(log);
                if !is_open {
                    self.providers += 1;
                    provider(archive, self.providers, rate)?;
                }
                self.translator.item(archive, &item).map_err(into_io)?;
            }
            Ok(None) => {
                self.translator.finish(archive).map_err(into_io)?;
                return Ok(false);
            }
            Err(ReadError::Io { error, .. }) => return Err(error),
            Err(error) => {
                if self.providers == 0 {
                    self.providers = 1;
                    let rate = self.log.header().map_or(0, |header| header.cycle_frequency);
                    provider(archive, self.providers, rate)?;
                }
                (self.damage)(&error);
                self.translator.damage(archive, &error).map_err(into_io)?;
            }
        }
        Ok(true)
    }
}

/// Adds the provider of a log. Each log of a file has one, since another log's thread may have the
/// same id.
fn provider(archive: &mut Writer<Vec<u8>>, id: u32, rate: u64) -> io::Result<()> {
    archive.provider(id, super::CATEGORY).map_err(into_io)?;
    // Without a rate, LLVM's tools count in ticks: 1 tick is 1 ns.
    archive.initialization(if rate == 0 { 1_000_000_000 } else { rate }).map_err(into_io)
}

fn invalid(error: ReadError) -> io::Error {
    match error {
        ReadError::Io { error, .. } => error,
        error => {
            let reason = std::error::Error::source(&error).map(|it| format!(": {it}"));
            let text = format!("{error}{}", reason.unwrap_or_default());
            io::Error::new(io::ErrorKind::InvalidData, text)
        }
    }
}
