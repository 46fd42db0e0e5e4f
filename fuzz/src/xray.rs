//! Logs and instrumentation maps of XRay.

use std::collections::HashSet;
use std::io::Cursor;

use trace_analyze::check;
use trace_format::{Reader, Writer};
use trace_xray::calls::{CallStacks, Limits as CallLimits, Step};
use trace_xray::fxt::Translator;
use trace_xray::layout::{Version, FILLER};
use trace_xray::map::{Map, Names, Program};
use trace_xray::read::{decode, Decoder, Item, Limits, Ordered, ReadError};
use trace_xray::write::encode;
use trace_xray::{yaml, Format};

/// Limits that short inputs reach.
const SMALL_LIMITS: CallLimits = CallLimits { depth: 8, threads: 4 };

/// Returns the limits of call stacks for an input: the default ones, or small ones.
fn call_limits(piece: usize) -> CallLimits {
    if piece % 2 == 0 {
        SMALL_LIMITS
    } else {
        CallLimits::default()
    }
}

/// What a decoder returned: the offset, and the time of a record.
type Found = (u64, Option<u64>);

/// Takes bytes for a log: pieces of any size give the same records, each record comes back from its
/// encoding, and calls end after they began.
pub fn xray(bytes: &[u8]) {
    let piece = 1 + bytes.iter().fold(0, |sum: usize, byte| sum.wrapping_add((*byte).into())) % 97;
    let limits = call_limits(piece);
    let whole = read(bytes, bytes.len().max(1), limits);
    assert_eq!(read(bytes, piece, limits), whole, "pieces of {piece}");
    // Not each time: it takes blocks of memory.
    if piece % 8 < 2 {
        if let Ok(reader) = Ordered::new(Cursor::new(bytes)) {
            ordered(reader, &whole, limits);
        }
    }
}

/// In the order of time there are no other records than in the order of the log. The log is a
/// well-formed archive.
fn ordered(mut reader: Ordered<Cursor<&[u8]>>, whole: &[Found], limits: CallLimits) {
    let mut offsets = HashSet::new();
    let mut archive = Writer::new(Vec::new()).expect("memory");
    let mut translator = Translator::with_limits(Map::default(), limits);
    let mut errors = 0;
    loop {
        match reader.next() {
            Ok(Some(item)) => {
                assert!(offsets.insert(item.offset), "twice {}", item.offset);
                translator.item(&mut archive, &item).expect("a record that fits");
            }
            Ok(None) => break,
            Err(error) => {
                errors += 1;
                translator.damage(&mut archive, &error).expect("a record that fits");
            }
        }
    }
    translator.finish(&mut archive).expect("a record that fits");
    let report = check::check(Reader::new(&archive.into_inner()[..])).expect("memory");
    assert_eq!(report.error_count, 0, "{:?}", report.errors);
    assert!(report.damage.records_dropped >= errors);
    let known: HashSet<_> = whole.iter().map(|(offset, _)| *offset).collect();
    assert!(offsets.is_subset(&known));
}

fn read(bytes: &[u8], piece: usize, limits: CallLimits) -> Vec<Found> {
    let mut decoder = Decoder::with_limits(Limits { payload_bytes: 1 << 12 });
    let mut calls = CallStacks::with_limits(limits);
    let mut found = Vec::new();
    for piece in bytes.chunks(piece) {
        decoder.push(piece);
        drain(&mut decoder, &mut calls, &mut found);
    }
    decoder.finish();
    drain(&mut decoder, &mut calls, &mut found);
    for (_, _, stack) in calls.threads() {
        let open = stack.frames().len();
        assert_eq!(stack.finish().count(), open);
    }
    let records = found.iter().filter(|(_, time)| time.is_some());
    assert_eq!(decoder.stats().records, records.count() as u64);
    found
}

fn drain(decoder: &mut Decoder, calls: &mut CallStacks, found: &mut Vec<Found>) {
    loop {
        let format = decoder.header().map(|header| header.format);
        match decoder.next() {
            Ok(Some(item)) => {
                found.push((item.offset, Some(item.tsc())));
                check(&item, format, calls);
            }
            Ok(None) => return,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                found.push((error.offset(), None));
            }
        }
    }
}

/// A record of a later version cannot be encoded. The format is that before the record, which may
/// be of another log.
fn check(item: &Item<'_>, format: Option<Format>, calls: &mut CallStacks) {
    let mut encoded = Vec::new();
    if let Some(Ok(())) = format.map(|format| encode::record(&mut encoded, &item.record, format)) {
        let format = format.expect("it was there");
        assert_eq!(decode::record(&encoded, format), Ok(item.record));
    }
    if let Some(Step::Left(ended)) = calls.step(item) {
        let (count, depths) = (ended.len(), ended.map(|call| call.depth).collect::<Vec<_>>());
        assert!(count > 0 && depths.windows(2).all(|two| two[0] == two[1] + 1));
    }
}

/// Takes bytes for a map, and for the program that it has to fit. A program fits its own map.
pub fn xray_map(bytes: &[u8]) {
    let program = Program::parse(bytes);
    let Ok(map) = Map::parse(bytes) else { return };
    for sled in map.sleds() {
        let function = map.function(sled.id).expect("each sled has a function");
        assert!(function.symbol.is_some() || function.name().is_none());
    }
    if let Ok(program) = program {
        assert_eq!(map.check(&program), Ok(()));
    }
}

/// Takes bytes for YAML of a log: the binary log has no errors, and its YAML is that of the same
/// log.
pub fn xray_yaml(bytes: &[u8]) {
    let mut log = Vec::new();
    let Ok(map) = yaml::read(bytes, &mut log) else { return };
    let text = yaml_of(&log, map);
    assert!(yaml::detects(&text));
    let mut again = Vec::new();
    let map = yaml::read(&text[..], &mut again).expect("YAML that was written");
    // YAML that is written has no fillers. Without them, other threads may be the first ones.
    if memchr::memmem::find(&log, &FILLER).is_none() {
        assert_eq!(again, log);
        assert_eq!(yaml_of(&again, map), text);
    }
}

/// Returns the YAML of a log without errors.
fn yaml_of(log: &[u8], map: Map) -> Vec<u8> {
    let mut text = Vec::new();
    let log = Ordered::new(Cursor::new(log)).expect("a log");
    let damage = |error: &ReadError| panic!("{error}");
    yaml::write(log, &mut Names::new(map), Version::V1, &mut text, damage).expect("one clock");
    text
}
