//! Archives of big-endian machines.

use trace_format::{Decoder, Stats};

use crate::shown;
use Eight::{Bytes, Word};

/// Eight bytes of an archive: a word, whose bytes depend on the byte order, or a part of a stream.
#[derive(Clone, Copy)]
enum Eight {
    Word(u64),
    Bytes(&'static [u8; 8]),
}

/// An archive with records of all types.
const EIGHTS: &[Eight] = &[
    Word(0x0016_5478_4604_0010),
    Word(0x0030_0000_0011_0020), // provider info 1 "abc"
    Bytes(b"abc\0\0\0\0\0"),
    Word(0x0021), // 1000 ticks per second
    Word(1000),
    Word(0x0000_0009_0001_0032), // string 1
    Bytes(b"a string"),
    Bytes(b"!\0\0\0\0\0\0\0"),
    Word(0x0001_0033), // thread 1
    Word(5),
    Word(6),
    Word(0x8003_0001_0044_00d4), // complete, 4 arguments, inline thread
    Word(7),
    Word(5),
    Word(8),
    Bytes(b"new\0\0\0\0\0"),
    Word(0x0000_8002_0001_0026), // string argument "string": "xy"
    Bytes(b"xy\0\0\0\0\0\0"),
    Word(0x0001_0028), // koid
    Word(99),
    Word(0xffff_fffe_0001_0011), // -2
    Word(0x0000_0003_0001_002a), // blob
    Bytes(b"raw\0\0\0\0\0"),
    Word(0x1234),                // end
    Word(0x0001_0004_8002_0035), // blob "bl"
    Bytes(b"bl\0\0\0\0\0\0"),
    Bytes(b"data\0\0\0\0"),
    Word(0x0000_0100_0100_0046), // userspace object of inline process
    Word(0x77),
    Word(5),
    Word(0x0000_0005_0001_0011),
    Word(0x0000_0080_0202_0037), // kernel object "on"
    Word(12),
    Bytes(b"on\0\0\0\0\0\0"),
    Word(0x0000_0010_1000_0028), // legacy context switch
    Word(8),
    Word(0x1000_0000_0020_0048), // context switch
    Word(9),
    Word(6),
    Word(7),
    Word(0x0000_0001_0005_0039), // log
    Word(10),
    Bytes(b"hello\0\0\0"),
    Word(0x0010_3000_1010_004a), // module
    Word(11),
    Bytes(b"lib\0\0\0\0\0"),
    Bytes(b"\x01\0\0\0\0\0\0\0"),
    Word(0x0000_0000_2012_004a), // backtrace of 2 frames
    Word(12),
    Word(0xabc),
    Word(0xdef),
    Word(0x0000_0100_0000_004f), // large blob without metadata
    Word(0x8002_0001),
    Bytes(b"lb\0\0\0\0\0\0"),
    Word(0),
    Word(0x0021_002e), // of an unknown type
    Word(13),
];

#[test]
fn a_big_endian_archive_reads_as_a_little_endian_one() {
    let bytes = |word: fn(u64) -> [u8; 8]| -> Vec<u8> {
        let eight = |eight: &Eight| match eight {
            Word(number) => word(*number),
            Bytes(bytes) => **bytes,
        };
        EIGHTS.iter().flat_map(eight).collect()
    };
    let (little, big) = (bytes(u64::to_le_bytes), bytes(u64::to_be_bytes));
    let read = |archive: &[u8], chunk_bytes: usize| {
        let (mut decoder, mut records) = (Decoder::default(), Vec::new());
        for chunk in archive.chunks(chunk_bytes) {
            decoder.feed(chunk);
            records.extend(std::iter::from_fn(|| shown(decoder.next())));
        }
        decoder.finish();
        records.extend(std::iter::from_fn(|| shown(decoder.next())));
        (records, decoder.stats())
    };
    let (expected, stats) = read(&little, little.len());
    assert!(!expected.iter().any(|record| record.contains("Error")), "{expected:#?}");
    assert_eq!((stats.bad_records, stats.unknown_records), (0, 1), "{expected:#?}");
    for chunk_bytes in [1, 8, 13, big.len()] {
        let stats = Stats { is_big_endian: true, ..stats };
        assert_eq!(read(&big, chunk_bytes), (expected.clone(), stats));
    }
    let truncated = &big[..big.len() - 4];
    assert_eq!(read(truncated, 16).0.len(), expected.len());
    assert!(read(truncated, 16).0.last().unwrap().contains("Truncated"));
}
