use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use trace_format::encode::append;

use super::*;
use crate::archive::spool::BlockInfo;
use crate::fixture::event;
use crate::output::stream::{self, StreamBounds};
use crate::output::ArchiveTarget;
use crate::records::Spares;

fn block(words: &[u64], rate: Option<usize>) -> Block {
    let words = Spares::default().share(words.to_vec());
    Block { words, start: 0, info: BlockInfo { rate, ..BlockInfo::default() } }
}

fn writer(path: &Path, discarded: bool) -> ArchiveWriter {
    let output = ArchiveOutput::create_file(path).unwrap();
    ArchiveWriter::spawn(output, None, Arc::new(AtomicBool::new(discarded))).unwrap()
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn an_archive_has_all_blocks_and_the_measured_rate() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.fxt");
    let mut writer = writer(&path, false);
    writer.push(block(&[1, 2, 3], Some(1)));
    writer.push(block(&[], None));
    writer.push(Block { start: 1, ..block(&[4, 5, 6], Some(1)) });
    let status = writer.status();
    assert!(!path.exists() && !status.has_ended());
    let finished = writer.finish(77);
    assert_eq!(finished.join().unwrap(), 40);
    assert_eq!(words(&fs::read(&path).unwrap()), [1, 77, 3, 5, 77]);
    assert!(status.has_ended() && status.failure().is_none());
    assert_eq!(status.bytes(), 40);
}

#[test]
fn the_prefix_has_a_length_and_the_offsets_of_rates() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer(&directory.path().join("a.fxt"), false);
    writer.push(block(&[1, 2, 3], Some(2)));
    writer.push(block(&[4, 5], Some(0)));
    let prefix = writer.prefix().unwrap();
    assert_eq!((prefix.bytes, prefix.rates), (40, vec![16, 24]));
    writer.finish(1).join().unwrap();
}

#[test]
fn a_discarded_archive_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer(&directory.path().join("a.fxt"), true);
    writer.push(block(&[1], None));
    assert_eq!(writer.finish(1).join().unwrap(), 0);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// An abort may be what ends an archive that waits for space.
#[test]
fn a_discarded_archive_is_removed_if_it_fails() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer(&directory.path().join("a.fxt"), true);
    writer.push(block(&[1], None));
    writer.status().lose(io::Error::other("full"));
    assert_eq!(writer.finish(1).join().unwrap(), 0);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// A stream can be neither read again nor changed, so its rate stays an estimate.
#[test]
fn an_archive_without_its_final_name_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.fxt");
    let mut writer = writer(&path, false);
    writer.push(block(&[1, 2, 3], None));
    fs::create_dir(&path).unwrap();
    let error = writer.finish(1).join().unwrap_err();
    assert_eq!(error.kept, Some(directory.path().canonicalize().unwrap().join(".a.fxt.partial")));
    assert_eq!(words(&fs::read(error.kept.unwrap()).unwrap()), [1, 2, 3]);
}

#[test]
fn a_stream_gets_the_blocks_unchanged() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let output = ArchiveOutput::open(ArchiveTarget::Stream(ours.into())).unwrap();
    let mut writer = ArchiveWriter::spawn(output, None, Arc::default()).unwrap();
    assert!(matches!(writer.prefix(), Err(ManagerError::SnapshotOfStream)));
    // More than the buffer of a socket.
    let large: Vec<u64> = (0..100_000).collect();
    writer.push(block(&large, Some(0)));
    let finished = writer.finish(77);
    let mut bytes = vec![0; 800_000];
    theirs.read_exact(&mut bytes).unwrap();
    assert!(words(&bytes) == large);
    assert_eq!(finished.join().unwrap(), 800_000);
}

#[test]
fn an_error_has_the_number_of_bytes_written_before() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(theirs);
    let output = ArchiveOutput::open(ArchiveTarget::Stream(ours.into())).unwrap();
    let mut writer = ArchiveWriter::spawn(output, None, Arc::default()).unwrap();
    let status = writer.status();
    writer.push(block(&[1, 2], None));
    writer.push(block(&[3], None));
    let error = writer.finish(1).join().unwrap_err();
    assert_eq!((error.bytes, error.source.kind()), (0, io::ErrorKind::BrokenPipe));
    assert!(status.has_ended() && status.failure().is_some());
}

