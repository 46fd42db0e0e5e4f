//! The parts of an archive that is cut by size or time: their names and files.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{fchown, MetadataExt};
use std::path::Path;

use rustix::process::geteuid;
use trace_protocol::file::{Directory, NewFile, Place};

use super::completed_parts::{CompletedPart, CompletedParts, WrittenPart};

/// Creates and removes the parts of an archive.
#[derive(Debug)]
pub(crate) struct Parts {
    directory: Directory,
    /// The archive's name.
    name: OsString,
    /// The number of the present part.
    number: u64,
    /// The user and group of the files, if they are not those of this process.
    owner: Option<(u32, u32)>,
    completed: CompletedParts,
}

impl Parts {
    /// Creates the first part of an archive with this place. Its number follows those of parts that
    /// exist already.
    pub(crate) fn begin(place: &Place, keep: Option<u32>) -> io::Result<(Self, NewFile)> {
        let directory = place.directory().clone();
        let mut parts = Self {
            number: last_number(&directory, place.name())?,
            directory,
            name: place.name().to_owned(),
            owner: None,
            completed: CompletedParts::new(keep.map_or(usize::MAX, |keep| keep.max(1) as usize)),
        };
        let first = parts.create_next()?;
        Ok((parts, first))
    }

    /// Gives this and all later parts the owner of `file`, if that is another user.
    pub(crate) fn adopt_owner(&mut self, file: &File, part: &NewFile) -> io::Result<()> {
        let metadata = file.metadata()?;
        let owner = (metadata.uid(), metadata.gid());
        self.owner = (owner.0 != geteuid().as_raw()).then_some(owner);
        self.set_owner(part)
    }

    /// Creates the next part, with a number that no other recording uses.
    pub(crate) fn create_next(&mut self) -> io::Result<NewFile> {
        loop {
            let number = self.number.checked_add(1).ok_or_else(no_number)?;
            let part = self.create(number)?;
            self.number = number;
            if let Some(part) = part {
                self.set_owner(&part)?;
                return Ok(part);
            }
        }
    }

    /// Creates a part with this number. Returns `None` if the number is in use.
    fn create(&self, number: u64) -> io::Result<Option<NewFile>> {
        let name = part_name(&self.name, number);
        let mut partial = OsString::from(".");
        partial.push(&name);
        partial.push(".partial");
        let place = Place::beneath(self.directory.clone(), name)?;
        if self.directory.has(place.name()) {
            return Ok(None);
        }
        // The partial file reserves the number. Before, another recording may have completed it.
        let part = NewFile::named(place, partial)?;
        Ok(part.filter(|part| !self.directory.has(part.place().name())))
    }

    fn set_owner(&self, part: &NewFile) -> io::Result<()> {
        match self.owner {
            Some((uid, gid)) => fchown(part.file().as_fd(), Some(uid), Some(gid)),
            None => Ok(()),
        }
    }

    /// Notes that a part has its final name. Removes the oldest parts beyond the limit.
    pub(crate) fn completed(&self, place: Place, file: &File, written: WrittenPart) {
        self.completed.add(CompletedPart::new(place, file, written));
    }

    /// Removes all completed parts.
    pub(crate) fn remove_all(&self) {
        self.completed.remove_all();
    }

    pub(crate) fn list(&self) -> CompletedParts {
        self.completed.clone()
    }
}

/// Returns the error for an archive whose existing parts have the highest number.
fn no_number() -> io::Error {
    io::Error::other("an existing part has the highest possible number")
}

/// Returns the name of a part: `trace.2.fxt` of `trace.fxt`.
pub(crate) fn part_name(archive: &OsStr, number: u64) -> OsString {
    let (stem, extension) = split(archive);
    let mut name = stem.to_owned();
    name.push(format!(".{number}"));
    name.push(extension);
    name
}

/// Returns the number of a part of this archive, or `None` if the name is another one.
fn part_number(archive: &OsStr, name: &OsStr) -> Option<u64> {
    let (stem, extension) = split(archive);
    let rest = name.as_bytes().strip_prefix(stem.as_bytes())?.strip_prefix(b".")?;
    let number = rest.strip_suffix(extension.as_bytes())?;
    let is_number = number.iter().all(u8::is_ascii_digit) && number.first() != Some(&b'0');
    std::str::from_utf8(number).ok().filter(|_| is_number)?.parse().ok()
}

/// Splits a name before its extension, which begins with a dot or is empty.
fn split(name: &OsStr) -> (OsString, OsString) {
    let stem = Path::new(name).file_stem().unwrap_or(name);
    let (stem, extension) = name.as_bytes().split_at(stem.len());
    (OsString::from_vec(stem.to_vec()), OsString::from_vec(extension.to_vec()))
}

