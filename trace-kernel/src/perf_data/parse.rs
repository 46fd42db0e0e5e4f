//! The fields of the kernel's records that are no samples.

use super::attribute::Attribute;
use super::fields::Fields;
use super::raw::{
    RawRecord, COMM, EXIT, FORK, LOST, LOST_SAMPLES, MMAP, MMAP2, SWITCH, SWITCH_CPU_WIDE,
    THROTTLE, UNTHROTTLE,
};
use super::sample::sample_id_bytes;
use crate::byte_order::ByteOrder;
use crate::live::perf::record::{Body, Inode, MappedFile};

/// Bits of `misc`. Their meanings depend on the type.
const MISC_MMAP_DATA: u16 = 1 << 13;
const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_FORK_EXEC: u16 = 1 << 13;
const MISC_SWITCH_OUT: u16 = 1 << 13;
const MISC_BUILD_ID: u16 = 1 << 14;
const MISC_SWITCH_OUT_PREEMPT: u16 = 1 << 14;
const MISC_FILTERED: u16 = 1 << 15;

/// The protection of code: readable and executable.
const CODE: u32 = 5;

/// The size of a build id, or of an inode with its device and generation.
const FILE_BYTES: usize = 24;

/// The longest name of a thread in bytes; that of the kernel is shorter.
const MAX_NAME: usize = 63;

/// The longest path in bytes, which is that of Linux.
const MAX_PATH: usize = 4096;

/// Returns whether perf made the record, for a process that existed at the start: the kernel did
/// not copy its creator's mappings then.
pub(super) fn is_made_fork(record: &RawRecord) -> bool {
    record.kind == FORK && record.misc & MISC_FORK_EXEC != 0
}

/// Returns the fields of a record. Returns `None` if it is too short for its type.
pub(super) fn body(record: &RawRecord, attribute: &Attribute, order: ByteOrder) -> Option<Body> {
    let end = record.body.len().checked_sub(sample_id_bytes(attribute))?;
    let mut fields = Fields::new(record.body.get(..end)?, order);
    let misc = record.misc;
    Some(match record.kind {
        SWITCH => switch(misc, None),
        SWITCH_CPU_WIDE => {
            let _process = fields.u32()?;
            switch(misc, Some(fields.u32()?))
        }
        COMM => {
            let (process, thread) = (fields.u32()?, fields.u32()?);
            let is_exec = misc & MISC_COMM_EXEC != 0;
            Body::Comm { process, thread, name: name(fields), is_exec }
        }
        FORK => {
            let (process, creator_process) = (fields.u32()?, fields.u32()?);
            let (thread, creator) = (fields.u32()?, fields.u32()?);
            Body::Fork { process, thread, creator_process, creator }
        }
        EXIT => {
            let (process, _parent) = (fields.u32()?, fields.u32()?);
            Body::Exit { process, thread: fields.u32()? }
        }
        MMAP => mapped(mmap(misc, fields)?),
        MMAP2 => mapped(mmap2(misc, fields)?),
        LOST => {
            let _event = fields.u64()?;
            Body::Lost { number: fields.u64()? }
        }
        LOST_SAMPLES if misc & MISC_FILTERED == 0 => Body::LostSamples { number: fields.u64()? },
        THROTTLE => Body::Throttle { event: stream(fields)? },
        UNTHROTTLE => Body::Unthrottle { event: stream(fields)? },
        _ => Body::Other,
    })
}

/// Returns the number of the event after the time and the id, which inherited events share.
fn stream(mut fields: Fields<'_>) -> Option<u64> {
    fields.u64()?;
    fields.u64()?;
    fields.u64()
}

fn switch(misc: u16, other: Option<u32>) -> Body {
    match misc & MISC_SWITCH_OUT != 0 {
        true => {
            let is_preempted = misc & MISC_SWITCH_OUT_PREEMPT != 0;
            Body::SwitchOut { is_preempted, to: other }
        }
        false => Body::SwitchIn { from: other },
    }
}

/// Returns the name of a thread. The kernel cuts it at a byte, so the last character may be
/// incomplete.
fn name(fields: Fields<'_>) -> Box<str> {
    let bytes = fields.until_zero();
    let bytes = bytes.get(..MAX_NAME).unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(name) => name.into(),
        Err(error) => {
            String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default()).into()
        }
    }
}

/// Only code is used.
fn mapped(file: MappedFile) -> Body {
    match file.protection & 4 {
        0 => Body::Other,
        _ => Body::Mmap(Box::new(file)),
    }
}

