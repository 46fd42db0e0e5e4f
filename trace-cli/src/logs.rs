//! XRay logs of recorded processes: the output of `trace record --format xray`.
//!
//! The session is recorded into a hidden archive in the directory of the logs,
//! `.recording-PID.fxt`. When that is complete, it is converted to a log and a map for each
//! process, and removed. If the recorder is killed, its guard completes the archive and converts
//! it; if the guard is killed too, `trace recover` does it. So it does for processes that trace
//! themselves with `TRACE_FORMAT=xray`, into `.recording-PID-NANOSECONDS.fxt`.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail, Context, Result};
use rustix::fs::{flock, FlockOperation};
use rustix::io::Errno;
use trace_analyze::Damage;
use trace_format::layout::cut_str;
use trace_format::Reader;
pub(crate) use trace_protocol::file::{hidden_archive, recorder_of};
use trace_protocol::file::{is_hidden_archive, Directory, NewFile, Place, HIDDEN_BUFFER};
use trace_xray::fxt::{Archive, Exported, Options, Process};

use crate::damage;
use crate::message::HINT;

/// The time in which the guard closes the archive that the recorder converts, and the reverse.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The names of written logs, without their extension.
type Names = HashSet<String>;

/// The most bytes of a process's name in the name of its log.
const MAX_NAME_BYTES: usize = 128;

/// Written logs.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    /// The paths of the logs. The map of `NAME.xray` is `NAME.map`.
    pub(crate) paths: Vec<PathBuf>,
    /// The bytes of the logs and maps.
    pub(crate) bytes: u64,
    /// The sums over all logs.
    total: Exported,
    damage: Damage,
}

/// Converts a hidden archive, and removes it. Returns `None` if another process has done that.
/// Waits at most `patience` for another process that has the archive open.
pub(crate) fn convert_hidden(
    archive: &Path,
    options: &Options,
    patience: Duration,
) -> Result<Option<Logs>> {
    convert_beside(&mut Names::new(), archive, options, patience)
}

/// Does what [`convert_hidden`] does, and replaces no log of these names. Adds those of the new
/// logs.
fn convert_beside(
    names: &mut Names,
    archive: &Path,
    options: &Options,
    patience: Duration,
) -> Result<Option<Logs>> {
    let failed = || format!("cannot convert {}", archive.display());
    let directory = archive.parent().unwrap_or(Path::new("."));
    let name = archive.file_name().unwrap_or_default();
    // Other users may have write access to the directory.
    let file = match Directory::open(directory).and_then(|directory| directory.open_own(name)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        file => file.with_context(failed)?,
    };
    if !lock(&file, patience) {
        bail!("cannot convert {}: another process writes it", archive.display());
    }
    if !archive.exists() {
        return Ok(None);
    }
    let records = Archive::read(Reader::new(BufReader::new(&file))).with_context(failed)?;
    let logs = write(records, directory, options, names)?;
    // The lock is released after this, so no other process converts the archive again.
    fs::remove_file(archive).with_context(|| {
        format!("the logs are complete, but cannot remove {}", archive.display())
    })?;
    Ok(Some(logs))
}

/// Gives a hidden archive that cannot be converted its final name. An earlier archive of that name
/// is renamed to `NAME.old`.
pub(crate) fn keep_hidden(archive: &Path, kept: &OsStr) -> std::io::Result<()> {
    let directory = Directory::open(archive.parent().unwrap_or(Path::new(".")))?;
    let hidden = archive.file_name().unwrap_or_default();
    let file = directory.open_own(hidden)?;
    let place = Place::beneath(directory, kept.to_owned())?;
    NewFile::from_parts(file, place, hidden.to_owned()).complete_with_backup().map(drop)
}

/// Returns the hint for a directory with hidden archives that are no logs yet.
pub(crate) fn recover_hint(directory: &Path) -> String {
    let is_hidden = |entry: fs::DirEntry| entry.file_name().to_str().is_some_and(is_hidden_archive);
    match fs::read_dir(directory).is_ok_and(|mut it| it.any(|entry| entry.is_ok_and(is_hidden))) {
        true => format!("{HINT}trace recover {} writes the logs in it", directory.display()),
        false => String::new(),
    }
}

/// Returns the directory of logs at a path: that itself, or that of a hidden archive.
pub(crate) fn directory_of(path: &Path) -> Option<&Path> {
    if path.is_dir() {
        return Some(path);
    }
    path.file_name()?.to_str().filter(|name| is_hidden_archive(name))?;
    path.parent().map(|it| if it.as_os_str().is_empty() { Path::new(".") } else { it })
}