/// Returns the highest number of an existing part; 0 if there is none.
fn last_number(directory: &Directory, archive: &OsStr) -> io::Result<u64> {
    // The directory is open without the right to read it, and its path may have changed.
    let path = format!("/proc/thread-self/fd/{}", directory.as_fd().as_raw_fd());
    let mut last = 0;
    for entry in fs::read_dir(path)? {
        last = last.max(part_number(archive, &entry?.file_name()).unwrap_or(0));
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::output::PartPlaces;

    fn place(directory: &Path) -> Place {
        Place::find(&directory.join("a.fxt")).unwrap()
    }

    fn files(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn complete(parts: &Parts, part: NewFile) {
        let (place, file) = (part.place().clone(), Arc::clone(part.file()));
        part.complete().unwrap();
        let written = WrittenPart { end: 0, bytes: 0, places: PartPlaces::default() };
        parts.completed(place, &file, written);
    }

    #[test]
    fn the_number_is_before_the_extension() {
        for (archive, part) in [
            ("trace.fxt", "trace.7.fxt"),
            ("a.b.fxt", "a.b.7.fxt"),
            ("trace", "trace.7"),
            (".fxt", ".fxt.7"),
        ] {
            assert_eq!(part_name(archive.as_ref(), 7), part);
            assert_eq!(part_number(archive.as_ref(), part.as_ref()), Some(7), "{part}");
        }
        for other in ["trace.fxt", "trace..fxt", "trace.x.fxt", "trace.07.fxt", "trace.7.fxt.old"] {
            assert_eq!(part_number("trace.fxt".as_ref(), other.as_ref()), None, "{other}");
        }
        let huge = "trace.99999999999999999999.fxt";
        assert_eq!(part_number("trace.fxt".as_ref(), huge.as_ref()), None);
    }

    #[test]
    fn numbers_follow_those_of_existing_parts() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a.3.fxt", "a.10.fxt", "b.11.fxt", "a.12"] {
            fs::write(directory.path().join(name), "x").unwrap();
        }
        let (mut parts, first) = Parts::begin(&place(directory.path()), None).unwrap();
        assert_eq!(first.place().name(), "a.11.fxt");
        assert_eq!(parts.create_next().unwrap().place().name(), "a.12.fxt");
    }

    #[test]
    fn the_newest_parts_of_this_archive_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a.1.fxt"), "an earlier recording").unwrap();
        let (mut parts, mut part) = Parts::begin(&place(directory.path()), Some(2)).unwrap();
        for _ in 0..4 {
            let next = parts.create_next().unwrap();
            complete(&parts, part);
            part = next;
        }
        drop(part);
        assert_eq!(files(directory.path()), ["a.1.fxt", "a.4.fxt", "a.5.fxt"]);
        let (paths, removed) = parts.list().get();
        assert_eq!((paths.len(), removed), (2, 2));
        assert!(paths[0].ends_with("a.4.fxt") && paths[1].ends_with("a.5.fxt"), "{paths:?}");
    }

    #[test]
    fn a_number_that_another_recording_uses_is_skipped() {
        let directory = tempfile::tempdir().unwrap();
        let (mut parts, first) = Parts::begin(&place(directory.path()), None).unwrap();
        let (others, other) = Parts::begin(&place(directory.path()), None).unwrap();
        assert_eq!(first.place().name(), "a.1.fxt");
        assert_eq!(other.place().name(), "a.2.fxt", "a partial file reserves its number");
        complete(&others, other);
        assert_eq!(parts.create_next().unwrap().place().name(), "a.3.fxt");
    }

    #[test]
    fn a_file_that_has_replaced_a_part_is_not_removed() {
        let directory = tempfile::tempdir().unwrap();
        let (mut parts, first) = Parts::begin(&place(directory.path()), Some(1)).unwrap();
        let second = parts.create_next().unwrap();
        complete(&parts, first);
        let path = directory.path().join("a.1.fxt");
        fs::rename(&path, directory.path().join("moved")).unwrap();
        fs::write(&path, "another file").unwrap();
        complete(&parts, second);
        assert_eq!(files(directory.path()), ["a.1.fxt", "a.2.fxt", "moved"]);
        assert_eq!(parts.list().get().1, 0);
    }

    #[test]
    fn a_part_with_the_highest_number_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(format!("a.{}.fxt", u64::MAX)), "x").unwrap();
        let error = Parts::begin(&place(directory.path()), None).unwrap_err();
        assert_eq!(error.to_string(), "an existing part has the highest possible number");
    }

    #[test]
    fn a_missing_directory_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let (mut parts, _part) = Parts::begin(&place(directory.path()), None).unwrap();
        drop(directory);
        assert_eq!(parts.create_next().unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