/// Returns a writer that waits for the reader of a socket, the socket, and the queued words.
fn stalled(spool: Spool) -> (ArchiveWriter, UnixStream, Vec<u64>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let output = ArchiveOutput::open(ArchiveTarget::Stream(ours.into())).unwrap();
    let mut writer = ArchiveWriter::spawn_with(spool, output, None, Arc::default()).unwrap();
    // More than the buffer of a socket.
    let words: Vec<u64> = (0..100_000).collect();
    writer.push(block(&words, None));
    (writer, theirs, words)
}

/// Returns a writer to a pipe in blocking mode that nobody reads, and its end for reading.
fn unread(bounds: StreamBounds) -> (ArchiveWriter, OwnedFd) {
    let (reader, pipe) = stream::test_pipe();
    let pipe = stream::open_nonblocking(pipe).unwrap();
    let output = ArchiveOutput::open(ArchiveTarget::Bounded(pipe, bounds)).unwrap();
    (ArchiveWriter::spawn(output, None, Arc::default()).unwrap(), reader)
}

fn bounds() -> StreamBounds {
    StreamBounds { unwritten: 1 << 20, size: u64::MAX, patience: Duration::from_secs(60) }
}

#[test]
fn an_archive_fails_whose_output_is_not_read() {
    let (mut writer, _reader) = unread(bounds());
    let status = writer.status();
    (0..4).for_each(|_| writer.push(block(&[7; 100_000], None)));
    assert_eq!(status.failure().as_deref(), Some("the output is not read"), "2 MB wait");
    assert_eq!(writer.spool().spilled(), 0);
    let error = writer.finish(1).join().unwrap_err();
    assert_eq!(error.source.to_string(), "the output is not read");
}

#[test]
fn the_end_of_a_session_does_not_wait_forever_for_its_output() {
    let (mut writer, _reader) = unread(StreamBounds { patience: Duration::ZERO, ..bounds() });
    writer.push(block(&[7; 100_000], None));
    let error = writer.finish(1).join().unwrap_err();
    assert_eq!(error.source.to_string(), "the output is not read");
}

#[test]
fn an_archive_has_a_largest_size() {
    let file = tempfile::tempfile().unwrap();
    let bounds = StreamBounds { size: 24, ..bounds() };
    let output = ArchiveOutput::open(ArchiveTarget::Bounded(file.into(), bounds)).unwrap();
    let mut writer = ArchiveWriter::spawn(output, None, Arc::default()).unwrap();
    writer.push(block(&[1, 2, 3], None));
    writer.push(block(&[4], None));
    let error = writer.finish(1).join().unwrap_err();
    assert_eq!((error.bytes, error.source.to_string()), (24, "it has more than 24 bytes".into()));
}

/// Those that do not reach the writer count, too.
#[test]
fn an_error_has_the_number_of_records_that_are_not_written() {
    let mut events = Vec::new();
    (1..=2).for_each(|ticks| append(&mut events, &event(ticks)).unwrap());
    let size = events.len() as u64 * 8;
    let output = tempfile::tempfile().unwrap().into();
    let target = ArchiveTarget::Bounded(output, StreamBounds { size, ..bounds() });
    let output = ArchiveOutput::open(target).unwrap();
    let mut writer = ArchiveWriter::spawn(output, None, Arc::default()).unwrap();
    (0..3).for_each(|_| writer.push(block(&events, None)));
    let error = writer.finish(1).join().unwrap_err();
    assert_eq!((error.bytes, error.unwritten), (size, 4));
}

#[test]
fn an_archive_ends_before_a_lost_block() {
    let removed = tempfile::tempdir().unwrap();
    let directory = trace_protocol::file::Directory::open(removed.path()).unwrap();
    drop(removed);
    let (mut writer, mut theirs, words_before) = stalled(Spool::new(8, Some(directory)));
    let status = writer.status();
    writer.push(block(&[1], None));
    assert!(status.failure().is_some(), "the block cannot be spilled");
    let finished = writer.finish(1);
    let mut bytes = Vec::new();
    theirs.read_to_end(&mut bytes).unwrap();
    assert!(words(&bytes) == words_before);
    let error = finished.join().unwrap_err();
    assert_eq!((error.bytes, error.kept), (800_000, None));
}

