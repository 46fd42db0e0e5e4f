//! Instruction traces out of any bytes.

use trace_insntrace::flow::{FlowDecoder, FlowError, Image, Item, Part};
use trace_insntrace::pt::layout::PSB;
use trace_insntrace::pt::{
    decode, encode, Packet, PacketAt, PacketClock, PacketDecoder, PacketError, Timing,
};

/// Where the code of a flow is, and of the corpus.
const BASE: u64 = 0x7f12_3456_7000;

/// What a processor may have, and what only a hostile file has.
const TIMINGS: [Timing; 5] = [
    Timing { mtc_period: 3, crystal: Some((250, 2)), nominal: None },
    Timing { mtc_period: 9, crystal: Some((84, 2)), nominal: Some(30) },
    Timing { mtc_period: 0, crystal: None, nominal: Some(24) },
    Timing { mtc_period: 255, crystal: Some((u32::MAX, 1)), nominal: Some(255) },
    Timing { mtc_period: 15, crystal: Some((1, u32::MAX)), nominal: Some(1) },
];

/// Takes bytes for packets: pieces do not matter, what is decoded is encoded as it was, and each
/// byte is in a packet, in an error, or passed over. Times are those of [`check_times`].
pub fn pt(bytes: &[u8]) {
    let whole = packets(bytes, bytes.len().max(1), take);
    assert_eq!(packets(bytes, 7, take), whole);
    assert_eq!(packets(bytes, 11, visit), whole);
    for at in whole.0.iter().filter_map(|found| found.as_ref().ok()) {
        let mut encoded = Vec::new();
        encode::append(&mut encoded, &at.packet);
        assert_eq!(decode::packet(&encoded), Ok((at.packet, encoded.len())));
    }
    TIMINGS.into_iter().for_each(|timing| check_times(&whole.0, timing));
}

/// Packets have a time from the first time stamp on, which is that of TSC packets, and goes back at
/// TSC and MTC packets only.
fn check_times(found: &Found, timing: Timing) {
    let mut clock = PacketClock::new(timing);
    for packet in found.iter().map(|found| found.as_ref().map(|at| at.packet)) {
        let Ok(packet) = packet else {
            clock.reset();
            continue;
        };
        let before = clock.now();
        let has_time = clock.packet(&packet);
        match packet {
            Packet::Tsc(ticks) => assert_eq!(clock.now(), Some(ticks)),
            Packet::Mtc(_) => assert_eq!(clock.now().is_some(), before.is_some()),
            Packet::Cyc(_) => assert!(clock.now() >= before),
            _ => assert_eq!((clock.now(), has_time), (before, false)),
        }
    }
}

type Found = Vec<Result<PacketAt, PacketError>>;

fn take(decoder: &mut PacketDecoder, found: &mut Found) {
    found.extend(std::iter::from_fn(|| decoder.next_packet()));
}

fn visit(decoder: &mut PacketDecoder, found: &mut Found) {
    while let Err(error) = decoder.visit(|packet| found.push(Ok(packet))) {
        found.push(Err(error));
    }
}

fn packets(bytes: &[u8], size: usize, take: fn(&mut PacketDecoder, &mut Found)) -> (Found, u64) {
    let mut decoder = PacketDecoder::new();
    let mut found = Vec::new();
    for piece in bytes.chunks(size) {
        decoder.push(piece);
        take(&mut decoder, &mut found);
    }
    decoder.end();
    take(&mut decoder, &mut found);
    assert_eq!(decoder.offset(), bytes.len() as u64);
    let offsets = found.iter().map(|found| match found {
        Ok(packet) => packet.offset,
        Err(error) => error.offset,
    });
    assert!(offsets.is_sorted_by(|one, next| one < next));
    (found, decoder.skipped_bytes())
}

/// Takes bytes for a trace, a PSB, and code: the flow ends, and pieces do not matter. Times are
/// those of one of [`TIMINGS`], which the length chooses: decoding is what takes the time here.
pub fn flow(bytes: &[u8]) {
    let split = bytes.windows(PSB.len()).rposition(|window| window == PSB).unwrap_or(0);
    let (trace, code) = bytes.split_at(split);
    let mut image = Image::new();
    image.insert(BASE, code.get(PSB.len()..).unwrap_or_default());
    let whole = items(&image, trace, trace.len().max(1));
    assert_eq!(items(&image, trace, 5), whole);
    assert_eq!(items_of_parts(&image, trace), whole);
    assert_eq!(visited_items(&image, trace), whole);
    check_times_of_items(&image, trace, TIMINGS[bytes.len() % TIMINGS.len()]);
}

/// Times of instructions that MTC and CYC packets refine do not go back but after an error, and do
/// not change what is decoded.
fn check_times_of_items(image: &Image, trace: &[u8], timing: Timing) {
    let mut plain = FlowDecoder::new(image.clone());
    let mut flow = FlowDecoder::new(image.clone()).with_timing(timing);
    [&mut plain, &mut flow].into_iter().for_each(|it| {
        it.push(trace);
        it.end();
    });
    let mut last = None;
    while let Some(item) = flow.next_item() {
        assert_eq!(plain.next_item().as_ref(), Some(&item));
        match item {
            Err(_) => last = None,
            Ok(Item::Event(_)) => {}
            Ok(Item::Instruction(_)) => {
                assert!(flow.tsc() >= last);
                last = flow.tsc();
            }
        }
    }
    assert_eq!(plain.next_item(), None);
}

fn items_of(part: Part<'_>) -> Vec<Result<Item, FlowError>> {
    match part {
        Part::Instructions(part) => part.iter().map(|it| Ok(Item::Instruction(*it))).collect(),
        Part::Event(event) => vec![Ok(Item::Event(event))],
    }
}

/// The same, with several instructions at a time.
fn items_of_parts(image: &Image, trace: &[u8]) -> Vec<Result<Item, FlowError>> {
    let mut flow = FlowDecoder::new(image.clone());
    flow.push(trace);
    let mut items = Vec::new();
    for is_end in [false, true] {
        if is_end {
            flow.end();
        }
        while let Some(part) = flow.next_part() {
            items.extend(part.map_or_else(|error| vec![Err(error)], items_of));
        }
    }
    items
}

/// The same, in another way.
fn visited_items(image: &Image, trace: &[u8]) -> Vec<Result<Item, FlowError>> {
    let mut flow = FlowDecoder::new(image.clone());
    let mut items = Vec::new();
    for piece in trace.chunks(9).map(Some).chain([None]) {
        match piece {
            Some(piece) => flow.push(piece),
            None => flow.end(),
        }
        while let Err(error) = flow.visit(|part, _| items.extend(items_of(part))) {
            items.push(Err(error));
        }
    }
    items
}

fn items(image: &Image, trace: &[u8], size: usize) -> Vec<Result<Item, FlowError>> {
    let mut flow = FlowDecoder::new(image.clone());
    let mut items = Vec::new();
    for piece in trace.chunks(size) {
        flow.push(piece);
        items.extend(std::iter::from_fn(|| flow.next_item()));
    }
    flow.end();
    items.extend(std::iter::from_fn(|| flow.next_item()));
    items
}
