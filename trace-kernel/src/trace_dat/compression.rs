//! Compressed parts of a file.

use std::io::{self, Read};

use super::error::TraceDatError;
use super::fields::Fields;

/// The window that every decoder of zstd supports (RFC 8878), as a power of 2.
const USUAL_WINDOW: u32 = 23;

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

    /// Reads a part at this offset of the file, and decompresses it to at most `limit` bytes.
    pub(super) fn read<R: Read>(
        self,
        fields: &mut Fields<R>,
        limit: u64,
        offset: u64,
    ) -> Result<Vec<u8>, TraceDatError> {
        let (compressed, size) = (u64::from(fields.u32()?), u64::from(fields.u32()?));
        if size.max(compressed) > limit {
            return Err(TraceDatError::TooLarge { offset, limit });
        }
        self.decompress(&fields.bytes(compressed)?, size, offset)
    }

    /// Decompresses a part at this offset of the file, which has `size` bytes then.
    fn decompress(self, part: &[u8], size: u64, offset: u64) -> Result<Vec<u8>, TraceDatError> {
        let bytes = match self {
            Self::None => None,
            Self::Zlib => read(flate2::read::ZlibDecoder::new(part), size).ok(),
            Self::Zstd => zstd(part, size).ok(),
        };
        let bytes = bytes.filter(|bytes| bytes.len() as u64 == size);
        bytes.ok_or(TraceDatError::Compressed { offset })
    }
}

/// The decoder allocates the window before it reads data, so the window is limited by the size.
fn zstd(part: &[u8], size: u64) -> io::Result<Vec<u8>> {
    let mut decoder = zstd::Decoder::with_buffer(part)?.single_frame();
    decoder.window_log_max(size.next_power_of_two().ilog2().max(USUAL_WINDOW))?;
    read(decoder, size)
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
        let sizes = [1000, 999, 1001, 0, u32::MAX.into()];
        let expected = [Some(1000), Some(999), None, Some(0), None];
        let found = sizes.map(|size| Compression::Zlib.decompress(&part, size, 5).ok());
        assert_eq!(found.map(|bytes| bytes.map(|bytes| bytes.len())), expected);
        assert!(Compression::Zlib.decompress(&part[..5], 1000, 5).is_err());
        assert!(Compression::None.decompress(&part, 1000, 5).is_err());
    }
    #[test]
    fn zstd() {
        let part = zstd::encode_all(&[7; 1000][..], 3).unwrap();
        let sizes = [1000, 999, 1001, 0, u32::MAX.into()];
        let expected = [Some(1000), Some(999), None, Some(0), None];
        let found = sizes.map(|size| Compression::Zstd.decompress(&part, size, 5).ok());
        assert_eq!(found.map(|bytes| bytes.map(|bytes| bytes.len())), expected);
        assert!(Compression::Zstd.decompress(&part[..5], 1000, 5).is_err());
    }

    /// A frame of many blocks, each of which repeats a byte 128 Ki times: 4 bytes become 128 KiB.
    #[test]
    fn output_of_zstd_is_limited() {
        let mut part = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 13 << 3];
        let block = (128_u32 << 10) << 3 | 1 << 1;
        part.extend([&block.to_le_bytes()[..3], &[7]].concat().repeat(40_000));
        let bytes = Compression::Zstd.decompress(&part, 200_000, 5).unwrap();
        assert!(bytes == vec![7; 200_000] && bytes.capacity() < 1 << 20);
        // A window of 2 GiB.
        part[5] = 21 << 3;
        assert!(Compression::Zstd.decompress(&part, 200_000, 5).is_err());
    }
}
