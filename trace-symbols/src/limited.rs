//! Reads of files that claim any size of their parts.

use std::cell::Cell;
use std::ops::Range;

use object::{Object, ReadRef};

/// The most bytes of notes that are read for a build id, which has 20.
const MAX_NOTE_BYTES: u64 = 1 << 20;

/// A file of which a limited number of bytes is read. Reads beyond it fail.
#[derive(Debug)]
pub struct Limited<R> {
    inner: R,
    /// The bytes that may still be read.
    rest: Cell<u64>,
    /// Whether a read beyond them failed.
    is_exceeded: Cell<bool>,
}

impl<R> Limited<R> {
    /// Reads at most `bytes` of a file.
    pub fn new(inner: R, bytes: u64) -> Self {
        Self { inner, rest: Cell::new(bytes), is_exceeded: Cell::new(false) }
    }

    /// Permits `bytes` from now on, whatever was read before.
    pub fn permit(&self, bytes: u64) {
        self.rest.set(bytes);
        self.is_exceeded.set(false);
    }

    /// Returns the number of bytes that may still be read.
    pub(crate) fn rest(&self) -> u64 {
        self.rest.get()
    }

    /// Returns whether a read failed because of the limit, since the last
    /// [`permit`](Self::permit).
    pub fn is_exceeded(&self) -> bool {
        self.is_exceeded.get()
    }

    /// Returns the build id of a file that is read through `self`. It has none if its notes are
    /// longer than 1 MiB. Further reads require [`permit`](Self::permit).
    pub fn build_id<'a>(&'a self, file: &object::File<'a, &'a Self>) -> Option<&'a [u8]>
    where
        R: ReadRef<'a>,
    {
        self.permit(MAX_NOTE_BYTES);
        file.build_id().ok().flatten()
    }

    fn take(&self, bytes: u64) -> Result<(), ()> {
        let rest = self.rest.get().checked_sub(bytes);
        self.is_exceeded.set(self.is_exceeded.get() || rest.is_none());
        self.rest.set(rest.ok_or(())?);
        Ok(())
    }
}

impl<'a, R: ReadRef<'a>> ReadRef<'a> for &'a Limited<R> {
    fn len(self) -> Result<u64, ()> {
        self.inner.len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        self.take(size)?;
        self.inner.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        let text = self.inner.read_bytes_at_until(range, delimiter)?;
        self.take(text.len() as u64 + 1)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_beyond_the_limit_fail() {
        let bytes = [b"name\0".as_slice(), &[7; 95]].concat();
        let limited = &Limited::new(&*bytes, 60);
        assert_eq!(limited.len(), Ok(100));
        assert_eq!(limited.read_bytes_at(5, 40), Ok(&[7; 40][..]));
        assert_eq!(limited.read_bytes_at_until(0..9, 0), Ok(&b"name"[..]));
        assert!(!limited.is_exceeded());
        assert_eq!(limited.read_bytes_at(0, 16), Err(()));
        assert!(limited.is_exceeded());
        limited.permit(16);
        assert!(!limited.is_exceeded());
        assert!(limited.read_bytes_at(0, 16).is_ok());
        assert_eq!(limited.read_bytes_at_until(0..9, 0), Err(()));
    }
}
