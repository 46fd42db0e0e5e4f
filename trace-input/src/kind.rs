//! The formats, and their detection.

use trace_analyze::input::{Fxt, InputFormat};
use trace_convert::tef::Document;
use trace_kernel::ftrace::Ftrace;
use trace_kernel::perf_data::PerfData;
use trace_kernel::trace_dat::TraceCmd;
use trace_xray::fxt::{Fdr, FdrYaml};

use crate::perfetto::is_perfetto;

/// The format of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Fuchsia trace format, which archives have.
    Fxt,
    /// Files of trace-cmd.
    TraceDat,
    /// Files of perf.
    PerfData,
    /// Logs of XRay's flight data recorder.
    Xray,
    /// The YAML of such logs.
    XrayYaml,
    /// Chrome's Trace Event Format.
    Json,
    /// Text of ftrace.
    Ftrace,
    /// Perfetto's format, which is an output only.
    Perfetto,
}

impl InputKind {
    /// In the order of detection: the text of ftrace has no first bytes of its own.
    const ALL: [Self; 8] = [
        Self::Fxt,
        Self::TraceDat,
        Self::PerfData,
        Self::Xray,
        Self::XrayYaml,
        Self::Json,
        Self::Ftrace,
        Self::Perfetto,
    ];

    /// Returns the format of an input that starts like this, of which at most
    /// [`START_BYTES`](crate::START_BYTES) were read. `None` if it has no known format.
    #[must_use]
    pub fn detect(start: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|format| match format.reader() {
            Some(reader) => reader.detects(start),
            None => is_perfetto(start),
        })
    }

    /// Returns the names of the formats that can be read.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        let readers = Self::ALL.into_iter().filter_map(Self::reader);
        readers.map(|reader| reader.name()).collect()
    }

    /// Returns whether it is the format of another program, which has no lenient form.
    #[must_use]
    pub fn is_imported(self) -> bool {
        use InputKind::{Ftrace, PerfData, TraceDat, Xray, XrayYaml};
        matches!(self, Ftrace | TraceDat | PerfData | Xray | XrayYaml)
    }

    /// Returns what makes an archive of an input. XRay logs have numbers for functions then, and
    /// times of JSON must not be negative: [`Fdr`] and [`Document`] have fields for more. `None` if
    /// the format cannot be read.
    #[must_use]
    pub fn reader(self) -> Option<Box<dyn InputFormat>> {
        Some(match self {
            Self::Fxt => Box::new(Fxt),
            Self::TraceDat => Box::new(TraceCmd),
            Self::PerfData => Box::new(PerfData),
            Self::Xray => Box::<Fdr>::default(),
            Self::XrayYaml => Box::<FdrYaml>::default(),
            Self::Json => Box::<Document>::default(),
            Self::Ftrace => Box::new(Ftrace),
            Self::Perfetto => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_detected_by_their_first_bytes() {
        let magic = [0x10, 0, 4, 0x46, 0x78, 0x54, 0x16, 0];
        for (start, format) in [
            (&magic[..], Some(InputKind::Fxt)),
            (b"PERFILE2", Some(InputKind::PerfData)),
            (b"\x17\x08\x44tracing6\0", Some(InputKind::TraceDat)),
            (b" \n{\"traceEvents\": []}", Some(InputKind::Json)),
            (b"# tracer: nop\n", Some(InputKind::Ftrace)),
            (b"---\nheader:\n  version:         1\n", Some(InputKind::XrayYaml)),
            (b"header:\r\n  type: 1\r\n", Some(InputKind::XrayYaml)),
            (b"---\nheader:\n  title: 1\n", None),
            (b"\x0a\x01\0\x0a\x01\0", Some(InputKind::Perfetto)),
            (b"hello", None),
            (b"", None),
        ] {
            assert_eq!(InputKind::detect(start), format, "{}", start.escape_ascii());
        }
        assert_eq!(InputKind::names().len(), InputKind::ALL.len() - 1);
    }
}
