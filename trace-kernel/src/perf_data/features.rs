//! The descriptions of a recording: its machine, its command, and the build ids of files.

use std::collections::HashMap;

use super::error::PerfDataError;
use super::fields::{to_text, Fields, MAX_TEXT};
use super::raw::HEADER_BYTES;
use super::sample::Attributes;
use super::tracing::{self, Formats};
use crate::byte_order::ByteOrder;

/// Numbers of descriptions.
pub(super) const TRACING_DATA: u32 = 1;
const BUILD_ID: u32 = 2;
const HOSTNAME: u32 = 3;
const RELEASE: u32 = 4;
const VERSION: u32 = 5;
const ARCHITECTURE: u32 = 6;
const COMMAND: u32 = 11;
const EVENT_DESC: u32 = 12;
const DIRECTORY: u32 = 24;

/// The number of descriptions that a file may have.
pub(super) const FEATURES: u32 = 256;

/// The most build ids.
const MAX_BUILD_IDS: usize = 1 << 16;

/// The place of a build id's size in its 24 bytes, if `MISC_SIZE` is set.
const SIZE_PLACE: usize = 20;
const MISC_SIZE: u16 = 1 << 15;

/// What a file says about its recording.
#[derive(Debug, Default)]
pub(super) struct Description {
    pub(super) host: String,
    /// The version of the kernel.
    pub(super) release: String,
    /// The version of perf.
    pub(super) version: String,
    pub(super) architecture: String,
    pub(super) command: String,
    pub(super) formats: Formats,
    build_ids: HashMap<Box<[u8]>, Box<[u8]>>,
}

impl Description {
    /// Returns whether this crate uses a description.
    pub(super) fn uses(number: u32) -> bool {
        const USED: [u32; 9] = [
            TRACING_DATA,
            BUILD_ID,
            HOSTNAME,
            RELEASE,
            VERSION,
            ARCHITECTURE,
            COMMAND,
            EVENT_DESC,
            DIRECTORY,
        ];
        USED.contains(&number)
    }

    /// Adds a description.
    pub(super) fn add(
        &mut self,
        number: u32,
        bytes: &[u8],
        attributes: &mut Attributes,
        order: ByteOrder,
    ) -> Result<(), PerfDataError> {
        let mut fields = Fields::new(bytes, order);
        let malformed = PerfDataError::Malformed("description of the recording");
        let mut text = || fields.string().map(to_text);
        match number {
            TRACING_DATA => self.formats = tracing::read(bytes)?,
            BUILD_ID => self.build_ids(fields).ok_or(malformed)?,
            HOSTNAME => self.host = text().ok_or(malformed)?,
            RELEASE => self.release = text().ok_or(malformed)?,
            VERSION => self.version = text().ok_or(malformed)?,
            ARCHITECTURE => self.architecture = text().ok_or(malformed)?,
            COMMAND => self.command = command(fields).ok_or(malformed)?,
            EVENT_DESC => attributes.take_names(fields)?,
            DIRECTORY => return Err(PerfDataError::Directory),
            _ => {}
        }
        Ok(())
    }

    /// Adds records of build ids.
    fn build_ids(&mut self, mut fields: Fields<'_>) -> Option<()> {
        while !fields.rest.is_empty() {
            let (_type, misc, size) = (fields.u32()?, fields.u16()?, fields.u16()?);
            let record = fields.bytes(usize::from(size).checked_sub(HEADER_BYTES)?)?;
            self.build_id(misc, Fields::new(record, fields.order))?;
        }
        Some(())
    }

    /// Adds the build id of a file: the process, the id and the path.
    pub(super) fn build_id(&mut self, misc: u16, mut fields: Fields<'_>) -> Option<()> {
        let (_process, id) = (fields.u32()?, fields.bytes(24)?);
        let size = match misc & MISC_SIZE {
            0 => SIZE_PLACE,
            _ => usize::from(*id.get(SIZE_PLACE)?).min(SIZE_PLACE),
        };
        let path = fields.until_zero();
        if self.build_ids.len() < MAX_BUILD_IDS && path.len() <= MAX_TEXT {
            self.build_ids.insert(path.into(), id.get(..size)?.into());
        }
        Some(())
    }

    /// Returns the build id of a file; nothing if it is unknown.
    pub(super) fn id_of(&self, path: &[u8]) -> &[u8] {
        self.build_ids.get(path).map(|id| &**id).unwrap_or_default()
    }
}

/// Returns the arguments of a command, separated by spaces.
fn command(mut fields: Fields<'_>) -> Option<String> {
    let mut command = String::new();
    for _ in 0..fields.u32()? {
        let argument = to_text(fields.string()?);
        if command.len() + argument.len() < MAX_TEXT {
            command += if command.is_empty() { "" } else { " " };
            command += &argument;
        }
    }
    Some(command)
}
