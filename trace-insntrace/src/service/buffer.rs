//! A trace buffer: its chunks and its side data.

use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{getrlimit, Resource};

use super::chunk::Chunk;
use crate::controller::{BufferConfig, BufferDescriptor, BufferState, Losses, SideData, Status};
use crate::pt;
use crate::recording::{notes_to_archive, Note, SpaceId, TraceId};

/// The most bytes of side data of a buffer. Tracing of its thread stops there.
const MAX_SIDE_BYTES: u64 = 64 << 20;

/// The number of address spaces of a buffer.
const SPACES: u32 = 1 << 24;

/// The descriptors that are kept for other uses than chunks.
const RESERVED_FILES: u64 = 256;

/// Fails if, beside buffers of these numbers of bytes and chunks, another one exceeds the limits.
pub(super) fn check_limits(
    buffers: impl Iterator<Item = (u64, u64)>,
    config: &BufferConfig,
    most_bytes: u64,
) -> Result<(), Status> {
    let (bytes, chunks) = buffers.fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let new = u64::from(config.num_chunks);
    let has_memory = bytes + new * config.chunk_bytes() <= most_bytes;
    let has_files = chunks + new <= files.saturating_sub(RESERVED_FILES);
    (has_memory && has_files).then_some(()).ok_or(Status::NoMemory)
}

/// Chunks of shared memory, and what is required to decode them.
#[derive(Debug)]
pub(super) struct Buffer {
    trace: TraceId,
    is_circular: bool,
    chunk_bytes: u64,
    chunks: Vec<Chunk>,
    /// The number of bytes written so far. Of a circular buffer the last ones are left.
    written: u64,
    /// Whether packets did not fit.
    has_ended: bool,
    /// Whether tracing of its thread has failed.
    has_failed: bool,
    notes: Vec<Note>,
    note_bytes: u64,
    next_space: u32,
    losses: Losses,
}

/// Where the packets and the address spaces of a tracer begin in its buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    offset: u64,
    space: u32,
}

impl Buffer {
    pub(super) fn new(descriptor: BufferDescriptor, config: &BufferConfig) -> io::Result<Self> {
        let chunk_bytes = config.chunk_bytes();
        let chunks = (0..config.num_chunks).map(|_| Chunk::new(chunk_bytes));
        Ok(Self {
            trace: TraceId(descriptor.0),
            is_circular: config.is_circular,
            chunk_bytes,
            chunks: chunks.collect::<io::Result<_>>()?,
            written: 0,
            has_ended: false,
            has_failed: false,
            notes: Vec::new(),
            note_bytes: 0,
            next_space: descriptor.0 * SPACES,
            losses: Losses::default(),
        })
    }

    /// Returns the number of bytes and of chunks.
    pub(super) fn size(&self) -> (u64, u64) {
        (self.bytes(), self.chunks.len() as u64)
    }

    fn bytes(&self) -> u64 {
        self.chunk_bytes * self.chunks.len() as u64
    }

    /// Returns whether no more packets can be written.
    pub(super) fn is_full(&self) -> bool {
        self.has_ended || self.note_bytes > MAX_SIDE_BYTES
    }

    /// Tracing of its thread has failed: later packets are missing.
    pub(super) fn fail(&mut self) {
        self.has_failed = true;
    }

