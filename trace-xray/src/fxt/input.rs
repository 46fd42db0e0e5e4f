//! Logs as inputs of every command.
//!
//! LLVM's runtime does not write thread buffers in the order of time, so the log is read twice. It
//! waits in a temporary file.

use std::collections::HashMap;
use std::io::{self, Read, Seek};

use trace_analyze::input::{imported, into_io, temporary_copy, Importer, InputFormat};
use trace_format::Writer;

use super::Translator;
use crate::layout::UNKNOWN_CPU;
use crate::map::Map;
use crate::read::{decode, Decoder, Ordered, ReadError};
use crate::record::Record;

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
        decode::header(start).is_ok()
    }

    fn open<'a>(&self, input: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
        let log = Ordered::new(temporary_copy(input)?).map_err(invalid)?;
        let translator = Translator::new(self.map.clone());
        imported(FdrImporter { log, translator, providers: HashMap::new() })
    }
}

/// Returns whether the ids of functions are those of the log's own map, by its first bytes: whether
/// it is one of a recording, which has no CPUs, and not one of LLVM's runtime.
#[must_use]
pub fn has_own_ids(start: &[u8]) -> bool {
    let mut decoder = Decoder::new();
    decoder.push(start);
    while let Ok(Some(item)) = decoder.next() {
        if let Record::NewCpuId { cpu, .. } = item.record {
            return cpu == UNKNOWN_CPU;
        }
    }
    false
}

struct FdrImporter<R> {
    log: Ordered<R>,
    translator: Translator,
    /// The provider of each rate: a file can have several logs.
    providers: HashMap<u64, u32>,
}

impl<R: Read + Seek> Importer for FdrImporter<R> {
    fn import(&mut self, archive: &mut Writer<Vec<u8>>) -> io::Result<bool> {
        match self.log.next() {
            Ok(Some(item)) => {
                provider(&mut self.providers, archive, item.header.cycle_frequency)?;
                self.translator.item(archive, &item).map_err(into_io)?;
            }
            Ok(None) => {
                self.translator.finish(archive).map_err(into_io)?;
                return Ok(false);
            }
            Err(ReadError::Io { error, .. }) => return Err(error),
            Err(error) => {
                let rate = self.log.header().map_or(0, |header| header.cycle_frequency);
                provider(&mut self.providers, archive, rate)?;
                self.translator.damage(archive, &error).map_err(into_io)?;
            }
        }
        Ok(true)
    }
}

/// Makes the provider of a rate the current one.
fn provider(
    providers: &mut HashMap<u64, u32>,
    archive: &mut Writer<Vec<u8>>,
    rate: u64,
) -> io::Result<()> {
    if let Some(id) = providers.get(&rate) {
        return archive.section(*id).map_err(into_io);
    }
    let id = providers.len() as u32 + 1;
    providers.insert(rate, id);
    archive.provider(id, super::CATEGORY).map_err(into_io)?;
    // Without a rate, LLVM's tools count in ticks: 1 tick is 1 ns.
    archive.initialization(if rate == 0 { 1_000_000_000 } else { rate }).map_err(into_io)
}

fn invalid(error: ReadError) -> io::Error {
    match error {
        ReadError::Io { error, .. } => error,
        error => io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
    }
}
