//! The parts of an exported file, to write it in other ways.

use trace_insntrace::pt::{Packet, PacketDecoder};

/// Types of records.
const HEADER_ATTR: u32 = 64;
const AUXTRACE_INFO: u32 = 70;
const AUXTRACE: u32 = 71;

/// The place of the number of bytes of records in the header.
const DATA_BYTES_PLACE: usize = 48;

/// The place of the flag for snapshots in the record `AUXTRACE_INFO`: behind the record's header,
/// its type, and eight numbers.
const SNAPSHOT_PLACE: usize = 8 + 8 + 8 * 8;

/// A file that `perf_data::write` has written.
#[derive(Clone)]
pub(crate) struct Exported {
    /// The header, the id of the event, the event, and the place of its id.
    header: Vec<u8>,
    info: Vec<u8>,
    /// The records of AUX data, and the data.
    buffers: Vec<(Vec<u8>, Vec<u8>)>,
    rest: Vec<u8>,
}

fn long(bytes: &[u8], place: usize) -> u64 {
    u64::from_le_bytes(*bytes[place..].first_chunk().unwrap())
}

impl Exported {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let (header, mut records) = bytes.split_at(long(bytes, 40) as usize);
        let (mut info, mut buffers, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(head) = records.first_chunk::<8>() {
            let kind = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
            let size = u16::from_le_bytes([head[6], head[7]]);
            let (record, behind) = records.split_at(size.into());
            records = behind;
            match kind {
                AUXTRACE_INFO => info = record.to_vec(),
                AUXTRACE => {
                    let (packets, behind) = records.split_at(long(record, 8) as usize);
                    records = behind;
                    buffers.push((record.to_vec(), packets.to_vec()));
                }
                _ => rest.extend(record),
            }
        }
        Self { header: header.to_vec(), info, buffers, rest }
    }

    fn records(&self) -> Vec<u8> {
        let buffers = self.buffers.iter().flat_map(|(record, packets)| [&record[..], packets]);
        [&self.info[..], &buffers.collect::<Vec<_>>().concat(), &self.rest].concat()
    }

    pub(crate) fn file(&self) -> Vec<u8> {
        let (mut header, records) = (self.header.clone(), self.records());
        header[DATA_BYTES_PLACE..][..8].copy_from_slice(&(records.len() as u64).to_le_bytes());
        [header, records].concat()
    }

    /// Returns the file as perf writes it to a pipe.
    pub(crate) fn pipe(&self) -> Vec<u8> {
        let header_bytes = long(&self.header, 8) as usize;
        let (id, event) = self.header[header_bytes..].split_at(8);
        let event = &event[..event.len() - 16];
        let size = 8 + event.len() as u16 + 8;
        let head = [&HEADER_ATTR.to_le_bytes()[..], &[0, 0], &size.to_le_bytes()].concat();
        let magic = [&self.header[..8], &16_u64.to_le_bytes()].concat();
        [&magic[..], &head, event, id, &self.records()].concat()
    }

    /// Returns the file with snapshots in place of the packets of each buffer: each has so many
    /// bytes, or fewer, and ends so many bytes behind the one before, or later.
    pub(crate) fn snapshots(mut self, size: usize, distance: usize) -> Self {
        self.info[SNAPSHOT_PLACE..][..8].copy_from_slice(&1_u64.to_le_bytes());
        let cut = |(record, packets): (Vec<u8>, Vec<u8>)| {
            let snapshots = cut(&packets, size, distance).into_iter();
            snapshots.map(move |packets| {
                let mut record = record.clone();
                record[8..16].copy_from_slice(&(packets.len() as u64).to_le_bytes());
                (record, packets)
            })
        };
        self.buffers = self.buffers.into_iter().flat_map(cut).collect();
        self
    }
}

/// Cuts packets into snapshots, which end where tracing is off.
fn cut(packets: &[u8], size: usize, distance: usize) -> Vec<Vec<u8>> {
    let mut decoder = PacketDecoder::new();
    decoder.push(packets);
    decoder.end();
    let (mut ends, mut last, mut is_off) = (Vec::new(), 0, false);
    decoder
        .visit(|at| {
            let offset = at.offset as usize;
            if is_off && offset >= last + distance {
                ends.push(offset);
                last = offset;
            }
            is_off = matches!(at.packet, Packet::TipPgd(_));
        })
        .unwrap();
    ends.push(packets.len());
    let snapshot = |end: usize| {
        let mut snapshot = packets[end.saturating_sub(size)..end].to_vec();
        snapshot.resize(snapshot.len().next_multiple_of(8), 0);
        snapshot
    };
    ends.into_iter().map(snapshot).collect()
}
