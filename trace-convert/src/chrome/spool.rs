//! Text that is written after the events: in memory up to a limit, then in a temporary file.

use std::io::{self, BufWriter, IntoInnerError, Seek, SeekFrom, Write};

use tempfile::SpooledTempFile;
use trace_analyze::input::temporary_file_error;

/// The maximum size in memory, in bytes.
const MEMORY_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Spool {
    text: BufWriter<SpooledTempFile>,
    is_empty: bool,
    /// The first error of writing to the temporary file.
    failure: Option<io::Error>,
}

impl Default for Spool {
    fn default() -> Self {
        let text = BufWriter::new(SpooledTempFile::new(MEMORY_BYTES));
        Self { text, is_empty: true, failure: None }
    }
}

impl Spool {
    pub(super) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Adds texts. [`Spool::write`] returns an error of this.
    pub(super) fn push(&mut self, texts: &[&str]) {
        self.is_empty = false;
        let written = texts.iter().try_for_each(|text| self.text.write_all(text.as_bytes()));
        if let Err(error) = written {
            self.failure.get_or_insert(error);
        }
    }

    /// Writes all texts.
    pub(super) fn write(self, output: &mut impl Write) -> io::Result<()> {
        let kept = match self.failure {
            Some(error) => Err(error),
            None => self.text.into_inner().map_err(IntoInnerError::into_error),
        };
        let rewound = kept.and_then(|mut text| text.seek(SeekFrom::Start(0)).map(|_| text));
        io::copy(&mut rewound.map_err(temporary_file_error)?, output)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_texts_are_written() {
        for count in [0, 1, 3, MEMORY_BYTES] {
            let mut spool = Spool::default();
            (0..count).for_each(|_| spool.push(&["a", "bc"]));
            assert_eq!(spool.is_empty(), count == 0);
            let mut output = Vec::new();
            spool.write(&mut output).unwrap();
            assert!(output == "abc".repeat(count).as_bytes(), "{count}");
        }
    }
}
