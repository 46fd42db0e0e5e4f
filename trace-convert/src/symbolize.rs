//! Adds the names of functions to the samples of an archive.
//!
//! The result has all records of the archive, and after the first providers blobs with
//! the names of the sampled addresses, from the files on this machine. The samples can then be read
//! on other machines.
//!
//! An archive is read twice: first for its [`Addresses`], then for its records. Memory grows with
//! the number of distinct addresses, up to a limit. The symbols of one file at a time are in
//! memory.

mod jit;

use std::collections::BTreeSet;
use std::io::{Read, Write};
#[cfg(unix)]
use std::path::Path;

use trace_analyze::objects::Objects;
use trace_analyze::Damage;
use trace_format::layout::BlobType;
use trace_format::notes::SYMBOLS;
use trace_format::{
    encode, Arguments, Blob, Item, Metadata, Process, Reader, Record, UserspaceObject, WriteError,
    Writer,
};

#[cfg(unix)]
use trace_symbols::{perf_map_names, PerfMapError};

use crate::images::{CodeAddress, CodeModule, Images, Place};
use crate::symbols::record::Payload;
use crate::symbols::Symbols;
use crate::ConvertError;
use jit::JitCode;

/// The most addresses that get names.
const MAX_ADDRESSES: usize = if cfg!(test) { 1 << 10 } else { 1 << 21 };

/// The addresses of the samples of an archive.
#[derive(Debug, Default)]
pub struct Addresses {
    images: Images,
    objects: Objects,
    addresses: BTreeSet<CodeAddress>,
    jit: JitCode,
    /// The number of samples.
    pub samples: u64,
    /// The number of frames that are in no module.
    pub outside: u64,
    /// The number of frames whose address is not in the list, because there are too many.
    pub omitted: u64,
}

/// The result of adding names.
#[derive(Debug, Default)]
pub struct Summary {
    /// The number of addresses whose names were added.
    pub named: u64,
    /// The number of addresses in code of a just-in-time compiler whose names were added.
    pub jit: u64,
    /// The number of addresses whose names the archive has already.
    pub archived: u64,
    /// The number of addresses without a name.
    pub unnamed: u64,
    /// The damage of the archive.
    pub damage: Damage,
}

impl Addresses {
    /// Reads the sampled addresses of an archive, and the names that it has already.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it failed.
    pub fn read<R: Read>(reader: Reader<R>, symbols: &mut Symbols) -> Result<Self, ConvertError> {
        let mut addresses = Self::default();
        Damage::of_all(reader, |item| {
            symbols.note(item);
            addresses.record(item);
        })?;
        Ok(addresses)
    }

    /// Returns the number of records of modules and mappings that are not used, because there are
    /// too many.
    #[must_use]
    pub fn omitted_mappings(&self) -> u64 {
        self.images.omitted()
    }

    /// Returns the processes with samples in code that has neither a file nor a name, such as that
    /// of a just-in-time compiler.
    #[must_use]
    pub fn jit_processes(&self) -> BTreeSet<u64> {
        self.jit.processes()
    }

    /// Adds the names of this code by the map of a process, `perf-PID.map`, which must belong to
    /// `user` or root.
    ///
    /// # Errors
    ///
    /// The map cannot be used.
    #[cfg(unix)]
    pub fn read_jit_map(
        &mut self,
        process: u64,
        path: &Path,
        user: u32,
    ) -> Result<(), PerfMapError> {
        let calls = self.jit.calls(process);
        self.jit.name(process, &perf_map_names(path, user, calls)?);
        Ok(())
    }

    fn record(&mut self, item: &Item<'_>) {
        self.objects.note(item);
        self.images.note(item);
        let Record::Backtrace(backtrace) = &item.record else { return };
        self.samples += 1;
        let process = item.thread(backtrace.thread).process;
        let places = self.images.places(&self.objects, item, backtrace);
        for (frame, place) in backtrace.frames.iter().enumerate().zip(places) {
            match place {
                Place::Named(_) => {}
                Place::Unknown(_) => self.outside += 1,
                Place::Code(address) if self.images.is_anonymous(address) => {
                    self.omitted += u64::from(!self.jit.add(process, frame));
                }
                Place::Code(address) => {
                    let has_room = self.addresses.len() < MAX_ADDRESSES;
                    if has_room {
                        self.addresses.insert(address);
                    } else {
                        self.omitted += u64::from(!self.addresses.contains(&address));
                    }
                }
            }
        }
    }
}

