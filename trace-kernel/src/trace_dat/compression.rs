//! Compressed parts of a file.

use std::io::{self, Read};

use super::error::TraceDatError;

/// The most bytes that a part may have. trace-cmd compresses pages in groups of a few hundred KiB.
const MAX_BYTES: u64 = 256 << 20;

/// How parts of a file are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Compression {
    #[default]
    None,
    Zlib,
    Zstd,
}

impl Compression {
    pub(super) fn named(name: &str) -> Result<Self, TraceDatError> {
        match name {
            "none" => Ok(Self::None),
            "zlib" => Ok(Self::Zlib),
            "zstd" => Ok(Self::Zstd),
            _ => Err(TraceDatError::Compression(name.to_owned())),
        }
    }

    /// Decompresses a part at this offset of the file, which has `size` bytes then.
    pub(super) fn decompress(
        self,
        part: &[u8],
        size: u32,
        offset: u64,
    ) -> Result<Vec<u8>, TraceDatError> {
        let size = u64::from(size);
        let bytes = match self {
            _ if size > MAX_BYTES => None,
            Self::None => None,
            Self::Zlib => read(flate2::read::ZlibDecoder::new(part), size).ok(),
            Self::Zstd => {
                let decoder = ruzstd::decoding::StreamingDecoder::new(part).ok();
                decoder.and_then(|decoder| read(decoder, size).ok())
            }
        };
        let bytes = bytes.filter(|bytes| bytes.len() as u64 == size);
        bytes.ok_or(TraceDatError::Compressed { offset })
    }
}

/// Reads at most `size` bytes.
fn read(decoder: impl Read, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    decoder.take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn zlib() {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), Default::default());
        encoder.write_all(&[7; 1000]).unwrap();
        let part = encoder.finish().unwrap();
        let sizes = [1000, 999, 1001, 0, u32::MAX];
        let expected = [Some(1000), Some(999), None, Some(0), None];
        let found = sizes.map(|size| Compression::Zlib.decompress(&part, size, 5).ok());
        assert_eq!(found.map(|bytes| bytes.map(|bytes| bytes.len())), expected);
        assert!(Compression::Zlib.decompress(&part[..5], 1000, 5).is_err());
        assert!(Compression::None.decompress(&part, 1000, 5).is_err());
    }
}
