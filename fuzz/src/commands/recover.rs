//! `trace recover`.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use trace_format::encode::append_bytes;
use trace_manager::{recover as recover_archive, RecoverError};
use trace_protocol::buffer::header::{BufferingMode, Layout, Parts};
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::producer::DurableWriter;
use trace_protocol::buffer::saved::{buffer_path, partial_path, SavedMark};

use super::{assert_readable, content};
use crate::archive::archive;
use crate::choices::Choices;
use crate::provider::{opening, words_of};

const PARTS: Parts = Parts {
    losses_size: Layout::MIN_LOSSES_SIZE,
    durable_size: 16 << 10,
    rolling_buffers: 2,
    rolling_size: 4096,
    unit_size: 256,
};

/// Recovers what a killed process left: a partial archive, of which a part is valid, and a buffer.
/// The result has all readable records of that part, and is readable.
pub fn recover(bytes: &[u8]) {
    thread_local! {
        static PLACE: TempDir = TempDir::new_in("/dev/shm").expect("there is memory");
    }
    PLACE.with(|place| recovered(&place.path().join("app.fxt"), bytes));
}

fn recovered(output: &Path, bytes: &[u8]) {
    let (form, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let (partial, buffer) = rest.split_at(rest.len() / 2);
    let records = archive(partial);
    let mut partial = Vec::new();
    append_bytes(&mut partial, opening());
    partial.extend_from_slice(&records[8..]);
    let valid = partial.len().saturating_sub(usize::from(form >> 4) * 8) / 8 * 8;
    fs::write(partial_path(output), &partial).expect("there is memory");
    leave_buffer(&buffer_path(output), *form, buffer, valid as u64);
    let left =
        || [partial_path(output), buffer_path(output)].iter().all(|path: &PathBuf| path.exists());
    match recover_archive(output) {
        Ok(recovered) => {
            assert!(!left(), "what was recovered is removed or renamed");
            for kept in &recovered.kept {
                fs::remove_file(kept).expect("a damaged file is kept");
            }
            let written = fs::read(output).expect("it was written");
            assert_eq!(recovered.bytes, written.len() as u64);
            complete(&partial[..valid], &written);
            if recovered.damaged == 0 {
                assert!(written.starts_with(&partial[..valid]));
            }
        }
        Err(RecoverError::NotABuffer { .. } | RecoverError::NothingRecorded { .. }) => {
            assert!(left())
        }
        Err(error) => panic!("{error}"),
    }
    let _absent = fs::remove_file(output);
}

/// Leaves a buffer: with records that the bytes choose, or with the bytes themselves after its
/// header, or at its start.
fn leave_buffer(path: &Path, form: u8, bytes: &[u8], valid: u64) {
    let layout = Layout::new(BufferingMode::Streaming, PARTS).expect("a layout as any other");
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path);
    let file = file.expect("there is memory");
    file.set_len(layout.total_size() as u64).expect("there is memory");
    let mut header = Vec::new();
    append_bytes(&mut header, &layout.to_header());
    file.write_all_at(&header, 0).expect("there is memory");
    let mapping = WriteMapping::map(file.as_fd(), layout.total_size()).expect("it is a file");
    let mut words = Vec::new();
    match form & 3 {
        0 => words.extend(words_of(bytes)),
        1 | 2 => Choices::at_one_time(bytes).records(&mut words),
        _ => {
            let start = [0, 40, 128, layout.losses_offset(), layout.durable_offset()];
            let start = start[usize::from(form >> 2 & 3)] as u64;
            file.write_all_at(bytes, start).expect("there is memory");
        }
    }
    let _full = DurableWriter::new(mapping.clone(), layout).append(&words);
    SavedMark::new(mapping).set(0, valid);
}

/// Asserts that all records of the valid part are in the archive, in their order.
fn complete(valid: &[u8], written: &[u8]) {
    assert_readable(written);
    let (before, after) = (content(valid), content(written));
    assert!(after.starts_with(&before), "{before:?} {after:?}");
}
