//! Compressed input.

use std::io::{Read, Write};

use trace_input::decompress;

use super::content;
use crate::archive::archive;
use crate::compression::{Compression, Compressor};

/// The most bytes of compressed data that are looked at: a few bytes may stand for many.
const MOST: u64 = 1 << 20;

/// Takes bytes for compressed data, and for an archive to be compressed: it comes back as it was,
/// and an end that is missing is an error.
pub fn compressed(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let _any = uncompressed(rest);
    let kind = if choice & 1 == 0 { Compression::Gzip } else { Compression::Zstd };
    let archive = archive(rest);
    let whole = compress(&archive, kind);
    assert_eq!(uncompressed(&whole).expect("it was compressed"), archive);
    let twice = [&whole[..], &whole].concat();
    assert_eq!(uncompressed(&twice).expect("pieces follow one another"), archive.repeat(2));
    let at = 4 + usize::from(*choice) * (whole.len() - 4) / 256;
    cut(&whole[..at], &archive);
    damaged(whole, at, &archive);
}

fn compress(archive: &[u8], kind: Compression) -> Vec<u8> {
    let mut compressor = Compressor::new(Vec::new(), kind).expect("memory can be written");
    compressor.write_all(archive).expect("memory can be written");
    compressor.finish().expect("memory can be written")
}

fn uncompressed(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut output = Vec::new();
    decompress(bytes)?.take(MOST).read_to_end(&mut output)?;
    Ok(output)
}

/// Asserts that what can be read of compressed data is the beginning, and then an error.
fn cut(part: &[u8], archive: &[u8]) {
    let mut output = Vec::new();
    let read = decompress(part).and_then(|mut input| input.read_to_end(&mut output));
    let error = read.expect_err("the end is missing");
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof, "{error}");
    assert!(archive.starts_with(&output));
    assert!(content(archive).starts_with(&content(&output)));
}

/// Asserts that a change of compressed data is noticed, unless it does not matter.
fn damaged(mut whole: Vec<u8>, at: usize, archive: &[u8]) {
    let at = at.min(whole.len() - 1);
    whole[at] ^= 0x55;
    if let Ok(output) = uncompressed(&whole) {
        assert!(output == archive, "a checksum is compared");
    }
}
