//! The completed parts of an archive: which are kept, and which are removed.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trace_protocol::file::Place;

use super::part_file::PartPlaces;

/// The completed parts of an archive. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct CompletedParts(Arc<Mutex<Completed>>);

#[derive(Debug, Default)]
struct Completed {
    /// Those that are kept, oldest first.
    parts: VecDeque<Arc<CompletedPart>>,
    /// The paths of those that [`CompletedParts::take_new`] has not returned.
    new: Vec<PathBuf>,
    /// The number of removed ones.
    removed: u64,
    /// The number of parts that are kept.
    keep: usize,
    /// The number of readers. While there are any, none is removed.
    readers: usize,
}

/// A part whose records are all written.
#[derive(Debug)]
pub(crate) struct WrittenPart {
    /// Its end, in bytes of all parts.
    pub(crate) end: u64,
    /// Its size.
    pub(crate) bytes: u64,
    pub(crate) places: PartPlaces,
}

/// A part that has its final name.
#[derive(Debug)]
pub(crate) struct CompletedPart {
    place: Place,
    id: FileId,
    pub(crate) written: WrittenPart,
}

/// The device and inode of a file.
type FileId = Option<(u64, u64)>;

/// Keeps the parts that exist now, until it is dropped.
#[derive(Debug)]
pub(crate) struct PartsReader(CompletedParts);

impl WrittenPart {
    /// The last part, after which no copy begins.
    pub(crate) fn last() -> Self {
        Self { end: u64::MAX, bytes: 0, places: PartPlaces::default() }
    }
}

impl CompletedPart {
    pub(crate) fn new(place: Place, file: &File, written: WrittenPart) -> Self {
        let id = file.metadata().map(|found| (found.dev(), found.ino())).ok();
        Self { place, id, written }
    }

