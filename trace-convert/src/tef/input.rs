//! Documents as an input.

use std::io::{self, Read};

use trace_analyze::input::{imported, InputFormat};

use super::import::DocumentImporter;
use super::reader::{Limits, Reader};

/// The Trace Event Format as an input.
#[derive(Debug, Clone, Copy, Default)]
pub struct Document {
    /// Whether malformed events are skipped.
    pub lenient: bool,
    /// The nanoseconds that are added to all times; see [`shift`](fn@super::shift).
    pub shift: u64,
    /// Called at the end of a document with
    /// [`omitted_backtraces`](super::Summary::omitted_backtraces), unless that is 0.
    pub report_omitted_backtraces: Option<fn(u64)>,
}

impl InputFormat for Document {
    fn name(&self) -> &'static str {
        "JSON"
    }

    fn detects(&self, start: &[u8]) -> bool {
        let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        matches!(text.trim_ascii_start(), [b'{' | b'[', ..])
    }

    fn open<'a>(&self, input: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
        let limits = Limits { lenient: self.lenient, ..Limits::default() };
        let reader = Reader::with_limits(input, limits).shifted(self.shift);
        imported(DocumentImporter::new(reader, self.report_omitted_backtraces))
    }
}
