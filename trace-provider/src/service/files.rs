//! The files of a process that traces itself. It has exclusive use of them.
//!
//! Children inherit `TRACE_OUTPUT`, so two processes may have the same archive path. The first one
//! locks its buffer's file until it ends. The other one writes to a path with its process id. The
//! same happens if another user owns the names beside the archive: see [`trace_protocol::file`].

mod buffer;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use trace_protocol::buffer::header::Layout;
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::saved::{buffer_path, partial_path, SavedMark};
use trace_protocol::file::{random_name, Claim, NewFile, Node, Place, Target};

use self::buffer::{map_memory, Buffer};
use crate::sys;

/// The most names that are tried for the files of a killed process.
const NAMES_ASIDE: u32 = 100;

/// The output of a process that traces itself.
#[derive(Debug)]
pub(crate) enum Files {
    /// Files, which survive the process.
    Own(Own),
    /// A device or a pipe. The buffer is lost with the process.
    Stream(File),
}

/// The files of an archive. No other process writes to them.
#[derive(Debug)]
pub(crate) struct Own {
    archive: NewFile,
    buffer: Buffer,
}

impl Files {
    /// Creates the files for `path`, or for a similar path if it is in use. `note` receives
    /// messages for the user.
    pub(crate) fn find(path: &Path, note: &dyn Fn(String)) -> io::Result<Self> {
        match Target::find(path)? {
            Target::File(place) => Own::new(&place, note).map(Self::Own),
            Target::Node(node) => Self::stream(&node),
        }
    }

    fn stream(node: &Node) -> io::Result<Self> {
        node.open_nonblocking().map(high).map(Self::Stream)
    }

    /// Creates the buffer, with its memory or blocks allocated, so that stores to it do not fail.
    /// `note` receives messages for the user.
    pub(crate) fn create_buffer(
        &mut self,
        layout: &Layout,
        note: &dyn Fn(String),
    ) -> io::Result<WriteMapping> {
        match self {
            Self::Own(own) => own.create_buffer(layout, note),
            Self::Stream(_) => map_memory(layout),
        }
    }

    /// Appends records to the archive. Waits for a full pipe, for a second at most if `gives_up`.
    pub(crate) fn append(&self, bytes: &[u8], gives_up: impl Fn() -> bool) -> io::Result<()> {
        match self {
            Self::Own(own) => (&**own.archive.file()).write_all(bytes),
            Self::Stream(file) => write_to_stream(file, bytes, gives_up),
        }
    }

    /// Replaces bytes of the archive. Does nothing for a stream.
    pub(crate) fn patch(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match self {
            Self::Own(own) => own.archive.file().write_all_at(bytes, offset),
            Self::Stream(_) => Ok(()),
        }
    }

    /// Stores the mark for `trace recover`.
    pub(crate) fn store(&self, mark: &SavedMark) -> io::Result<()> {
        match self {
            Self::Own(own) => own.buffer.store(mark),
            Self::Stream(_) => Ok(()),
        }
    }

    /// Renames the archive and removes the buffer. An archive that is empty does not replace
    /// another one.
    pub(crate) fn finish(self, is_empty: bool) -> io::Result<()> {
        match self {
            Self::Own(own) => own.finish(is_empty),
            Self::Stream(_) => Ok(()),
        }
    }
}

impl Own {
    fn new(place: &Place, note: &dyn Fn(String)) -> io::Result<Self> {
        let id = std::process::id().to_string();
        let random = random_name(OsStr::new(&id), "");
        let suffixed = [OsStr::new(&id), &random].map(|suffix| with_suffix(place.name(), suffix));
        if let Some(own) = Self::take(place.clone(), note)? {
            return Ok(own);
        }
        for name in suffixed {
            let other = place.clone().with_name(name);
            let path = other.path();
            if let Some(own) = Self::take(other, note)? {
                note(format!(
                    "another process or user has {}; this process traces into {}",
                    place.path().display(),
                    path.display()
                ));
                return Ok(own);
            }
        }
        let reason = "other users have taken the names beside it";
        Err(io::Error::new(io::ErrorKind::AlreadyExists, reason))
    }