    /// Opens the file, unless the user has moved, replaced or removed it.
    pub(crate) fn open(&self) -> io::Result<File> {
        let file = self.place.directory().open_regular(self.place.name())?;
        let found = file.metadata().map(|found| (found.dev(), found.ino()))?;
        match self.id == Some(found) {
            true => Ok(file),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Returns whether the name is still that of the part.
    fn is_there(&self) -> bool {
        self.id.is_some() && self.place.directory().id_of(self.place.name()) == self.id
    }

    /// Removes the file. Returns whether it was there.
    fn remove(&self) -> bool {
        self.is_there() && self.place.directory().remove(self.place.name()).is_ok()
    }
}

impl CompletedParts {
    /// The parts of an archive of which the newest `keep` are kept.
    pub(crate) fn new(keep: usize) -> Self {
        Self(Arc::new(Mutex::new(Completed { keep, ..Completed::default() })))
    }

    /// Adds a part. Removes the oldest parts beyond the limit.
    pub(crate) fn add(&self, part: CompletedPart) {
        let mut completed = self.lock();
        completed.new.push(part.place.path());
        completed.parts.push_back(Arc::new(part));
        completed.remove_oldest();
    }

    /// Returns the paths of the parts since the last call.
    pub(crate) fn take_new(&self) -> Vec<PathBuf> {
        std::mem::take(&mut self.lock().new)
    }

    /// Removes all parts.
    pub(crate) fn remove_all(&self) {
        let mut completed = self.lock();
        completed.remove_beyond(0);
    }

    /// Returns the paths of the parts that are kept, oldest first, and the number of removed ones.
    pub(crate) fn get(&self) -> (Vec<PathBuf>, u64) {
        let completed = self.lock();
        (completed.parts.iter().map(|part| part.place.path()).collect(), completed.removed)
    }

    /// Keeps the parts that exist now, also those beyond the limit that come later.
    pub(crate) fn read(&self) -> PartsReader {
        self.lock().readers += 1;
        PartsReader(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Completed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Completed {
    fn remove_oldest(&mut self) {
        if self.readers == 0 {
            self.remove_beyond(self.keep);
        }
    }

    fn remove_beyond(&mut self, number: usize) {
        while self.parts.len() > number {
            let Some(oldest) = self.parts.pop_front() else { break };
            // If it cannot be removed, the user has moved, replaced or removed it.
            self.removed += u64::from(oldest.remove());
        }
    }
}

impl PartsReader {
    /// Returns the parts that are kept when the archive has `end` bytes in complete parts, oldest
    /// first. If one has not got its name, or the user has moved or removed it, those before it are
    /// left out, so that there is no gap.
    pub(crate) fn before(&self, end: u64) -> Vec<Arc<CompletedPart>> {
        let completed = self.0.lock();
        let (keep, parts) = (completed.keep, completed.parts.clone());
        drop(completed);
        let earlier = parts.into_iter().rev().skip_while(|part| part.written.end > end);
        let mut next = end;
        let joins = |part: &Arc<CompletedPart>| {
            let joins = part.written.end == next && part.is_there();
            next = part.written.end.saturating_sub(part.written.bytes);
            joins
        };
        let mut parts: Vec<_> = earlier.take(keep).take_while(joins).collect();
        parts.reverse();
        parts
    }
}

impl Drop for PartsReader {
    fn drop(&mut self) {
        let mut completed = self.0.lock();
        completed.readers -= 1;
        completed.remove_oldest();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Adds parts that end at these bytes, each of which has its number as content.
    fn add(parts: &CompletedParts, directory: &Path, numbers: std::ops::RangeInclusive<u64>) {
        for number in numbers {
            let path = directory.join(number.to_string());
            fs::write(&path, number.to_string()).unwrap();
            let file = File::open(&path).unwrap();
            let written = WrittenPart { end: number, bytes: 1, places: PartPlaces::default() };
            parts.add(CompletedPart::new(Place::find(&path).unwrap(), &file, written));
        }
    }

    fn files(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn contents(parts: &[Arc<CompletedPart>]) -> Vec<String> {
        let read = |part: &Arc<CompletedPart>| io::read_to_string(part.open().unwrap()).unwrap();
        parts.iter().map(read).collect()
    }

    #[test]
    fn a_reader_keeps_the_parts() {
        let directory = tempfile::tempdir().unwrap();
        let parts = CompletedParts::new(2);
        add(&parts, directory.path(), 1..=3);
        let (first, second) = (parts.read(), parts.read());
        add(&parts, directory.path(), 4..=6);
        assert_eq!(contents(&first.before(3)), ["2", "3"]);
        assert_eq!(contents(&second.before(4)), ["3", "4"]);
        drop(first);
        assert_eq!(files(directory.path()), ["2", "3", "4", "5", "6"]);
        drop(second);
        assert_eq!(files(directory.path()), ["5", "6"]);
        let (paths, removed) = parts.get();
        assert_eq!((paths.len(), removed), (2, 4));
        assert_eq!((parts.take_new().len(), parts.take_new().len()), (6, 0));
    }

    /// The third part could not be renamed.
    #[test]
    fn parts_before_one_without_its_name_are_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let parts = CompletedParts::new(usize::MAX);
        add(&parts, directory.path(), 1..=2);
        add(&parts, directory.path(), 4..=5);
        let reader = parts.read();
        assert_eq!(contents(&reader.before(5)), ["4", "5"]);
        assert!(reader.before(3).is_empty());
        assert_eq!(contents(&reader.before(2)), ["1", "2"]);
    }

    #[test]
    fn parts_before_a_missing_one_are_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let parts = CompletedParts::new(usize::MAX);
        add(&parts, directory.path(), 1..=4);
        let reader = parts.read();
        let replace = |name: &str| {
            fs::rename(directory.path().join(name), directory.path().join("moved")).unwrap();
            fs::write(directory.path().join(name), "another file").unwrap();
        };
        replace("2");
        let found = reader.before(4);
        assert_eq!(contents(&found), ["3", "4"]);
        replace("3");
        assert_eq!(found[0].open().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(reader.before(3).is_empty());
    }
}
