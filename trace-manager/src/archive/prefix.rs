//! The records of an archive at one moment.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::status::WriterStatus;
use crate::output::{ArchiveOutput, BlockRole, OffsetReader, PartFile, PartPlaces, PartsReader};

/// The interval of checks whether the archive is written.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Bytes that are copied at a time.
const BLOCK: usize = 256 << 10;

/// The records of an archive at one moment: those of the parts that are kept, and of the present
/// one.
#[derive(Debug)]
pub(crate) struct Prefix {
    /// The file of the present part. It is set when the first byte of that part is written.
    pub(super) archive: PartFile,
    /// The bytes of earlier parts.
    pub(super) start: u64,
    /// The size of the present part in bytes. Some of them may not be written yet.
    pub(crate) bytes: u64,
    /// Offsets in bytes, in the present part, of the words with the counter's rate.
    pub(super) rates: Vec<u64>,
    /// Bytes at the begin of the present part that repeat what earlier parts have.
    pub(super) repeated: u64,
    pub(super) status: Arc<WriterStatus>,
    /// The earlier parts.
    pub(super) parts: PartsReader,
}

impl Prefix {
    /// Copies the records to a new archive, once they are written. `rate` is that of the CPU's
    /// counter, in ticks per second. Returns the number of bytes.
    pub(crate) fn copy_to(&self, output: &ArchiveOutput, rate: u64) -> io::Result<u64> {
        wait_until_written(&self.status, self.start + self.bytes)?;
        let begin = self.archive.get().ok_or(io::ErrorKind::NotFound)?;
        let mut copy = ArchiveCopy { output, rate: rate.to_le_bytes(), bytes: 0 };
        for part in self.parts.before(self.start - begin.offset) {
            copy.add(&part.open()?, part.written.bytes, &part.written.places)?;
        }
        let mut places = begin.before.clone();
        places.rates.extend(self.rates.iter().map(|rate| begin.offset + rate));
        places.add(BlockRole::Repeats, begin.offset..begin.offset + self.repeated);
        copy.add(&begin.file, begin.offset + self.bytes, &places)?;
        Ok(copy.bytes)
    }
}

/// The copy of an archive.
#[derive(Debug)]
struct ArchiveCopy<'a> {
    output: &'a ArchiveOutput,
    /// The counter's rate, which is the same in all parts.
    rate: [u8; 8],
    /// Bytes copied.
    bytes: u64,
}

impl ArchiveCopy<'_> {
    /// Adds the first `end` bytes of a file.
    fn add(&mut self, file: &File, end: u64, places: &PartPlaces) -> io::Result<()> {
        let mut start = if self.bytes == 0 { 0 } else { places.repeated };
        for left_out in &places.left_out {
            self.append(file, start..left_out.start, places)?;
            start = left_out.end;
        }
        self.append(file, start..end, places)
    }

    fn append(&mut self, file: &File, range: Range<u64>, places: &PartPlaces) -> io::Result<()> {
        let (start, size) = (range.start, range.end.saturating_sub(range.start));
        let part = OffsetReader::new(file, start).take(size);
        let copied = io::copy(&mut BufReader::with_capacity(BLOCK, part), &mut self.output.file())?;
        if copied != size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for place in places.rates.iter().filter(|place| range.contains(place)) {
            self.output.patch(&self.rate, self.bytes + (place - start))?;
        }
        self.bytes += copied;
        Ok(())
    }
}

fn wait_until_written(status: &WriterStatus, bytes: u64) -> io::Result<()> {
    while status.bytes() < bytes {
        // This is read before the size, which is final after the end.
        let has_ended = status.has_ended();
        if let Some(failure) = status.failure() {
            return Err(io::Error::other(format!("the archive itself failed: {failure}")));
        }
        if status.is_full() {
            return Err(io::Error::other("the archive itself waits for space: its disk is full"));
        }
        if has_ended && status.bytes() < bytes {
            return Err(io::Error::other("the archive itself ended early"));
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}