/// Writes an archive with the names of its sampled addresses. `addresses` are those of the same
/// archive.
///
/// # Errors
///
/// The input is not an archive, or reading or writing failed.
pub fn write<R: Read, W: Write>(
    reader: Reader<R>,
    addresses: &Addresses,
    symbols: &mut Symbols,
    output: W,
) -> Result<Summary, ConvertError> {
    let (writer, summary) = (Writer::new(output)?, Summary::default());
    let mut symbolizer = Symbolizer { writer, addresses: Some(addresses), symbols, summary };
    let damage = Damage::of_each(reader, |item| symbolizer.copy(item))?;
    symbolizer.writer.flush()?;
    Ok(Summary { damage, ..symbolizer.summary })
}

struct Symbolizer<'s, W> {
    writer: Writer<W>,
    /// The addresses, until their names are written.
    addresses: Option<&'s Addresses>,
    symbols: &'s mut Symbols,
    summary: Summary,
}

impl<W: Write> Symbolizer<'_, W> {
    /// Copies a record. The names precede the first one that is not about a provider: some readers
    /// refuse records that belong to none.
    fn copy(&mut self, item: &Item<'_>) -> Result<(), ConvertError> {
        let is_provider = match item.record {
            Record::Metadata(Metadata::MagicNumber) => return Ok(()),
            Record::Metadata(Metadata::ProviderInfo { .. } | Metadata::ProviderSection { .. }) => {
                true
            }
            _ => false,
        };
        if !is_provider {
            self.names()?;
        }
        self.writer.output_mut().write_all(item.bytes).map_err(ConvertError::Write)
    }

    /// Writes the names of all addresses, which are sorted by module.
    fn names(&mut self) -> Result<(), ConvertError> {
        let Some(all) = self.addresses.take() else { return Ok(()) };
        let addresses: Vec<CodeAddress> = all.addresses.iter().copied().collect();
        for of_module in addresses.chunk_by(|one, next| one.module == next.module) {
            let number = of_module.first().map(|address| address.module);
            let Some(module) = number.and_then(|number| all.images.module(number)) else {
                continue;
            };
            self.names_of(module, of_module)?;
            self.symbols.forget_file(module);
        }
        self.names_of_jit(&all.jit)
    }

    /// Writes an object for each named address, because the code is in no module.
    fn names_of_jit(&mut self, jit: &JitCode) -> Result<(), ConvertError> {
        for (process, pointer, name) in jit.names() {
            let (process, name) = (Process::Inline(process), name.into());
            let arguments = Arguments::NONE;
            self.record(&UserspaceObject { pointer, process, name, arguments }.into())?;
            self.summary.jit += 1;
        }
        self.summary.unnamed += jit.unnamed();
        Ok(())
    }

    fn names_of(
        &mut self,
        module: &CodeModule,
        addresses: &[CodeAddress],
    ) -> Result<(), ConvertError> {
        let mut payload = Payload::new(module);
        for CodeAddress { address, .. } in addresses {
            if self.symbols.has_archived(module, *address) {
                self.summary.archived += 1;
                continue;
            }
            let frames = self.symbols.frames(module, *address);
            if frames.is_empty() {
                self.summary.unnamed += 1;
                continue;
            }
            if payload.is_full() {
                self.blob(&payload.take())?;
            }
            payload.add(*address, &frames);
            self.summary.named += 1;
        }
        match payload.is_empty() {
            true => Ok(()),
            false => self.blob(&payload.take()),
        }
    }

    /// Writes a blob. Its name has no index, which the archive may use.
    fn blob(&mut self, payload: &[u8]) -> Result<(), ConvertError> {
        self.record(&Blob { name: SYMBOLS.into(), blob_type: BlobType::DATA, payload }.into())
    }

    fn record(&mut self, record: &Record<'_>) -> Result<(), ConvertError> {
        let mut words: Vec<u64> = Vec::new();
        encode::append(&mut words, record).map_err(WriteError::Encode)?;
        let written = self.writer.output_mut().write_all(&encode::to_bytes(&words));
        written.map_err(ConvertError::Write)
    }
}

#[cfg(test)]
mod tests;
