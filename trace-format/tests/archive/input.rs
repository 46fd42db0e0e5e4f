//! Inputs that return few bytes, or fail.

use std::io::{self, Read};

use trace_format::{encode, Arguments, Reader, Writer};

use crate::{event, lines, MAGIC};

/// Yields an archive in pieces of a few bytes, interrupted now and then.
struct Dribble<'a>(&'a [u8], usize);

impl Read for Dribble<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.1 += 1;
        if self.1 % 3 == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let count = room.len().min(self.1 % 11 + 1);
        self.0.read(&mut room[..count])
    }
}

#[test]
fn an_archive_may_come_in_small_pieces() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for n in 0..1000 {
        let long = "x".repeat(n as usize % 700);
        writer.record(&event(n, "net", &long, Arguments::NONE)).unwrap();
    }
    let archive = writer.into_inner();
    let whole = lines(Reader::new(&*archive));
    assert_eq!(whole.len(), 1000);
    assert_eq!(lines(Reader::new(Dribble(&archive, 0))), whole);
}

/// Fails after some bytes.
struct Broken<'a>(&'a [u8]);

impl Read for Broken<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self.0.read(room)? {
            0 => Err(io::Error::other("disk on fire")),
            count => Ok(count),
        }
    }
}

#[test]
fn an_error_of_the_input_is_passed_on() {
    let bytes = encode::to_bytes(&[MAGIC, 0x0031]);
    let found = lines(Reader::new(Broken(&bytes)));
    assert_eq!(found, ["cannot read the trace at byte 8"]);
}