/// A block after a gap would look as if it followed the block before.
#[test]
fn no_block_follows_a_lost_block() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer(&directory.path().join("a.fxt"), false);
    writer.push(block(&[1, 2], Some(0)));
    writer.lost = true;
    writer.push(block(&[3], Some(0)));
    let prefix = writer.prefix().unwrap();
    assert_eq!((prefix.bytes, prefix.rates), (16, vec![0]));
    assert_eq!(writer.finish(1).join().unwrap(), 16);
}

#[test]
fn blocks_wait_in_memory_up_to_the_limit() {
    let (mut writer, mut theirs, _) = stalled(Spool::new(MEMORY_LIMIT, None));
    for _ in 0..10 {
        writer.push(block(&[7; 100_000], None));
    }
    assert_eq!(writer.spool().spilled(), 0, "9 MB are below the limit");
    let finished = writer.finish(1);
    std::io::copy(&mut theirs, &mut std::io::sink()).unwrap();
    assert_eq!(finished.join().unwrap(), 11 * 800_000);
}

#[test]
fn the_thread_has_a_low_priority() {
    let niceness = std::thread::spawn(|| {
        lower_priority();
        rustix::process::getpriority_process(Some(rustix::thread::gettid())).unwrap()
    });
    assert!(niceness.join().unwrap() >= 10);
}

#[test]
fn each_part_has_its_own_rates() {
    let directory = tempfile::tempdir().unwrap();
    let target = ArchiveTarget::File(directory.path().join("a.fxt"));
    let output = ArchiveOutput::open_parts(target, None).unwrap();
    let parts = output.parts();
    let mut writer = ArchiveWriter::spawn(output, None, Arc::default()).unwrap();
    writer.push(block(&[1, 2, 3], Some(1)));
    writer.cut(Spares::default().share(vec![4]), 77);
    assert_eq!(writer.part_bytes(), 8);
    writer.push(block(&[5, 6], Some(0)));
    let prefix = writer.prefix().unwrap();
    assert_eq!((prefix.start, prefix.bytes, prefix.rates), (24, 24, vec![8]));
    assert_eq!(writer.finish(88).join().unwrap(), 48);
    let read = |name: &str| words(&fs::read(directory.path().join(name)).unwrap());
    assert_eq!((read("a.1.fxt"), read("a.2.fxt")), (vec![1, 77, 3], vec![4, 88, 6]));
    assert_eq!(parts.get().0.len(), 2);
}

/// Returns the words of a copy of all parts.
fn copied(prefix: &Prefix, rate: u64) -> Vec<u64> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("copy.fxt");
    let output = ArchiveOutput::create_file(&path).unwrap();
    let bytes = prefix.copy_to(&output, rate).unwrap();
    output.complete().unwrap();
    let words = words(&fs::read(path).unwrap());
    assert_eq!(words.len() as u64 * 8, bytes);
    words
}

fn block_of(role: BlockRole, words: &[u64]) -> Block {
    let words = Spares::default().share(words.to_vec());
    Block { words, start: 0, info: BlockInfo { role, ..BlockInfo::default() } }
}

