//! Compressed outputs: gzip and zstd.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{bail, Result};
use flate2::write::GzEncoder;

use crate::message::HINT;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// Extensions of compressions that are not supported.
const UNKNOWN: [&str; 9] = ["xz", "bz2", "lz4", "lzma", "br", "zip", "z", "zstd", "gzip"];

impl Compression {
    /// Returns the compression that a name's extension implies.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        match end_of(path).as_deref() {
            Some("gz") => Ok(Self::Gzip),
            Some("zst") => Ok(Self::Zstd),
            Some(end) if UNKNOWN.contains(&end) => {
                bail!(
                    "cannot write {}: unknown compression .{end}{HINT}use .gz or .zst",
                    path.display()
                )
            }
            _ => Ok(Self::None),
        }
    }
}

/// Returns a name's extension in lower case.
pub(crate) fn end_of(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

/// Compresses its input.
pub(crate) enum Compressor<W: Write> {
    None(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::Encoder<'static, W>),
}

impl<W: Write> Compressor<W> {
    pub(crate) fn new(output: W, compression: Compression) -> io::Result<Self> {
        Ok(match compression {
            Compression::None => Self::None(output),
            Compression::Gzip => Self::Gzip(GzEncoder::new(output, flate2::Compression::default())),
            Compression::Zstd => {
                let mut encoder = zstd::Encoder::new(output, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
        })
    }

    /// Writes buffered data, and returns the output.
    pub(crate) fn finish(self) -> io::Result<W> {
        match self {
            Self::None(output) => Ok(output),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> std::fmt::Debug for Compressor<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None(_) => "None",
            Self::Gzip(_) => "Gzip",
            Self::Zstd(_) => "Zstd",
        })
    }
}

impl<W: Write> Write for Compressor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::None(output) => output.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    /// Does not end a compressed block: small blocks compress badly.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::None(output) => output.flush(),
            Self::Gzip(_) | Self::Zstd(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn compressed_data_is_restored() {
        let text = b"many words, many words".repeat(10_000);
        for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
            let mut compressor = Compressor::new(Vec::new(), compression).unwrap();
            compressor.write_all(&text).unwrap();
            let bytes = compressor.finish().unwrap();
            assert_eq!(bytes.len() < text.len() / 10, compression != Compression::None);
            let mut back = Vec::new();
            trace_input::decompress(&*bytes).unwrap().read_to_end(&mut back).unwrap();
            assert!(back == text, "{compression:?}");
        }
    }

    #[test]
    fn names_imply_compressions() {
        let of = |name: &str| Compression::of(Path::new(name)).map_err(|error| error.to_string());
        assert_eq!(of("a.fxt.gz"), Ok(Compression::Gzip));
        assert_eq!(of("A.FXT.GZ"), Ok(Compression::Gzip));
        assert_eq!(of("a.zst"), Ok(Compression::Zstd));
        for name in ["a.fxt", ".gz", "-", "/dev/null"] {
            assert_eq!(of(name), Ok(Compression::None), "{name}");
        }
        for name in ["a.fxt.xz", "a.Z"] {
            assert!(of(name).unwrap_err().contains("unknown compression"));
        }
    }
}