    /// Returns whether tracing has failed since it was started last.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    pub(super) fn state(&self) -> BufferState {
        self.state_after(0, Losses::default())
    }

    /// Returns the state after so many more bytes of packets, of which these are missing.
    pub(super) fn state_after(&self, bytes: u64, missing: Losses) -> BufferState {
        let fits = self.is_circular || self.written.saturating_add(bytes) <= self.bytes();
        BufferState {
            capture_end: self.capture_end_after(bytes),
            is_full: self.is_full() || !fits,
            losses: self.losses + missing,
        }
    }

    fn capture_end(&self) -> u64 {
        self.capture_end_after(0)
    }

    /// Returns the offset behind the newest packet after so many more bytes.
    fn capture_end_after(&self, bytes: u64) -> u64 {
        let written = self.written.saturating_add(bytes);
        match self.is_circular {
            true => written.checked_rem(self.bytes()).unwrap_or(0),
            false => written.min(self.bytes()),
        }
    }

    /// Returns the origin of a tracer that starts now.
    pub(super) fn begin(&mut self) -> Origin {
        self.has_failed = false;
        Origin { offset: self.written, space: self.next_space }
    }

    /// Appends a note of a tracer, whose only trace is that of the buffer.
    pub(super) fn note(&mut self, origin: Origin, mut note: Note) {
        match &mut note {
            Note::Thread { trace, .. } | Note::End { trace, .. } => *trace = self.trace,
            Note::Mapping { space, .. } | Note::Code { space, .. } => self.renumber(origin, space),
            Note::Position { trace, offset, space } => {
                *trace = self.trace;
                *offset += origin.offset;
                self.renumber(origin, space);
            }
        }
        self.note_bytes += note.bytes();
        self.notes.push(note);
    }

    /// Appends a note of packets that were written already. Without space for its code, the code is
    /// left out, and the buffer is full.
    pub(super) fn note_within(&mut self, origin: Origin, note: Note) {
        let bytes = self.note_bytes + note.bytes();
        if matches!(note, Note::Code { .. }) && bytes > MAX_SIDE_BYTES {
            self.has_ended = true;
        } else {
            self.note(origin, note);
        }
    }

    /// Adds what is missing of the packets and the notes.
    pub(super) fn lose(&mut self, losses: Losses) {
        self.losses = self.losses + losses;
    }

    fn renumber(&mut self, origin: Origin, space: &mut SpaceId) {
        space.0 += origin.space;
        self.next_space = self.next_space.max(space.0 + 1);
    }

    /// Appends packets: over the oldest ones, or as many as fit.
    pub(super) fn write(&mut self, packets: &[u8]) {
        if self.is_full() {
            return;
        }
        let space = self.bytes().saturating_sub(self.written);
        let space = usize::try_from(space).unwrap_or(usize::MAX);
        if self.is_circular || packets.len() <= space {
            return self.write_bytes(packets);
        }
        self.has_ended = true;
        self.write_bytes(whole_packets(packets, space));
    }

    fn write_bytes(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let at = self.capture_end();
            let index = usize::try_from(at / self.chunk_bytes).unwrap_or(usize::MAX);
            let Some(chunk) = self.chunks.get(index) else { return };
            let offset = at % self.chunk_bytes;
            let space = usize::try_from(self.chunk_bytes - offset).unwrap_or(usize::MAX);
            let (now, rest) = bytes.split_at(space.min(bytes.len()));
            chunk.write_at(now, offset);
            self.written += now.len() as u64;
            bytes = rest;
        }
    }

    /// Returns a read-only descriptor of a chunk.
    pub(super) fn chunk(&self, number: u32) -> io::Result<OwnedFd> {
        let chunk = self.chunks.get(number as usize).ok_or(io::ErrorKind::InvalidInput)?;
        chunk.handle()
    }

    pub(super) fn side_data(&self) -> io::Result<SideData<OwnedFd>> {
        let archive = notes_to_archive(&self.notes).map_err(io::Error::other)?;
        let file = Chunk::new(archive.len() as u64)?;
        file.write_at(&archive, 0);
        Ok(SideData { written: self.written, losses: self.losses, archive: file.handle()? })
    }

    /// Frees the memory. That of a chunk is free when its handles are closed, too.
    pub(super) fn free(&mut self) {
        (self.chunks, self.notes) = (Vec::new(), Vec::new());
    }
}

