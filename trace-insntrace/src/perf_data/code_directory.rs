//! The directory with the files of code of an export.
//!
//! A file has a name by its content, which it gets when it is complete. An export that fails, or is
//! killed, therefore changes no file of an earlier export of the same name.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use trace_symbols::open;

/// The number of digits of a hash in a name.
const HASH_DIGITS: usize = 16;

/// The files of code of an export.
///
/// Those that the export has created are removed when this is dropped, unless
/// [`complete`](Self::complete) keeps them.
#[derive(Debug)]
#[must_use]
pub struct CodeDirectory {
    path: PathBuf,
    /// Whether the export has created the directory.
    is_new: bool,
    /// The names of the files to which the export refers.
    used: BTreeSet<String>,
    /// The names of those that it has created.
    created: Vec<String>,
}

impl CodeDirectory {
    /// The directory is created with its first file.
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), is_new: false, used: BTreeSet::new(), created: Vec::new() }
    }

    /// Returns the path of a file with this content.
    pub(super) fn file_with(&mut self, content: &[u8]) -> io::Result<PathBuf> {
        self.is_new |= !self.path.exists();
        fs::create_dir_all(&self.path)?;
        let mut number = 0;
        loop {
            let name = name(content, number);
            let path = self.path.join(&name);
            match path.symlink_metadata() {
                Ok(_) if has(&path, content) => {}
                // A damaged file, or content with the same hash.
                Ok(_) => {
                    number += 1;
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    create(&path, content)?;
                    self.created.push(name.clone());
                }
                Err(error) => return Err(error),
            }
            self.used.insert(name);
            return path.canonicalize();
        }
    }

    /// Keeps the files, and removes those of earlier exports to which this one does not refer. Call
    /// it when the export has its name, under which there may have been an earlier one.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be read, or a file cannot be removed.
    pub fn complete(mut self) -> io::Result<()> {
        (self.is_new, self.created) = (false, Vec::new());
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let mut is_changed = false;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let is_unused = |name: &str| is_of_export(name) && !self.used.contains(name);
            if name.to_str().is_some_and(is_unused) && entry.file_type()?.is_file() {
                fs::remove_file(entry.path())?;
                is_changed = true;
            }
        }
        if is_changed && self.used.is_empty() {
            // This fails if there are files of others.
            let _ = fs::remove_dir(&self.path);
        }
        Ok(())
    }
}

impl Drop for CodeDirectory {
    fn drop(&mut self) {
        for name in &self.created {
            // The reason why the export has failed is the error to report.
            let _ = fs::remove_file(self.path.join(name));
        }
        if self.is_new {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Writes a file that gets its name when it is complete.
fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    // One of an earlier process with the same id.
    let _ = fs::remove_file(&temporary);
    let written = File::create_new(&temporary).and_then(|mut file| file.write_all(content));
    written.and_then(|()| fs::rename(&temporary, path)).inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })
}

/// Returns whether a path is that of a regular file with this content.
fn has(path: &Path, content: &[u8]) -> bool {
    let Some(file) = open(path) else { return false };
    let mut found = Vec::new();
    let limit = content.len() as u64 + 1;
    file.take(limit).read_to_end(&mut found).is_ok() && found == content
}

/// Returns the name of a file. Files with the same hash have different numbers.
fn name(content: &[u8], number: u64) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    let hash = hasher.finish();
    match number {
        0 => format!("code-{hash:016x}.so"),
        _ => format!("code-{hash:016x}-{number}.so"),
    }
}

/// Returns whether a file has a name that an export has given it.
fn is_of_export(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let complete = match name.strip_suffix(".tmp").and_then(|rest| rest.rsplit_once('.')) {
        Some((complete, process)) if is_number(process) => complete,
        _ => name,
    };
    let of_code = complete.strip_prefix("code-").and_then(|rest| rest.strip_suffix(".so"));
    let Some(of_code) = of_code else { return false };
    let (hash, number) = of_code.split_once('-').unwrap_or((of_code, "0"));
    let is_hash = hash.len() == HASH_DIGITS && hash.bytes().all(|it| it.is_ascii_hexdigit());
    is_hash && is_number(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn an_export_that_is_not_completed_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("code");
        let mut first = CodeDirectory::new(&path);
        first.file_with(b"one").unwrap();
        assert_eq!(names(&path).len(), 1);
        drop(first);
        assert!(!path.exists());

        let mut first = CodeDirectory::new(&path);
        let file = first.file_with(b"one").unwrap();
        first.complete().unwrap();
        let mut second = CodeDirectory::new(&path);
        assert_eq!(second.file_with(b"one").unwrap(), file);
        second.file_with(b"two").unwrap();
        assert_eq!(names(&path).len(), 2);
        drop(second);
        assert_eq!(fs::read(&file).unwrap(), b"one");
        assert_eq!(names(&path).len(), 1);
    }

    #[test]
    fn files_of_earlier_exports_are_removed_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("code");
        let mut first = CodeDirectory::new(&path);
        let shared = first.file_with(b"one").unwrap();
        first.file_with(b"two").unwrap();
        first.complete().unwrap();
        let left = format!("{}.7.tmp", name(b"three", 2));
        let foreign = ["code-1.so", "code-0123456789abcdef.so.tmp", "library.so"];
        for name in foreign.into_iter().chain([&*left]) {
            fs::write(path.join(name), "").unwrap();
        }
        let mut second = CodeDirectory::new(&path);
        second.file_with(b"one").unwrap();
        second.complete().unwrap();
        let mut expected = foreign.map(str::to_owned).to_vec();
        expected.push(shared.file_name().unwrap().to_str().unwrap().to_owned());
        expected.sort();
        assert_eq!(names(&path), expected);
        CodeDirectory::new(&path).complete().unwrap();
        assert_eq!(names(&path), ["code-0123456789abcdef.so.tmp", "code-1.so", "library.so"]);
        foreign.iter().for_each(|name| fs::remove_file(path.join(name)).unwrap());
        CodeDirectory::new(&path).complete().unwrap();
        assert!(path.exists(), "it was empty before");
    }

    #[test]
    fn a_file_with_other_content_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join(name(b"one", 0));
        fs::write(&taken, "other").unwrap();
        let mut directory = CodeDirectory::new(folder.path());
        let file = directory.file_with(b"one").unwrap();
        assert_eq!(file.file_name().unwrap().to_str().unwrap(), name(b"one", 1));
        directory.complete().unwrap();
        assert_eq!(fs::read(file).unwrap(), b"one");
        assert!(!taken.exists());
    }
}
