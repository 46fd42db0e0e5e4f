//! Compressed inputs: gzip and zstd.

use std::io::{self, BufReader, Cursor, ErrorKind, Read};

use flate2::read::MultiGzDecoder;

/// The bytes that gzip's decoder reads at once; it takes bytes in small pieces.
const BLOCK_BYTES: usize = 64 << 10;

/// Returns the decompressed content of `input`, which may be uncompressed. Streams that follow each
/// other are read as one.
///
/// # Errors
///
/// Reading the first bytes failed. Damaged data is an error of the returned reader.
pub fn decompress<'a>(mut input: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut start = Vec::new();
    input.by_ref().take(4).read_to_end(&mut start)?;
    let first: [u8; 4] = start.first_chunk().copied().unwrap_or_default();
    let input = Cursor::new(start).chain(input);
    Ok(match first {
        [0x1f, 0x8b, ..] => {
            let input = BufReader::with_capacity(BLOCK_BYTES, input);
            Box::new(Explained { input: MultiGzDecoder::new(input), kind: "gzip" })
        }
        [0x28, 0xb5, 0x2f, 0xfd] => {
            Box::new(Explained { input: zstd::Decoder::new(input)?, kind: "zstd" })
        }
        _ => Box::new(input),
    })
}

/// Adds the compression's name to errors.
struct Explained<R> {
    input: R,
    kind: &'static str,
}

impl<R: Read> Read for Explained<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let kind = self.kind;
        self.input.read(room).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => error,
            ErrorKind::UnexpectedEof => {
                io::Error::new(ErrorKind::UnexpectedEof, format!("the {kind} data is truncated"))
            }
            _ => io::Error::new(error.kind(), format!("the {kind} data is damaged: {error}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;

    use super::*;

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut back = Vec::new();
        decompress(bytes)?.read_to_end(&mut back)?;
        Ok(back)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn streams_that_follow_each_other_are_read_as_one() {
        let text = b"many words, many words".repeat(10_000);
        for mut bytes in [gzip(&text), zstd::encode_all(&*text, 0).unwrap(), text.clone()] {
            bytes.extend_from_within(..);
            assert!(read(&bytes).unwrap() == text.repeat(2));
        }
    }

    #[test]
    fn short_inputs_are_not_compressed() {
        for input in [&b""[..], b"a", b"\x28\xb5\x2f"] {
            assert_eq!(read(input).unwrap(), input);
        }
    }

    #[test]
    fn errors_name_the_compression() {
        let text = b"some words, other words, more words";
        for (name, bytes) in
            [("gzip", gzip(text)), ("zstd", zstd::encode_all(&text[..], 0).unwrap())]
        {
            let error = read(&bytes[..bytes.len() - 6]).unwrap_err().to_string();
            assert_eq!(error, format!("the {name} data is truncated"));
            let mut damaged = bytes.clone();
            damaged.iter_mut().skip(8).for_each(|byte| *byte ^= 0x5a);
            let error = read(&damaged).unwrap_err().to_string();
            assert!(error.starts_with(&format!("the {name} data is ")), "{error}");
        }
    }
}
