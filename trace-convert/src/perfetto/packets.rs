//! Packets with interned strings.

use std::io::{self, Write};

use prost::encoding::{encode_key, encode_varint, WireType};
use prost::Message;

use super::message::{
    EndPacket, EventPacket, InternedData, InternedString, Kind, PerfSample, PerfSampleDefaults,
    SliceEnd, Timebase, TracePacket, TracePacketDefaults, TrackDescriptor, TrackEvent,
};

/// The sequence of all events, which share interned strings. Embedded packets have small sequence
/// ids.
const SEQUENCE: u32 = 0xff58_5401;
/// The sequence of descriptors. For Perfetto, the thread of a descriptor is the default thread of
/// its sequence's events.
const DESCRIPTIONS: u32 = 0xff58_5402;
/// The sequence of samples, which have their own interned data.
const SAMPLES: u32 = 0xff58_5403;
/// `TracePacket.SequenceFlags`: the packet resets the interned strings.
const STATE_CLEARED: u32 = 1;
/// `TracePacket.SequenceFlags`: the packet uses interned strings.
const NEEDS_STATE: u32 = 2;
/// The field of packets in `Trace`.
pub(super) const PACKET: u32 = 1;
/// The size of the writes to the output, in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// The use of a string. Each use has its own table of interned strings.
#[derive(Debug, Clone, Copy)]
pub(super) enum Use {
    Category,
    Name,
    Annotation,
}

/// The packets that are not written yet, and the interned strings.
#[derive(Debug, Default)]
pub(super) struct Packets {
    bytes: Vec<u8>,
    /// The last packet.
    packet: Vec<u8>,
    is_started: bool,
    /// The strings that the next packet interns.
    new_strings: Option<Box<InternedData>>,
    /// Whether each string of the catalog is interned, for each use.
    interned: [Vec<bool>; 3],
    messages: u64,
    events: u64,
}

impl Packets {
    /// Returns the interned id of the string with `id` in the catalog.
    #[inline]
    pub(super) fn string<'t>(
        &mut self,
        used_as: Use,
        id: u32,
        text: impl FnOnce() -> &'t str,
    ) -> u64 {
        if self.interned[used_as as usize].get(id as usize) != Some(&true) {
            self.intern(used_as, id, text());
        }
        u64::from(id) + 1
    }

    #[cold]
    fn intern(&mut self, used_as: Use, id: u32, text: &str) {
        let (interned, place) = (&mut self.interned[used_as as usize], id as usize);
        if interned.len() <= place {
            interned.resize(place + 1, false);
        }
        interned[place] = true;
        let data = self.new_strings.get_or_insert_default();
        let list = match used_as {
            Use::Category => &mut data.event_categories,
            Use::Name => &mut data.event_names,
            Use::Annotation => &mut data.debug_annotation_names,
        };
        list.push(InternedString { iid: Some(u64::from(id) + 1), text: Some(text.to_owned()) });
    }

    /// Interns a log message and returns its id. Messages are not compared.
    pub(super) fn log_message(&mut self, text: String) -> u64 {
        self.messages += 1;
        let iid = Some(self.messages);
        let data = self.new_strings.get_or_insert_default();
        data.log_message_body.push(InternedString { iid, text: Some(text) });
        self.messages
    }

    /// Writes an event.
    #[inline]
    pub(super) fn event(&mut self, nanos: u64, event: TrackEvent) {
        self.events += 1;
        let interned_data = self.new_strings.take();
        let sequence_flags = Some(self.flags(NEEDS_STATE));
        self.write(&EventPacket {
            timestamp: Some(nanos),
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_event: Some(event),
            interned_data,
            sequence_flags,
        });
    }

    /// Writes the end of the innermost slice of a track. It uses no string.
    #[inline]
    pub(super) fn slice_end(&mut self, nanos: u64, track_uuid: u64) {
        self.events += 1;
        let sequence_flags = Some(self.flags(NEEDS_STATE));
        let kind = Some(Kind::SliceEnd as i32);
        self.write(&EndPacket {
            timestamp: Some(nanos),
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_event: Some(SliceEnd { kind, track_uuid: Some(track_uuid) }),
            sequence_flags,
        });
    }

    /// Writes a sample. If it is the first one after the interned data were cleared, the packet
    /// clears them.
    pub(super) fn sample(
        &mut self,
        nanos: u64,
        sample: PerfSample,
        interned_data: Option<Box<InternedData>>,
        is_first: bool,
    ) {
        self.events += 1;
        let timebase = Timebase { name: Some("samples".to_owned()) };
        let perf_sample_defaults = Some(PerfSampleDefaults { timebase: Some(timebase) });
        let defaults = || TracePacketDefaults { perf_sample_defaults }.into();
        self.write(&TracePacket {
            timestamp: Some(nanos),
            trusted_packet_sequence_id: Some(SAMPLES),
            sequence_flags: Some(if is_first { STATE_CLEARED | NEEDS_STATE } else { NEEDS_STATE }),
            trace_packet_defaults: is_first.then(defaults),
            interned_data,
            perf_sample: Some(sample),
            ..TracePacket::default()
        });
    }

    /// Returns the number of events so far.
    pub(super) fn events(&self) -> u64 {
        self.events
    }

    /// Writes the descriptor of a track.
    pub(super) fn descriptor(&mut self, descriptor: TrackDescriptor) {
        let track_descriptor = Some(descriptor.into());
        let trusted_packet_sequence_id = Some(DESCRIPTIONS);
        self.write(&TracePacket {
            track_descriptor,
            trusted_packet_sequence_id,
            ..TracePacket::default()
        });
    }

    /// Writes a packet of the events' sequence.
    #[inline]
    pub(super) fn packet(&mut self, mut packet: TracePacket) {
        packet.trusted_packet_sequence_id = Some(SEQUENCE);
        packet.sequence_flags = match self.flags(packet.sequence_flags.unwrap_or(0)) {
            0 => None,
            flags => Some(flags),
        };
        self.write(&packet);
    }

    /// Returns the flags of a packet of the events' sequence.
    #[inline]
    fn flags(&mut self, flags: u32) -> u32 {
        match std::mem::replace(&mut self.is_started, true) {
            true => flags,
            false => flags | STATE_CLEARED,
        }
    }

    /// Copies embedded packets.
    pub(super) fn pass_on(&mut self, packets: &[u8]) {
        self.bytes.extend_from_slice(packets);
    }

    #[inline]
    fn write(&mut self, packet: &impl Message) {
        self.packet.clear();
        packet.encode_raw(&mut self.packet);
        encode_key(PACKET, WireType::LengthDelimited, &mut self.bytes);
        encode_varint(self.packet.len() as u64, &mut self.bytes);
        self.bytes.extend_from_slice(&self.packet);
    }

    /// Writes the packets if there are enough.
    #[inline]
    pub(super) fn write_full_pieces(&mut self, output: &mut impl Write) -> io::Result<()> {
        match self.bytes.len() < PIECE_BYTES {
            true => Ok(()),
            false => self.write_all(output),
        }
    }

    /// Writes the packets.
    pub(super) fn write_all(&mut self, output: &mut impl Write) -> io::Result<()> {
        output.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}
