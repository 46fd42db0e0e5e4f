//! Lines and inlined functions from DWARF.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use addr2line::{Context, Location, LookupContinuation, LookupResult};
use gimli::{EndianArcSlice, RunTimeEndian};
use object::{Object, ObjectSection, ReadRef};

use crate::demangle::{cut, demangle};
use crate::frame::Frame;
use crate::split::{Section, SplitFiles};

/// The most frames at an address.
const MAX_FRAMES: usize = 256;

/// The longest path of a source file.
const MAX_PATH_BYTES: usize = 4096;

/// The debug information of a file.
pub(crate) struct DebugInfo {
    context: Context<Section>,
    split: SplitFiles,
}

impl DebugInfo {
    /// Reads the sections of DWARF of a program at `path`, or returns `None` if the file has none.
    /// Parts that are in other files are read later, at most so many bytes.
    pub(crate) fn of<'a, R: ReadRef<'a>>(
        file: &object::File<'a, R>,
        path: &Path,
        bytes: u64,
    ) -> Option<Self> {
        file.section_by_name(".debug_info")?;
        let endian =
            if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let load = |id: gimli::SectionId| {
            let section = file.section_by_name(id.name());
            let bytes = section.and_then(|section| section.uncompressed_data().ok());
            let bytes: Arc<[u8]> = bytes.unwrap_or_default().into();
            Ok::<_, gimli::Error>(EndianArcSlice::new(bytes, endian))
        };
        let dwarf = gimli::Dwarf::load(load).ok()?;
        let context = Context::from_dwarf(dwarf).ok()?;
        Some(Self { context, split: SplitFiles::new(path, bytes) })
    }

    /// Returns whether a part that is in another file was missing.
    pub(crate) fn lacks_parts(&self) -> bool {
        self.split.is_missing()
    }

    /// Returns the frames at an address of the file, innermost first. All but the last are inlined
    /// functions. A malformed rest is left out, as are frames from the 257th on.
    pub(crate) fn frames(&self, address: u64) -> Vec<Frame> {
        // The library computes the address behind it.
        if address == u64::MAX {
            return Vec::new();
        }
        let mut lookup = self.context.find_frames(address);
        let found = loop {
            lookup = match lookup {
                LookupResult::Output(found) => break found,
                LookupResult::Load { load, continuation } => {
                    continuation.resume(self.split.load(&load))
                }
            };
        };
        let (mut frames, Ok(mut found)) = (Vec::new(), found) else { return Vec::new() };
        while let (Ok(Some(frame)), true) = (found.next(), frames.len() < MAX_FRAMES) {
            let Some(name) = frame.function else { continue };
            let Ok(name) = name.raw_name() else { continue };
            frames.push(frame_at(demangle(&name).into(), frame.location.as_ref()));
        }
        frames
    }

    /// Returns a function with the line at an address, which line tables without functions have.
    pub(crate) fn line_of(&self, function: Arc<str>, address: u64) -> Frame {
        // The library computes the address behind it.
        let address = Some(address).filter(|address| *address < u64::MAX);
        let location =
            address.and_then(|address| self.context.find_location(address).ok().flatten());
        frame_at(function, location.as_ref())
    }
}

fn frame_at(function: Arc<str>, location: Option<&Location<'_>>) -> Frame {
    let file = location.and_then(|location| location.file);
    Frame {
        function,
        file: file.map(|file| cut(file, MAX_PATH_BYTES).into()),
        line: location.and_then(|location| location.line),
        column: location.and_then(|location| location.column),
    }
}

impl fmt::Debug for DebugInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DebugInfo").finish_non_exhaustive()
    }
}
