//! The functions of `trace_reader.h`, which never unwind.

use std::ffi::{c_char, c_void, CStr, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::ptr::null;
use std::slice;

use crate::abi;
use crate::archive_reader::{ArchiveReader, Input, Next};

/// An input that could not be opened.
struct Failed(Option<io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(self.0.take().unwrap_or_else(|| io::ErrorKind::InvalidInput.into()))
    }
}

/// Opens a file.
///
/// # Safety
/// `path` is null or a text with a zero at its end.
#[no_mangle]
pub unsafe extern "C" fn trace_reader_open(path: *const c_char) -> *mut ArchiveReader {
    if path.is_null() {
        return make(Box::new(Failed(None)));
    }
    // SAFETY: by the contract.
    let path = unsafe { CStr::from_ptr(path) };
    make(match File::open(OsStr::from_bytes(path.to_bytes())) {
        Ok(file) => Box::new(file),
        Err(error) => Box::new(Failed(Some(error))),
    })
}

/// Reads an archive in memory.
///
/// # Safety
/// `size` bytes can be read, and do not change, until the reader is closed.
#[no_mangle]
pub unsafe extern "C" fn trace_reader_from_bytes(
    bytes: *const c_void,
    size: usize,
) -> *mut ArchiveReader {
    if bytes.is_null() || size == 0 {
        return make(Box::new(io::empty()));
    }
    // SAFETY: by the contract; the reader is the only one that uses them.
    let bytes: &'static [u8] = unsafe { slice::from_raw_parts(bytes.cast(), size) };
    make(Box::new(bytes))
}

fn make(input: Input) -> *mut ArchiveReader {
    Box::into_raw(Box::new(ArchiveReader::new(input)))
}

/// Reads the next record.
///
/// # Safety
/// `reader` is null or an open reader that no other thread uses; `record` is null or can be written
/// to.
#[no_mangle]
pub unsafe extern "C" fn trace_reader_next(
    reader: *mut ArchiveReader,
    record: *mut *const abi::Record,
) -> u32 {
    // SAFETY: by the contract.
    let Some(reader) = (unsafe { reader.as_mut() }) else { return 0 };
    let next = reader.next();
    let found = reader.record().map_or(null(), std::ptr::from_ref);
    if !record.is_null() {
        // SAFETY: by the contract.
        unsafe { record.write(found) };
    }
    match next {
        Next::End => 0,
        Next::Record => 1,
        Next::Error => 2,
    }
}

/// Returns the error of the last call of [`trace_reader_next`], or null.
///
/// # Safety
/// As for [`trace_reader_next`].
#[no_mangle]
pub unsafe extern "C" fn trace_reader_error(reader: *const ArchiveReader) -> *const abi::Error {
    // SAFETY: by the contract.
    let reader = unsafe { reader.as_ref() };
    reader.and_then(ArchiveReader::error).map_or(null(), std::ptr::from_ref)
}

/// Returns the statistics so far.
///
/// # Safety
/// As for [`trace_reader_next`].
#[no_mangle]
pub unsafe extern "C" fn trace_reader_stats(reader: *const ArchiveReader) -> abi::Stats {
    const NO_STATS: abi::Stats = abi::Stats {
        records: 0,
        unknown_records: 0,
        bad_records: 0,
        unknown_string_refs: 0,
        unknown_thread_refs: 0,
    };
    // SAFETY: by the contract.
    unsafe { reader.as_ref() }.map_or(NO_STATS, ArchiveReader::stats)
}

/// Closes a reader.
///
/// # Safety
/// `reader` is null or an open reader, which is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn trace_reader_close(reader: *mut ArchiveReader) {
    if !reader.is_null() {
        // SAFETY: by the contract `make` returned it, and it was not closed before.
        drop(unsafe { Box::from_raw(reader) });
    }
}