/// It has one begin and one rate, and nothing that is repeated or holds for the end of a part only.
#[test]
fn a_copy_has_the_kept_parts_and_the_present_one() {
    let directory = tempfile::tempdir().unwrap();
    let target = ArchiveTarget::File(directory.path().join("a.fxt"));
    let output = ArchiveOutput::open_parts(target, Some(2)).unwrap();
    let mut writer = ArchiveWriter::spawn(output, None, Arc::default()).unwrap();
    let magic = || Spares::default().share(vec![0]);
    writer.push(block(&[0], None));
    for part in 1..=3 {
        writer.push(block(&[10 * part, 0], Some(1)));
        writer.push(block_of(BlockRole::EndsPart, &[99, 99]));
        writer.push(block(&[10 * part + 1], None));
        writer.push(block_of(BlockRole::EndsPart, &[98]));
        writer.cut(magic(), part);
        writer.push(block_of(BlockRole::Repeats, &[1, 2]));
    }
    writer.push(block(&[40, 0], Some(1)));
    let prefix = writer.prefix().unwrap();
    for part in 4..=6 {
        writer.cut(magic(), part);
        writer.push(block_of(BlockRole::Repeats, &[1, 2]));
        writer.push(block(&[10 * part + 10, 0], Some(1)));
    }
    assert_eq!(copied(&prefix, 7), [0, 1, 2, 20, 7, 21, 30, 7, 31, 40, 7]);
    let later = writer.prefix().unwrap();
    assert_eq!(copied(&later, 8), [0, 1, 2, 50, 8, 60, 8, 70, 8]);
    assert_eq!(copied(&prefix, 7), [0, 1, 2, 20, 7, 21, 30, 7, 31, 40, 7]);
    drop(prefix);
    fs::remove_file(directory.path().join("a.5.fxt")).unwrap();
    assert_eq!(copied(&later, 9), [0, 1, 2, 60, 9, 70, 9], "no gap");
    drop(later);
    writer.finish(10).join().unwrap();
    let files = fs::read_dir(directory.path()).unwrap();
    let mut names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["a.6.fxt", "a.7.fxt"]);
}

/// The first part has the last number but one.
#[test]
fn a_part_continues_if_the_next_one_cannot_be_created() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(format!("a.{}.fxt", u64::MAX - 2)), "x").unwrap();
    let target = ArchiveTarget::File(directory.path().join("a.fxt"));
    let output = ArchiveOutput::open_parts(target, None).unwrap();
    let mut writer = ArchiveWriter::spawn(output, None, Arc::default()).unwrap();
    let status = writer.status();
    for number in [10, 20, 30] {
        writer.push(block(&[number, 0], Some(1)));
        writer.cut(Spares::default().share(vec![number + 1]), number);
        writer.push(block_of(BlockRole::Repeats, &[5]));
    }
    writer.push(block(&[40, 0], Some(1)));
    let prefix = writer.prefix().unwrap();
    assert_eq!((prefix.start, prefix.bytes, &prefix.rates), (80, 32, &vec![24]));
    assert_eq!(copied(&prefix, 7), [10, 7, 20, 7, 30, 7, 40, 7]);
    assert_eq!(writer.finish(88).join().unwrap(), 112);
    let begin = prefix.archive.get().unwrap();
    assert_eq!(begin.offset, 64, "it is after the begin of the file");
    let read = |number| directory.path().join(format!("a.{number}.fxt"));
    let [first, last] = [u64::MAX - 1, u64::MAX].map(|part| words(&fs::read(read(part)).unwrap()));
    assert_eq!(first, [10, 10]);
    assert_eq!(last, [11, 5, 20, 88, 21, 5, 30, 88, 31, 5, 40, 88]);
    assert!(status.failure().is_none() && status.problem().is_some());
}

/// Each program has left before the cut.
#[test]
fn a_last_part_without_records_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let target = ArchiveTarget::File(directory.path().join("a.fxt"));
    let output = ArchiveOutput::open_parts(target, None).unwrap();
    let mut writer = ArchiveWriter::spawn(output, None, Arc::default()).unwrap();
    writer.push(block(&[1, 2, 3], None));
    writer.cut(Spares::default().share(vec![4]), 1);
    assert_eq!(writer.finish(1).join().unwrap(), 24);
    let files = fs::read_dir(directory.path()).unwrap();
    assert!(files.map(|file| file.unwrap().file_name()).eq(["a.1.fxt"]));
}

/// Another process has moved the partial archive away, and put a file in its place.
#[test]
fn a_failed_archive_does_not_name_a_foreign_file() {
    let directory = tempfile::tempdir().unwrap();
    let writer = writer(&directory.path().join("a.fxt"), false);
    let partial = directory.path().join(".a.fxt.partial");
    std::fs::rename(&partial, directory.path().join("moved")).unwrap();
    std::fs::write(&partial, "foreign").unwrap();
    assert_eq!(writer.finish(1).join().unwrap_err().kept, None);
}
