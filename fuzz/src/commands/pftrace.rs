//! `trace convert` to Perfetto's own format.

use std::collections::HashSet;

use prost::Message;
use trace_convert::perfetto;
use trace_format::layout::BlobType;
use trace_format::{Reader, Record};

use super::written;
use crate::archive::archive;

/// The exporter's own sequences, of events, descriptions and samples. Packets of others are passed
/// on from blobs.
const SEQUENCES: [u32; 3] = [0xff58_5401, 0xff58_5402, SAMPLES];

/// The sequence of samples.
const SAMPLES: u32 = 0xff58_5403;

/// The flag of the packet with which the numbers of strings begin.
const STATE_CLEARED: u32 = 1;

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(bytes = "vec", repeated, tag = "1")]
    packets: Vec<Vec<u8>>,
}

/// The field of a packet that names its sequence.
#[derive(Clone, PartialEq, Message)]
struct Sequence {
    #[prost(uint32, optional, tag = "10")]
    id: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
struct Packet {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    sequence: u32,
    #[prost(message, optional, tag = "11")]
    event: Option<Event>,
    #[prost(message, optional, tag = "12")]
    strings: Option<Strings>,
    #[prost(uint32, optional, tag = "13")]
    flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    track: Option<Track>,
    #[prost(message, optional, tag = "66")]
    sample: Option<Sample>,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, optional, tag = "4")]
    stack: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(uint64, repeated, tag = "3")]
    categories: Vec<u64>,
    #[prost(message, repeated, tag = "4")]
    annotations: Vec<Annotation>,
    #[prost(uint64, optional, tag = "10")]
    name: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    track: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Annotation {
    #[prost(uint64, optional, tag = "1")]
    name: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Strings {
    #[prost(message, repeated, tag = "1")]
    categories: Vec<Numbered>,
    #[prost(message, repeated, tag = "2")]
    names: Vec<Numbered>,
    #[prost(message, repeated, tag = "3")]
    annotations: Vec<Numbered>,
    #[prost(message, repeated, tag = "5")]
    functions: Vec<Numbered>,
    #[prost(message, repeated, tag = "6")]
    frames: Vec<Frame>,
    #[prost(message, repeated, tag = "7")]
    stacks: Vec<Stack>,
    #[prost(message, repeated, tag = "18")]
    sources: Vec<Numbered>,
    #[prost(message, repeated, tag = "19")]
    mappings: Vec<Mapping>,
}

#[derive(Clone, PartialEq, Message)]
struct Frame {
    #[prost(uint64, tag = "1")]
    number: u64,
    #[prost(uint64, tag = "2")]
    function: u64,
    #[prost(uint64, tag = "3")]
    mapping: u64,
    #[prost(uint64, optional, tag = "5")]
    source: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Stack {
    #[prost(uint64, tag = "1")]
    number: u64,
    #[prost(uint64, repeated, packed = "false", tag = "2")]
    frames: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Mapping {
    #[prost(uint64, tag = "1")]
    number: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Numbered {
    #[prost(uint64, tag = "1")]
    number: u64,
    #[prost(string, tag = "2")]
    text: String,
}

#[derive(Clone, PartialEq, Message)]
struct Track {
    #[prost(uint64, tag = "1")]
    uuid: u64,
    #[prost(uint64, optional, tag = "5")]
    parent: Option<u64>,
}

/// Takes bytes for an archive: it becomes packets that refer only to strings that came before, and
/// to tracks that are described.
pub fn pftrace(bytes: &[u8]) {
    let archive = archive(bytes);
    let output = written(&archive, |output| {
        perfetto::write(Reader::new(&archive[..]), output).expect("it starts as archives do");
    });
    let trace = Trace::decode(&output[..]).expect("it is a trace of Perfetto's");
    let own = trace.packets.iter().filter(|packet| is_own(packet));
    let own: Vec<_> = own
        .map(|packet| Packet::decode(&packet[..]).expect("it is a packet of Perfetto's"))
        .collect();
    assert!(own.len() == trace.packets.len() || has_packets(&archive));
    let tracks = own.iter().filter_map(|packet| Some(packet.track.as_ref()?.uuid));
    let mut seen = Seen { tracks: tracks.collect(), ..Seen::default() };
    own.iter().for_each(|packet| seen.packet(packet));
}

fn is_own(packet: &[u8]) -> bool {
    let id = Sequence::decode(packet).ok().and_then(|sequence| sequence.id);
    id.is_some_and(|id| SEQUENCES.contains(&id))
}

/// Returns whether blobs of an archive may have packets of any form.
fn has_packets(archive: &[u8]) -> bool {
    let mut reader = Reader::new(archive);
    loop {
        match reader.next() {
            Ok(Some(item)) => match item.record {
                Record::Blob(blob) if blob.blob_type == BlobType::PERFETTO => return true,
                _ => {}
            },
            Ok(None) => return false,
            Err(_) => {}
        }
    }
}

/// What packets may refer to.
#[derive(Default)]
struct Seen {
    is_cleared: bool,
    tracks: HashSet<u64>,
    categories: HashSet<u64>,
    names: HashSet<u64>,
    annotations: HashSet<u64>,
    samples: SeenOfSamples,
}

/// What samples may refer to.
#[derive(Default)]
struct SeenOfSamples {
    is_cleared: bool,
    functions: HashSet<u64>,
    sources: HashSet<u64>,
    mappings: HashSet<u64>,
    frames: HashSet<u64>,
    stacks: HashSet<u64>,
}

impl SeenOfSamples {
    fn packet(&mut self, packet: &Packet) {
        if packet.flags.unwrap_or(0) & STATE_CLEARED != 0 {
            *self = Self { is_cleared: true, ..Self::default() };
        }
        if let Some(strings) = &packet.strings {
            self.functions.extend(strings.functions.iter().map(|one| one.number));
            self.sources.extend(strings.sources.iter().map(|one| one.number));
            self.mappings.extend(strings.mappings.iter().map(|one| one.number));
            strings.frames.iter().for_each(|frame| self.frame(frame));
            for Stack { number, frames } in &strings.stacks {
                assert!(frames.iter().all(|frame| self.frames.contains(frame)), "{packet:?}");
                self.stacks.insert(*number);
            }
        }
        let sample = packet.sample.as_ref().expect("the sequence has samples only");
        assert!(packet.timestamp.is_some() && self.is_cleared, "{packet:?}");
        assert!(sample.stack.is_none_or(|stack| self.stacks.contains(&stack)), "{packet:?}");
    }

    fn frame(&mut self, frame: &Frame) {
        assert!(self.functions.contains(&frame.function), "{frame:?}");
        assert!(self.mappings.contains(&frame.mapping), "{frame:?}");
        assert!(frame.source.is_none_or(|source| self.sources.contains(&source)), "{frame:?}");
        self.frames.insert(frame.number);
    }
}

impl Seen {
    fn packet(&mut self, packet: &Packet) {
        if packet.sequence == SAMPLES {
            return self.samples.packet(packet);
        }
        self.is_cleared |= packet.flags.unwrap_or(0) & STATE_CLEARED != 0;
        if let Some(track) = &packet.track {
            assert!(track.parent.is_none_or(|parent| self.tracks.contains(&parent)), "{track:?}");
        }
        if let Some(Strings { categories, names, annotations, .. }) = &packet.strings {
            let numbers = |list: &[Numbered]| list.iter().map(|one| one.number).collect::<Vec<_>>();
            self.categories.extend(numbers(categories));
            self.names.extend(numbers(names));
            self.annotations.extend(numbers(annotations));
        }
        if let Some(event) = &packet.event {
            assert!(packet.timestamp.is_some() && self.is_cleared, "{packet:?}");
            self.event(event);
        }
    }

    fn event(&self, event: &Event) {
        assert!(event.track.is_some_and(|track| self.tracks.contains(&track)), "{event:?}");
        assert!(
            event.categories.iter().all(|number| self.categories.contains(number)),
            "{event:?}"
        );
        assert!(event.name.is_none_or(|number| self.names.contains(&number)), "{event:?}");
        let mut names = event.annotations.iter().filter_map(|annotation| annotation.name);
        assert!(names.all(|number| self.annotations.contains(&number)), "{event:?}");
    }
}