/// Locks a file. Returns false if another process has the lock for longer than `patience`.
fn lock(file: &File, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    while flock(file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Writes a log and a map for each process of an archive, with names other than `names`.
fn write(archive: Archive, directory: &Path, options: &Options, names: &mut Names) -> Result<Logs> {
    let failed = || format!("cannot write logs to {}", directory.display());
    let place = Directory::open(directory).with_context(failed)?;
    let mut logs = Logs::default();
    for process in archive.processes() {
        let mut name = file_name(process);
        while !names.insert(name.clone()) {
            name.push('_');
        }
        let (log, map) = (new_file(&place, &name, "xray")?, new_file(&place, &name, "map")?);
        let path = directory.join(format!("{name}.xray"));
        let failed = || format!("cannot write {}", path.display());
        let exported = archive.write(Some(process), options, log.file().as_ref());
        let exported = exported.with_context(failed)?;
        map.file().as_ref().write_all(&exported.map).with_context(failed)?;
        logs.bytes += log.file().metadata().map_or(0, |log| log.len()) + exported.map.len() as u64;
        // A log that has its name has a map.
        map.complete_with_backup().with_context(failed)?;
        log.complete_with_backup().with_context(failed)?;
        logs.add(&exported);
        logs.paths.push(path);
    }
    logs.damage = archive.damage;
    Ok(logs)
}

fn new_file(directory: &Directory, name: &str, extension: &str) -> Result<NewFile> {
    let name = format!("{name}.{extension}");
    let place = Place::beneath(directory.clone(), name.clone().into());
    place
        .and_then(NewFile::unnamed)
        .with_context(|| format!("cannot write {}", directory.path().join(&name).display()))
}

/// Returns the name of a process's log without its extension. A program chooses its own name, so
/// characters other than letters, digits and some signs are replaced.
fn file_name(process: &Process) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._-+@".contains(letter);
    let name = process.name.chars().map(|letter| if is_plain(letter) { letter } else { '_' });
    let name: String = name.collect();
    let name = match cut_str(&name, MAX_NAME_BYTES).trim_start_matches('.') {
        "" => "process",
        name => name,
    };
    format!("{name}-{}", process.pid)
}

impl Logs {
    fn add(&mut self, exported: &Exported) {
        let Exported { calls, events, open, cut, short, too_long, unpaired, .. } = exported;
        let total = &mut self.total;
        total.calls += calls;
        total.events += events;
        total.open += open;
        total.cut += cut;
        total.short += short;
        // These are numbers of the archive.
        (total.too_long, total.unpaired) = (*too_long, *unpaired);
    }

    /// Returns the number of calls.
    pub(crate) fn calls(&self) -> u64 {
        self.total.calls
    }

    /// Returns the number of custom events.
    pub(crate) fn events(&self) -> u64 {
        self.total.events
    }

    /// Returns the number of calls that are shorter than the threshold.
    pub(crate) fn short(&self) -> u64 {
        self.total.short
    }

    /// Returns the records that differ from the recorded ones, and their numbers.
    pub(crate) fn differences(&self) -> [(&'static str, u64); 4] {
        [
            ("durations without an end, written as entries", self.total.open),
            ("durations without a begin, skipped", self.total.unpaired),
            ("durations that end after the one around them, cut", self.total.cut),
            ("records too long for a custom event, skipped", self.total.too_long),
        ]
    }

    /// Reports damage of the archive at `path`, and the differences. Returns the exit code.
    pub(crate) fn warn(&self, path: &Path) -> u8 {
        damage::warn_counts(path, &self.differences());
        damage::warn(path, &self.damage)
    }
}

/// Converts each archive that a killed recorder, or a process that traced itself, left in a
/// directory. Processes of several archives may have the same name and id: each has its own log.
/// The archives do not have the options of their recordings.
pub(crate) fn recover(directory: &Path, options: &Options) -> Result<Vec<Result<Logs>>> {
    let failed = || format!("cannot read {}", directory.display());
    let mut recovered = complete_archives(directory)?;
    let mut left = Vec::new();
    for entry in fs::read_dir(directory).with_context(failed)? {
        let name = entry.with_context(failed)?.file_name();
        left.extend(name.to_str().filter(|name| is_left_behind(name)).map(str::to_owned));
    }
    left.sort_unstable();
    let mut names = Names::new();
    for archive in left {
        let archive = directory.join(archive);
        let logs = convert_beside(&mut names, &archive, options, Duration::ZERO);
        recovered.extend(logs.transpose());
    }
    if recovered.is_empty() {
        return Err(anyhow!(
            "no recording to recover in {}{HINT}name the directory that trace record -o named, or \
             the file or directory that TRACE_OUTPUT named",
            directory.display()
        ));
    }
    Ok(recovered)
}

/// Completes the hidden archives of killed processes that traced themselves. Returns the errors.
/// Archives of living processes stay as they are.
fn complete_archives(directory: &Path) -> Result<Vec<Result<Logs>>> {
    let failed = || format!("cannot read {}", directory.display());
    let mut errors = Vec::new();
    for entry in fs::read_dir(directory).with_context(failed)? {
        let name = entry.with_context(failed)?.file_name();
        let name = name.to_str().filter(|name| is_hidden_archive(name));
        let Some(start) = name.and_then(|name| name.strip_suffix(HIDDEN_BUFFER)) else { continue };
        let archive = directory.join(format!("{start}.fxt"));
        if let Err(error) = trace_manager::recover(&archive) {
            errors
                .push(Err(error).with_context(|| format!("cannot recover {}", archive.display())));
        }
    }
    Ok(errors)
}

/// Returns whether a file is a hidden archive: complete, replaced by a later one, or partial.
fn is_left_behind(name: &str) -> bool {
    let of = is_hidden_archive;
    let partial = name.strip_prefix('.').filter(|_| name.ends_with(".partial"));
    partial.is_some_and(of) || (of(name) && (name.ends_with(".fxt") || name.ends_with(".fxt.old")))
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use trace_protocol::file::hidden_own_archive;
    use trace_xray::layout::Version;

    use super::*;

    fn named(name: &str) -> String {
        file_name(&Process { pid: 7, name: name.to_owned() })
    }

    #[test]
    fn a_kept_archive_replaces_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let archive = hidden_archive(directory.path(), 7);
        for (content, kept) in [("1", "recording-7.fxt"), ("2", "recording-7.fxt.old")] {
            fs::write(&archive, content).unwrap();
            keep_hidden(&archive, OsStr::new("recording-7.fxt")).unwrap();
            assert_eq!(fs::read_to_string(path(kept)).unwrap(), "1");
            assert!(!archive.exists());
        }
        assert_eq!(fs::read_to_string(path("recording-7.fxt")).unwrap(), "2");
    }

    #[test]
    fn names_of_logs_are_safe() {
        assert_eq!(named("server"), "server-7");
        assert_eq!(named("../a/b c\n\u{1b}[0m"), "_a_b_c___0m-7");
        assert_eq!(named(".."), "process-7");
        assert_eq!(named("größe.bin"), "größe.bin-7");
        assert_eq!(named(&"x".repeat(1000)).len(), MAX_NAME_BYTES + 2);
    }

    #[test]
    fn hidden_archives_are_found() {
        let archive = hidden_archive(Path::new("d"), 12);
        assert_eq!(recorder_of(&archive), Some(12));
        assert!(is_left_behind(".recording-12.fxt"));
        assert!(is_left_behind("..recording-12.fxt.partial"));
        assert!(is_left_behind("..recording-12.fxt.0123456789abcdef.partial"));
        assert!(!is_left_behind("recording-12.fxt") && !is_left_behind(".a.fxt.partial"));
        assert_eq!(recorder_of(Path::new("d/other.fxt")), None);
        let own = ".recording-12-1700000000000000001.fxt";
        let time = UNIX_EPOCH + Duration::from_nanos(1_700_000_000_000_000_001);
        assert_eq!(hidden_own_archive(Path::new("d"), 12, time), Path::new("d").join(own));
        assert!(is_left_behind(own) && is_left_behind(&format!(".{own}.partial")));
        assert_eq!(recorder_of(Path::new(own)), None);
    }

    /// Runs in containers may have the same id.
    #[test]
    fn recovered_logs_replace_none_of_each_other() {
        const RECORDS: [u64; 10] = [
            trace_format::layout::MAGIC_WORD,
            0x21,
            1_000_000_000,
            // A duration `n` of the category `c`, of thread 8 of process 7, from 10 to 20.
            0x8001_8001_0004_0074,
            10,
            7,
            8,
            b'c' as u64,
            b'n' as u64,
            20,
        ];
        let directory = tempfile::tempdir().unwrap();
        for nanos in 1..=3 {
            let time = UNIX_EPOCH + Duration::from_nanos(nanos);
            let archive = hidden_own_archive(directory.path(), 7, time);
            fs::write(archive, RECORDS.map(u64::to_le_bytes).concat()).unwrap();
        }
        let options = Options { version: Version::V3, ..Options::default() };
        let recovered = recover(directory.path(), &options).unwrap();
        let paths: Vec<_> = recovered.into_iter().flat_map(|logs| logs.unwrap().paths).collect();
        let expected = ["process-7", "process-7_", "process-7__"];
        assert_eq!(paths, expected.map(|name| directory.path().join(format!("{name}.xray"))));
        // A log starts with its version.
        assert!(paths.iter().all(|path| fs::read(path).unwrap()[..2] == [3, 0]));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 6, "logs and maps");
    }
}