/// Returns the first packets, as many as `space` bytes hold.
fn whole_packets(packets: &[u8], space: usize) -> &[u8] {
    let mut end = 0;
    while let Ok((_, size)) = pt::decode::packet(packets.get(end..).unwrap_or_default()) {
        if end + size > space {
            break;
        }
        end += size;
    }
    packets.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs::{File, Permissions};
    use std::io::Read;
    use std::os::fd::{AsFd, AsRawFd};
    use std::os::unix::fs::{FileExt, PermissionsExt};

    use rustix::fs::{fallocate, FallocateFlags};
    use trace_protocol::buffer::memory::WriteMapping;

    use super::*;

    fn buffer(is_circular: bool) -> Buffer {
        let config = BufferConfig {
            num_chunks: 2,
            chunk_order: 0,
            is_circular,
            ctl: 0,
            address_space_match: 0,
            address_ranges: [(0, 0); 2],
        };
        Buffer::new(BufferDescriptor(3), &config).unwrap()
    }

    fn contents(buffer: &Buffer) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in 0..2 {
            File::from(buffer.chunk(number).unwrap()).read_to_end(&mut bytes).unwrap();
        }
        bytes
    }

    #[test]
    fn a_buffer_stops_at_its_end() {
        let mut buffer = buffer(false);
        let mut packet = Vec::new();
        pt::encode::append(&mut packet, &pt::Packet::Tsc(7));
        assert_eq!(packet.len(), 8);
        buffer.write(&[0; 5]);
        assert_eq!((buffer.capture_end(), buffer.is_full()), (5, false));
        buffer.write(&packet.repeat(2000));
        // 1023 packets fit, and no part of another one.
        assert_eq!((buffer.capture_end(), buffer.is_full()), (8189, true));
        buffer.write(&[1]);
        assert!(buffer.state().is_full);
        let expected = [&[0; 5][..], &packet.repeat(1023), &[0; 3]].concat();
        assert!(contents(&buffer) == expected);
    }

    #[test]
    fn a_circular_buffer_has_the_newest_bytes() {
        let mut buffer = buffer(true);
        for (value, count) in [(1, 8192), (2, 5000), (3, 1)] {
            buffer.write(&vec![value; count]);
        }
        assert_eq!((buffer.capture_end(), buffer.is_full()), (5001, false));
        assert_eq!(contents(&buffer), [&[2; 5000][..], &[3], &[1; 3191]].concat());
        assert_eq!(buffer.side_data().unwrap().written, 13_193);
    }

    #[test]
    fn code_beyond_the_limit_is_left_out_and_packets_stay() {
        let mut buffer = buffer(false);
        let origin = buffer.begin();
        buffer.write(&[7; 10]);
        let space = SpaceId(0);
        let code = |bytes: usize| Note::Code { space, address: 0, bytes: vec![0; bytes] };
        let position = || Note::Position { trace: TraceId(0), offset: 5, space };
        let size = MAX_SIDE_BYTES as usize - 200;
        for note in [code(size), position(), code(1), position()] {
            buffer.note_within(origin, note);
        }
        let kinds = buffer.notes.iter().map(|note| matches!(note, Note::Code { .. }));
        assert_eq!(kinds.collect::<Vec<_>>(), [true, false, false]);
        assert!(buffer.is_full());
        assert_eq!(buffer.side_data().unwrap().written, 10);
        assert_eq!(contents(&buffer)[..11], [&[7; 10][..], &[0]].concat());
    }

    #[test]
    fn no_client_can_write_to_a_chunk() {
        let mut buffer = buffer(false);
        buffer.write(&[1]);
        let handle = File::from(buffer.chunk(0).unwrap());
        assert!(handle.write_at(&[2], 0).is_err());
        // It belongs to the user of the service, who may change its mode.
        handle.set_permissions(Permissions::from_mode(0o600)).unwrap();
        let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
        if let Ok(opened) = File::options().read(true).write(true).open(path) {
            assert!(opened.write_at(&[2], 0).is_err());
            assert!(opened.set_len(0).is_err(), "the size is sealed");
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            assert!(fallocate(&opened, hole, 0, 4096).is_err());
            assert!(WriteMapping::map(opened.as_fd(), 4096).is_err());
        }
        buffer.write(&[3]);
        let mut bytes = [9; 3];
        handle.read_at(&mut bytes, 0).unwrap();
        assert_eq!(bytes, [1, 3, 0], "the service writes on");
        buffer.free();
        handle.read_at(&mut bytes, 0).unwrap();
        assert_eq!(bytes, [1, 3, 0], "a handle keeps its memory");
    }

    #[test]
    fn numbers_of_a_second_tracer_follow_those_of_the_first() {
        let mut buffer = buffer(false);
        let position = |offset, space| Note::Position { trace: TraceId(0), offset, space };
        let first = buffer.begin();
        buffer.note(first, position(0, SpaceId(0)));
        buffer.note(first, position(7, SpaceId(1)));
        buffer.write(&[1; 10]);
        let second = buffer.begin();
        buffer.note(second, position(0, SpaceId(0)));
        let of = |offset, space| Note::Position {
            trace: TraceId(3),
            offset,
            space: SpaceId(3 * SPACES + space),
        };
        assert_eq!(buffer.notes, [of(0, 0), of(7, 1), of(10, 2)]);
    }
}
