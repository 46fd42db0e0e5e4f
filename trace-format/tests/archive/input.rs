//! Inputs that return few bytes, or fail.

use std::io::{self, Read};

use trace_format::{encode, Arguments, Reader, Writer};

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
struct Broken<'a>(&'a [u8]);

impl Read for Broken<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::other("disk on fire")),
            count => Ok(count),
        }
    }
}

#[test]
fn an_error_of_the_input_is_returned() {
    let bytes = encode::to_bytes(&[MAGIC, 0x0031]);
    let found = lines(Reader::new(Broken(&bytes)));
    assert_eq!(found, ["cannot read the trace at byte 8"]);
}