    /// Creates the files of the archive `place`. `None` if one of their names is in use.
    fn take(place: Place, note: &dyn Fn(String)) -> io::Result<Option<Self>> {
        let [buffer, partial] = names(place.name());
        let claimed = match place.directory().claim(&buffer)? {
            Claim::Leftover(_locked) => {
                rename_leftovers(&place, note)?;
                place.directory().claim(&buffer)?
            }
            claimed => claimed,
        };
        let Claim::New(file) = claimed else { return Ok(None) };
        let directory = place.directory().clone();
        let buffer = Buffer::new(directory, buffer, high(file));
        let Some(mut archive) = NewFile::named(place, partial)? else { return Ok(None) };
        archive.move_descriptor(sys::high)?;
        Ok(Some(Self { archive, buffer }))
    }

    fn create_buffer(
        &mut self,
        layout: &Layout,
        note: &dyn Fn(String),
    ) -> io::Result<WriteMapping> {
        let path = self.archive.place().path();
        let mapping = self.buffer.map(layout, || {
            note(format!(
                "the file system of {} cannot reserve space, so the buffer is in memory: a kill \
                 loses its records",
                path.display()
            ));
        })?;
        self.archive.keep();
        self.buffer.is_kept = true;
        Ok(mapping)
    }

    fn finish(self, is_empty: bool) -> io::Result<()> {
        let Self { archive, mut buffer } = self;
        match is_empty && archive.place().has_content() {
            true => archive.discard(),
            false => drop(archive.complete_with_backup()?),
        }
        buffer.is_kept = false;
        Ok(())
    }
}

/// Moves a descriptor to a high number, which the application is not likely to use.
fn high(file: File) -> File {
    File::from(sys::high(file.into()))
}

/// Returns the names of the buffer and of the partial archive.
fn names(archive: &OsStr) -> [OsString; 2] {
    let archive = Path::new(archive);
    [buffer_path(archive), partial_path(archive)].map(Into::into)
}

/// Renames the files of a killed process, so that `trace recover` can use them.
fn rename_leftovers(place: &Place, note: &dyn Fn(String)) -> io::Result<()> {
    let directory = place.directory();
    let [buffer, partial] = names(place.name());
    // A buffer without the start of its archive cannot be recovered.
    if directory.open_own(&partial).is_err() {
        return directory.remove(&buffer);
    }
    let suffix = |number| OsString::from(format!("killed-{number}"));
    let random = random_name(OsStr::new("killed-"), "");
    let free = |name: &OsString| {
        let [buffer, partial] = names(name);
        [name, &buffer, &partial].iter().all(|name| !directory.has(name))
    };
    let suffixes = (1..NAMES_ASIDE).map(suffix).chain([random]);
    let aside = suffixes.map(|suffix| with_suffix(place.name(), &suffix)).find(free);
    let aside = aside.ok_or(io::ErrorKind::AlreadyExists)?;
    let [aside_buffer, aside_partial] = names(&aside);
    directory.rename(&partial, &aside_partial)?;
    directory.rename(&buffer, &aside_buffer)?;
    note(format!(
        "an earlier process was killed while it traced into {}; trace recover {}",
        place.path().display(),
        directory.path().join(aside).display()
    ));
    Ok(())
}

/// Writes to a stream. Waits while it is full, for a second at most if `gives_up`.
fn write_to_stream(
    mut file: &File,
    mut bytes: &[u8],
    gives_up: impl Fn() -> bool,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                wait_for_reader(file, &gives_up)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn wait_for_reader(file: &File, gives_up: impl Fn() -> bool) -> io::Result<()> {
    match sys::wait_until_writable(file.as_fd()) {
        Err(error) if error.kind() == io::ErrorKind::TimedOut && !gives_up() => Ok(()),
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "its reader does not read")),
        Ok(()) => Ok(()),
    }
}

/// Adds a suffix to the stem of a name: `out.fxt` becomes `out-1234.fxt`.
fn with_suffix(name: &OsStr, suffix: &OsStr) -> OsString {
    let name = Path::new(name);
    let mut suffixed = OsString::from(name.file_stem().unwrap_or_default());
    suffixed.push("-");
    suffixed.push(suffix);
    if let Some(extension) = name.extension() {
        suffixed.push(".");
        suffixed.push(extension);
    }
    suffixed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_suffix_keeps_its_extension() {
        let with_suffix = |name: &str| with_suffix(name.as_ref(), "7".as_ref());
        assert_eq!(
            (with_suffix("out.fxt"), with_suffix("out")),
            ("out-7.fxt".into(), "out-7".into())
        );
    }
}
