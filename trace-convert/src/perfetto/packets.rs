//! Writing of packets, with strings as numbers where they come again.

use std::io::{self, Write};

use prost::encoding::{encode_key, WireType};
use prost::Message;

use super::message::{InternedData, InternedString, TracePacket, TrackDescriptor, TrackEvent};

/// All events are of one sequence: numbers of strings mean the same in all. Packets that are
/// passed on have small numbers.
const SEQUENCE: u32 = 0xff58_5401;
/// The sequence of descriptions. Perfetto takes the thread that one describes
/// for that of all events of its sequence that are of no thread.
const DESCRIPTIONS: u32 = 0xff58_5402;
/// `TracePacket.SequenceFlags`: the numbers of strings begin here.
const STATE_CLEARED: u32 = 1;
/// `TracePacket.SequenceFlags`: the packet has numbers of strings.
const NEEDS_STATE: u32 = 2;
/// The field of `Trace` that packets are.
pub(super) const PACKET: u32 = 1;
/// How much is written at once, in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// What a string is used for: each use has numbers of its own.
#[derive(Debug, Clone, Copy)]
pub(super) enum Use {
    Category,
    Name,
    Annotation,
}

/// The packets that are not written yet, and the strings that have a number.
#[derive(Debug, Default)]
pub(super) struct Packets {
    bytes: Vec<u8>,
    is_started: bool,
    /// The strings that the next packet has to tell.
    told: Option<InternedData>,
    /// Which strings, by their numbers, were told for each use.
    known: [Vec<bool>; 3],
    messages: u64,
    events: u64,
}

impl Packets {
    /// Returns the number of a string, `id` in the catalog.
    #[inline]
    pub(super) fn string(&mut self, used_as: Use, id: u32, text: &str) -> u64 {
        let iid = u64::from(id) + 1;
        let is_known = self.known[used_as as usize].get(id as usize).copied().unwrap_or(false);
        if !is_known {
            self.tell(used_as, id, text);
        }
        iid
    }

    #[cold]
    fn tell(&mut self, used_as: Use, id: u32, text: &str) {
        let (known, place) = (&mut self.known[used_as as usize], id as usize);
        if known.len() <= place {
            known.resize(place + 1, false);
        }
        known[place] = true;
        let told = self.told.get_or_insert_with(InternedData::default);
        let list = match used_as {
            Use::Category => &mut told.event_categories,
            Use::Name => &mut told.event_names,
            Use::Annotation => &mut told.debug_annotation_names,
        };
        list.push(InternedString { iid: Some(u64::from(id) + 1), text: Some(text.to_owned()) });
    }

    /// Returns the number of a log message. No two have the same.
    pub(super) fn log_message(&mut self, text: String) -> u64 {
        self.messages += 1;
        let iid = Some(self.messages);
        let told = self.told.get_or_insert_with(InternedData::default);
        told.log_message_body.push(InternedString { iid, text: Some(text) });
        self.messages
    }

    /// Writes an event.
    #[inline]
    pub(super) fn event(&mut self, nanos: u64, event: TrackEvent) {
        self.events += 1;
        let told = self.told.take();
        self.packet(TracePacket {
            timestamp: Some(nanos),
            track_event: Some(event),
            interned_data: told,
            sequence_flags: Some(NEEDS_STATE),
            ..TracePacket::default()
        });
    }

    /// Returns how many events were written.
    pub(super) fn events(&self) -> u64 {
        self.events
    }

    /// Describes a track.
    pub(super) fn descriptor(&mut self, descriptor: TrackDescriptor) {
        let track_descriptor = Some(descriptor);
        let trusted_packet_sequence_id = Some(DESCRIPTIONS);
        self.write(&TracePacket {
            track_descriptor,
            trusted_packet_sequence_id,
            ..TracePacket::default()
        });
    }

    /// Writes a packet that describes no track.
    #[inline]
    pub(super) fn packet(&mut self, mut packet: TracePacket) {
        packet.trusted_packet_sequence_id = Some(SEQUENCE);
        if !self.is_started {
            self.is_started = true;
            *packet.sequence_flags.get_or_insert(0) |= STATE_CLEARED;
        }
        self.write(&packet);
    }

    /// Passes packets on.
    pub(super) fn pass_on(&mut self, packets: &[u8]) {
        self.bytes.extend_from_slice(packets);
    }

    #[inline]
    fn write(&mut self, packet: &TracePacket) {
        encode_key(PACKET, WireType::LengthDelimited, &mut self.bytes);
        packet.encode_length_delimited(&mut self.bytes).expect("a vector grows as it must");
    }

    /// Writes what there is if it is worth it.
    #[inline]
    pub(super) fn write_full_pieces(&mut self, output: &mut impl Write) -> io::Result<()> {
        match self.bytes.len() < PIECE_BYTES {
            true => Ok(()),
            false => self.write_all(output),
        }
    }

    /// Writes what there is.
    pub(super) fn write_all(&mut self, output: &mut impl Write) -> io::Result<()> {
        output.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}