fn mmap(misc: u16, mut fields: Fields<'_>) -> Option<MappedFile> {
    let (process, _thread) = (fields.u32()?, fields.u32()?);
    let (start, length, offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let protection = if misc & MISC_MMAP_DATA == 0 { CODE } else { 0 };
    let (build_id, path) = ([].into(), path(fields));
    Some(MappedFile { process, start, length, offset, protection, build_id, inode: None, path })
}

fn mmap2(misc: u16, mut fields: Fields<'_>) -> Option<MappedFile> {
    let (process, _thread) = (fields.u32()?, fields.u32()?);
    let (start, length, offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let mut file = Fields::new(fields.bytes(FILE_BYTES)?, fields.order);
    let (build_id, inode) = match misc & MISC_BUILD_ID {
        0 => {
            let (major, minor, number) = (file.u32()?, file.u32()?, file.u64()?);
            ([].into(), Some(Inode { major, minor, number }))
        }
        _ => (build_id(file.rest)?.into(), None),
    };
    let (protection, _flags) = (fields.u32()?, fields.u32()?);
    let path = path(fields);
    Some(MappedFile { process, start, length, offset, protection, build_id, inode, path })
}

/// Returns the id: its size, three bytes, and up to 20 bytes of it.
fn build_id(file: &[u8]) -> Option<&[u8]> {
    let (size, rest) = file.split_first()?;
    rest.get(3..)?.get(..usize::from(*size))
}

fn path(fields: Fields<'_>) -> Box<[u8]> {
    let path = fields.until_zero();
    path.get(..MAX_PATH).unwrap_or(path).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn longs(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn parsed(kind: u32, misc: u16, bytes: &[u8]) -> Option<Body> {
        let record = RawRecord { kind, misc, body: bytes.into(), offset: 0 };
        body(&record, &Attribute::default(), ByteOrder::Little)
    }

    #[test]
    fn records_have_the_fields_of_their_types() {
        let comm = [words(&[10, 11]), b"na\xC3\0\0".to_vec()].concat();
        let name = |is_exec| Body::Comm { process: 10, thread: 11, name: "na".into(), is_exec };
        let cases = [
            (SWITCH, 0, vec![], Body::SwitchIn { from: None }, 0),
            (SWITCH, 3 << 13, vec![], Body::SwitchOut { is_preempted: true, to: None }, 0),
            (SWITCH_CPU_WIDE, 0, words(&[8, 9]), Body::SwitchIn { from: Some(9) }, 8),
            (COMM, 1 << 13, comm, name(true), 8),
            (
                FORK,
                0,
                words(&[20, 10, 21, 11, 0, 0]),
                Body::Fork { process: 20, thread: 21, creator_process: 10, creator: 11 },
                16,
            ),
            (EXIT, 0, words(&[10, 1, 11, 1]), Body::Exit { process: 10, thread: 11 }, 12),
            (LOST, 0, longs(&[7, 5]), Body::Lost { number: 5 }, 16),
            (LOST_SAMPLES, 0, longs(&[5]), Body::LostSamples { number: 5 }, 8),
            (LOST_SAMPLES, MISC_FILTERED, longs(&[5]), Body::Other, 0),
            (THROTTLE, 0, longs(&[77, 5, 6]), Body::Throttle { event: 6 }, 24),
            (UNTHROTTLE, 0, longs(&[77, 5, 6]), Body::Unthrottle { event: 6 }, 24),
            (99, 0, vec![], Body::Other, 0),
        ];
        for (kind, misc, bytes, expected, required) in cases {
            for length in 0..required {
                assert_eq!(parsed(kind, misc, &bytes[..length]), None, "{kind}: {length}");
            }
            assert_eq!(parsed(kind, misc, &bytes), Some(expected), "{kind}");
        }
    }

    #[test]
    fn mappings_of_data_are_left_out() {
        let place = [words(&[10, 11]), longs(&[0x1000, 0x2000, 0x3000])].concat();
        let path = b"/bin/x\0\0".to_vec();
        let file = MappedFile {
            process: 10,
            start: 0x1000,
            length: 0x2000,
            offset: 0x3000,
            protection: CODE,
            build_id: [].into(),
            inode: None,
            path: b"/bin/x"[..].into(),
        };
        let first = [place.clone(), path.clone()].concat();
        assert_eq!(parsed(MMAP, 0, &first), Some(Body::Mmap(Box::new(file.clone()))));
        assert_eq!(parsed(MMAP, MISC_MMAP_DATA, &first), Some(Body::Other));
        let second = |protection, inode: &[u8]| {
            [&place[..], inode, &words(&[protection, 2]), &path[..]].concat()
        };
        let inode = [words(&[1, 2]), longs(&[3, 4])].concat();
        assert_eq!(parsed(MMAP2, 0, &second(3, &inode)), Some(Body::Other));
        let inode_of = Inode { major: 1, minor: 2, number: 3 };
        let mapped = MappedFile { inode: Some(inode_of), ..file.clone() };
        assert_eq!(parsed(MMAP2, 0, &second(5, &inode)), Some(Body::Mmap(Box::new(mapped))));
        let mut id = [0; FILE_BYTES];
        id[..6].copy_from_slice(&[2, 0, 0, 0, 0xab, 0xcd]);
        let mapped = MappedFile { build_id: [0xab, 0xcd].into(), ..file };
        let found = parsed(MMAP2, MISC_BUILD_ID, &second(5, &id));
        assert_eq!(found, Some(Body::Mmap(Box::new(mapped))));
        id[0] = 21;
        assert_eq!(parsed(MMAP2, MISC_BUILD_ID, &second(5, &id)), None);
    }
}
