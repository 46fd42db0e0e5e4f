//! Inputs that return few bytes, or fail.

use std::error::Error;
use std::io::{self, Read};

use trace_format::{encode, Arguments, Limits, Reader, Writer};

use crate::{event, lines, MAGIC};

/// An input that returns a few bytes at a time, and is interrupted at every third call.
struct Dribble<'a>(&'a [u8], usize);

impl Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 += 1;
        if self.1 % 3 == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let count = buffer.len().min(self.1 % 11 + 1);
        self.0.read(&mut buffer[..count])
    }
}

#[test]
fn small_reads_return_the_same_records() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for n in 0..1000 {
        let long = "x".repeat(n as usize % 700);
        writer.record(&event(n, "net", &long, Arguments::NONE)).unwrap();
    }
    let archive = writer.into_inner();
    let expected = lines(Reader::new(&*archive));
    assert_eq!(expected.len(), 1000);
    assert_eq!(lines(Reader::new(Dribble(&archive, 0))), expected);
}

/// An input that fails at its end.
struct Broken<'a>(&'a [u8], io::ErrorKind);

impl Read for Broken<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(self.1.into()),
            count => Ok(count),
        }
    }
}

#[test]
fn an_error_of_the_input_is_returned() {
    let bytes = encode::to_bytes(&[MAGIC, 0x0031]);
    let first_error = |bytes, kind| {
        let mut reader = Reader::new(Broken(bytes, kind));
        let error = loop {
            if let Err(error) = reader.next() {
                break error;
            }
        };
        assert!(reader.next().unwrap().is_none(), "nothing follows a fatal error");
        assert!(error.to_string().starts_with("cannot read the trace at byte "), "{error}");
        assert_eq!(error.source().unwrap().to_string(), io::Error::from(kind).to_string());
        (error.is_fatal(), error.is_input_error())
    };
    let (early, other) = (io::ErrorKind::UnexpectedEof, io::ErrorKind::PermissionDenied);
    assert_eq!(first_error(&bytes, early), (true, false));
    assert_eq!(first_error(&bytes, other), (true, true));
    assert_eq!(first_error(&[], early), (true, true));
}

#[test]
fn an_error_within_a_skipped_record_has_its_offset() {
    let mut words = vec![MAGIC, 0x0000_0100_001f_004f];
    words.resize(100_000, 0);
    let bytes = encode::to_bytes(&words);
    let limits = Limits { record_bytes: 1 << 16, ..Limits::default() };
    let input = Broken(&bytes, io::ErrorKind::TimedOut);
    let found = lines(Reader::with_limits(input, limits));
    assert_eq!(found, ["cannot read the trace at byte 8"]);
}
