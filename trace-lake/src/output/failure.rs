//! The error of an output, which the writer of a format may turn into a text.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// An output that keeps its last error.
pub(super) struct KeptErrors<'a> {
    output: Box<dyn Write + Send + 'a>,
    failure: Failure,
}

/// The last error of an output.
#[derive(Debug, Clone, Default)]
pub(super) struct Failure(Arc<Mutex<Option<io::Error>>>);

impl<'a> KeptErrors<'a> {
    pub(super) fn new(output: Box<dyn Write + Send + 'a>) -> Self {
        Self { output, failure: Failure::default() }
    }

    pub(super) fn failure(&self) -> Failure {
        self.failure.clone()
    }
}

impl Failure {
    /// Returns the error of the output, if there is one, and else that of a format's writer, which
    /// makes a text of the other.
    pub(super) fn or(&self, error: anyhow::Error) -> anyhow::Error {
        let failure = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        failure.map_or(error, anyhow::Error::from)
    }

    /// Keeps the error of a result. One that asks for another attempt is none.
    fn keep<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            if kind != io::ErrorKind::Interrupted {
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
            kind.into()
        })
    }
}

impl Write for KeptErrors<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes);
        self.failure.keep(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.output.flush();
        self.failure.keep(flushed)
    }
}
