//! Whole archives, written and read.

use std::io::{self, Read};

use proptest::prelude::*;
use trace_format::audit::Audit;
use trace_format::layout::{InstantScope, ProviderEvent, ThreadState};
use trace_format::reader::UNKNOWN_STRING;
use trace_format::{
    encode, Argument, Arguments, DecodeError, Decoder, EncodeError, Event, EventKind, Item,
    LegacyContextSwitch, Limits, Log, ReadError, Reader, Record, Stats, Text, Thread, ThreadKoids,
    Value, WriteError, Writer,
};

const MAGIC: u64 = 0x0016_5478_4604_0010;
const SECTION_1: u64 = 0x0000_0000_0012_0010;
const SECTION_2: u64 = 0x0000_0000_0022_0010;

/// Returns everything about the events and errors of an archive as lines.
fn lines(mut reader: Reader<impl Read>) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        match reader.next() {
            Ok(None) => return lines,
            Err(error) => lines.push(error.to_string()),
            Ok(Some(item)) => {
                if let Record::Event(event) = item.record {
                    lines.push(line(&item, &event));
                }
            }
        }
    }
}

fn line<'a>(item: &trace_format::Item<'a>, event: &Event<'a>) -> String {
    let ThreadKoids { process, thread } = item.thread(event.thread);
    let (category, name) = (item.text(event.category), item.text(event.name));
    let mut line = format!(
        "{}: {:?} {:?} {} ns {process}/{thread} {category} {name}",
        item.offset,
        item.provider.id(),
        item.provider.name(),
        item.nanos(event.ticks),
    );
    for argument in &event.arguments {
        line += &format!(" {}={:?}", item.text(argument.name), argument.value);
    }
    line
}

fn words_lines(words: &[u64]) -> Vec<String> {
    lines(Reader::new(&*encode::to_bytes(words)))
}

fn stats_of(words: &[u64]) -> (Stats, Audit) {
    let bytes = encode::to_bytes(words);
    let mut reader = Reader::new(&*bytes);
    let mut audit = Audit::default();
    loop {
        match reader.next() {
            Ok(None) => return (reader.stats(), audit),
            Ok(Some(item)) => audit.item(&item),
            Err(_) => {}
        }
    }
}

fn event<'a>(ticks: u64, category: &'a str, name: &'a str, arguments: Arguments<'a>) -> Record<'a> {
    let thread = Thread::Inline(ThreadKoids::new(12, 34));
    let kind = EventKind::DurationBegin;
    let (category, name) = (category.into(), name.into());
    Event { ticks, thread, category, name, kind, arguments }.into()
}

#[test]
fn each_provider_has_its_own_state() {
    let words = [
        MAGIC,
        0x0030_0000_0011_0020, // provider 1 "abc"
        0x0063_6261,
        0x0021, // 1000 ticks per second
        1000,
        0x0000_0001_0001_0022, // string 1 "x"
        0x78,
        0x0001_0033, // thread 1
        5,
        6,
        SECTION_2,
        0x0000_0001_0001_0022, // string 1 "y"
        0x79,
        0x0001_0001_0102_0024, // begin
        1,
        SECTION_1,
        0x0001_0001_0102_0024, // begin
        1,
    ];
    let expected = ["104: Some(2) \"\" 1 ns 0/0 y y", "128: Some(1) \"abc\" 1000000 ns 5/6 x x"];
    assert_eq!(words_lines(&words), expected);
    let stats = Stats { records: 10, ..Stats::default() };
    assert_eq!(stats_of(&words), (stats, Audit { unknown_threads: 1, ..Audit::default() }));
}

#[test]
fn what_is_written_is_read() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(7, "server").unwrap();
    writer.initialization(1_000_000).unwrap();
    let arguments = [Argument::new("size", Value::Int32(9))];
    writer.record(&event(3, "net", "send", (&arguments).into())).unwrap();
    writer.record(&event(4, "net", "send", Arguments::NONE)).unwrap();
    writer.provider_event(7, ProviderEvent::BUFFER_FULL).unwrap();
    writer.section(8).unwrap();
    writer.section(8).unwrap();
    writer.record(&event(5, "", "send", Arguments::NONE)).unwrap();
    writer.flush().unwrap();
    let archive = writer.into_inner();
    let expected = [
        "112: Some(7) \"server\" 3000 ns 12/34 net send size=Int32(9)",
        "136: Some(7) \"server\" 4000 ns 12/34 net send",
        "208: Some(8) \"\" 5 ns 12/34  send",
    ];
    assert_eq!(lines(Reader::new(&*archive)), expected);
}

#[test]
fn the_writer_replaces_entries_of_full_tables() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let name = |n: u64| format!("name {n}");
    let count = 40_000;
    for n in 0..count {
        let koids = ThreadKoids::new(n, n + 1);
        let (category, name) = (Text::EMPTY, name(n));
        let record = Event {
            ticks: n,
            thread: Thread::Inline(koids),
            category,
            name: (&*name).into(),
            kind: EventKind::DurationEnd,
            arguments: Arguments::NONE,
        };
        writer.record(&record.into()).unwrap();
    }
    let archive = writer.into_inner();
    let mut reader = Reader::new(&*archive);
    let mut next = 0;
    while let Some(item) = reader.next().unwrap() {
        if let Record::Event(event) = item.record {
            assert_eq!(item.text(event.name), name(next));
            assert_eq!(item.thread(event.thread), ThreadKoids::new(next, next + 1));
            assert!(matches!(event.name, Text::Indexed(1..=0x7fff)));
            next += 1;
        }
    }
    assert_eq!(next, count);
}

#[test]
fn the_writer_refuses_foreign_indexes_and_goes_on() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let index_of = |error| match error {
        Err(WriteError::Encode(EncodeError::Index { index })) => index,
        other => panic!("{other:?}"),
    };
    let Record::Event(good) = event(1, "a", "b", Arguments::NONE) else { unreachable!() };
    let bad = Event { name: Text::Indexed(5), ..good };
    assert_eq!(index_of(writer.record(&bad.into())), 5);
    let bad = Event { thread: Thread::Indexed(6), ..good };
    assert_eq!(index_of(writer.record(&bad.into())), 6);
    let arguments = [Argument::new("x", Value::String(Text::Indexed(7)))];
    let bad = Event { arguments: (&arguments).into(), ..good };
    assert_eq!(index_of(writer.record(&bad.into())), 7);
    let string = Record::String { index: 8, value: b"x" };
    assert_eq!(index_of(writer.record(&string)), 8);
    writer.record(&good.into()).unwrap();
    let long = "x".repeat(32_000);
    let arguments = [Argument::new("x", Value::Blob(long.as_bytes())); 2];
    let too_long = Event { arguments: (&arguments).into(), ..good };
    let error = writer.record(&too_long.into());
    assert!(matches!(error, Err(WriteError::Encode(EncodeError::RecordTooLong { .. }))));
    writer.record(&good.into()).unwrap();
    assert_eq!(lines(Reader::new(&*writer.into_inner())).len(), 2);
}

#[test]
fn long_strings_have_an_index_if_the_record_would_be_too_long() {
    let texts = ["a", "b", "c"].map(|text| text.repeat(32_000));
    let arguments = [Argument::new(&*texts[0], Value::String((&*texts[1]).into()))];
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.record(&event(1, "net", &texts[2], (&arguments).into())).unwrap();
    let archive = writer.into_inner();
    let mut reader = Reader::new(&*archive);
    loop {
        let item = reader.next().unwrap().unwrap();
        let Record::Event(event) = item.record else { continue };
        let argument = event.arguments.iter().next().unwrap();
        let Value::String(value) = argument.value else { panic!("{argument:?}") };
        let found = [argument.name, value, event.name].map(|text| item.text(text).into_owned());
        break assert!(found == texts);
    }
}

/// A record whose first thread has the oldest index of a full table, and whose second one is new.
#[test]
fn threads_of_one_record_do_not_replace_each_other() {
    let koids = |thread| ThreadKoids::new(1, thread);
    let switch = |outgoing, incoming| LegacyContextSwitch {
        ticks: 1,
        cpu: 0,
        outgoing_state: ThreadState::BLOCKED,
        outgoing: Thread::Inline(koids(outgoing)),
        incoming: Thread::Inline(koids(incoming)),
        outgoing_priority: 0,
        incoming_priority: 0,
    };
    let pairs: Vec<(u64, u64)> = (0..127)
        .map(|pair| (2 * pair, 2 * pair + 1))
        .chain([(0, 300), (2, 301), (1, 302)])
        .collect();
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (outgoing, incoming) in &pairs {
        writer.record(&switch(*outgoing, *incoming).into()).unwrap();
    }
    let archive = writer.into_inner();
    let (mut reader, mut found) = (Reader::new(&*archive), Vec::new());
    while let Some(item) = reader.next().unwrap() {
        if let Record::LegacyContextSwitch(switch) = item.record {
            found.push((item.thread(switch.outgoing).thread, item.thread(switch.incoming).thread));
        }
    }
    assert_eq!(found, pairs);
}

#[test]
fn a_bad_record_is_passed_over() {
    let words = [MAGIC, 0x0001_0013, 0x000b_002b, 9, 0x0000_0000_0102_0024, 7];
    let found = words_lines(&words);
    assert_eq!(found, ["bad record at byte 8", "32: None \"\" 7 ns 0/0  "]);
    let stats = Stats { records: 4, bad_records: 1, unknown_records: 1, ..Stats::default() };
    assert_eq!(stats_of(&words), (stats, Audit { unknown_threads: 1, ..Audit::default() }));
}

#[test]
fn unknown_strings_have_a_placeholder() {
    let words = [MAGIC, 0x0005_0006_0102_0024, 7];
    assert_eq!(
        words_lines(&words),
        [format!("8: None \"\" 7 ns 0/0 {UNKNOWN_STRING} {UNKNOWN_STRING}")]
    );
    assert_eq!(stats_of(&words).1.unknown_strings, 2);
}

#[test]
fn arguments_of_unknown_types_are_counted() {
    // An event and an object with an argument of type 13 each, which has the name with index 5.
    let words =
        [MAGIC, 0x0000_0000_0110_0034, 7, 0x0005_001d, 0x0000_0100_0001_0037, 9, 0x0005_001d];
    let audit = stats_of(&words).1;
    assert_eq!((audit.unknown_arguments, audit.unknown_strings), (2, 2));
}

#[test]
fn invalid_utf8_is_shown() {
    let words = [MAGIC, 0x0000_0002_0001_0022, 0xff41, 0x8002_0001_0102_0034, 7, 0x42ff];
    let found = words_lines(&words);
    assert_eq!(found, ["24: None \"\" 7 ns 0/0 A\u{fffd} \u{fffd}B"]);
}

#[test]
fn registrations_for_index_zero_are_ignored() {
    let words =
        [MAGIC, 0x0000_0001_0000_0022, 0x78, 0x0000_0033, 5, 6, 0x0000_0000_0002_0044, 7, 8, 9];
    assert_eq!(words_lines(&words), ["48: None \"\" 7 ns 8/9  "]);
}

#[test]
fn the_end_within_a_record_is_told() {
    let bytes = encode::to_bytes(&[MAGIC, 0x0031, 1]);
    let expected = |offset, found, of| {
        format!("the trace ends within the record at byte {offset}: {found} of {of} bytes")
    };
    assert_eq!(lines(Reader::new(&*bytes)), [expected(8, 16, 24)]);
    assert_eq!(lines(Reader::new(&bytes[..12])), [expected(8, 4, 8)]);
}

#[test]
fn size_zero_ends_the_archive() {
    let words = [MAGIC, 0x0004, 0x0021, 1];
    assert_eq!(words_lines(&words), ["the record at byte 8 has size 0"]);
}

#[test]
fn other_files_are_told_from_archives() {
    let not = |bytes| match Reader::new(bytes).next() {
        Err(ReadError::NotAnArchive { first_word }) => first_word,
        other => panic!("{other:?}"),
    };
    assert_eq!(not(&b""[..]), None);
    assert_eq!(not(&b"{\"traceE"[..]), Some(0x4565_6361_7274_227b));
    assert_eq!(not(&b"GIF89a..................."[..]), Some(0x2e2e_6139_3846_4947));
    // A record with an appended word, one of unknown type, and one that is cut off.
    for words in [&[0x0000_0000_0102_0034, 7, 8][..], &[0x001e], &[0x0000_0000_0102_0024]] {
        let result = Reader::new(&*encode::to_bytes(words)).next().map(drop);
        assert!(matches!(result, Err(ReadError::NotAnArchive { .. })), "{words:?}");
    }
}

#[test]
fn an_archive_may_lack_the_magic_number() {
    let bytes = encode::to_bytes(&[0x0000_0000_0102_0024, 7]);
    let mut reader = Reader::new(&*bytes);
    assert!(matches!(reader.next(), Ok(Some(_))));
    assert!(reader.stats().lacks_magic_number && !reader.stats().is_big_endian);
    let limits = Limits { magic_number: true, ..Limits::default() };
    let error = Reader::with_limits(&*bytes, limits).next().unwrap_err();
    assert!(matches!(error, ReadError::NotAnArchive { .. }));
}

#[test]
fn large_records_are_limited() {
    let mut words = vec![MAGIC, 0x0000_0100_001f_004f, 0, 8];
    let large_words = 0x1_f004;
    words.resize(1 + large_words, 0);
    words.extend([0x0000_0000_0002_0044, 7, 8, 9]);
    let bytes = encode::to_bytes(&words);
    assert_eq!(lines(Reader::new(&*bytes)).len(), 1);
    let limits = Limits { record_bytes: 1 << 16, ..Limits::default() };
    let found = lines(Reader::with_limits(&*bytes, limits));
    assert_eq!(found.len(), 2);
    assert_eq!(found[0], "the record at byte 8 has 1015840 bytes, more than 65536; it is left out");
    assert_eq!(found[1], "1015848: None \"\" 7 ns 8/9  ");
}

#[test]
fn memory_does_not_follow_a_claimed_size() {
    let words = [MAGIC, 0x0000_000f_ffff_ffff, 1, 2];
    let limits = Limits { record_bytes: u64::MAX, ..Limits::default() };
    let bytes = encode::to_bytes(&words);
    let expected = "the trace ends within the record at byte 8: 24 of 34359738360 bytes";
    assert_eq!(lines(Reader::with_limits(&*bytes, limits)), [expected]);
    let limits = Limits::default();
    assert_eq!(lines(Reader::with_limits(&*bytes, limits)), [expected]);
}

#[test]
fn providers_are_limited() {
    let limits = Limits { providers: 1, ..Limits::default() };
    let bytes = encode::to_bytes(&[MAGIC, SECTION_1, SECTION_1, SECTION_2, SECTION_1]);
    let found = lines(Reader::with_limits(&*bytes, limits));
    assert_eq!(found, ["more than 1 providers, at byte 24"]);
}

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

#[test]
fn records_that_need_no_tables_are_written_as_they_are() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let thread = Thread::Inline(ThreadKoids::new(12, 34));
    let kind = EventKind::Instant { scope: Some(InstantScope::Global) };
    let (category, name) = (Text::EMPTY, Text::EMPTY);
    let arguments = Arguments::NONE;
    let instant = Event { ticks: 5, thread, category, name, kind, arguments };
    writer.record(&instant.into()).unwrap();
    writer.record(&Log { ticks: 6, thread, message: b"abc" }.into()).unwrap();
    let expected = [
        MAGIC,
        0x0001_0033,
        12,
        34,
        0x0000_0000_0100_0034,
        5,
        2,
        0x0000_0001_0003_0039,
        6,
        0x0063_6261,
    ];
    assert_eq!(writer.into_inner(), encode::to_bytes(&expected));
}

/// Reads to the end; fails if that takes more steps than there are words.
fn read_all(bytes: &[u8]) -> Stats {
    let mut reader = Reader::new(bytes);
    for _ in 0..bytes.len() / 8 + 2 {
        match reader.next() {
            Ok(None) => return reader.stats(),
            Ok(Some(item)) => {
                if let Record::Event(event) = item.record {
                    line(&item, &event);
                }
            }
            Err(ReadError::Record { error: DecodeError::SizeZero, .. }) => {
                panic!("size 0 is not an error of the content")
            }
            Err(_) => {}
        }
    }
    panic!("the reader does not end");
}

/// An archive of records that may be anything.
fn random_words() -> impl Strategy<Value = Vec<u64>> {
    let word = prop_oneof![
        any::<u64>(),
        (0u64..16, 1u64..6, any::<u64>()).prop_map(|(t, s, data)| data << 16 | s << 4 | t),
        0u64..16,
    ];
    proptest::collection::vec(word, 0..200).prop_map(|mut words| {
        words.insert(0, MAGIC);
        words
    })
}

/// Returns a record or an error as text; `None` if there is nothing.
fn shown(result: Result<Option<Item<'_>>, ReadError>) -> Option<String> {
    match result {
        Ok(item) => item.map(|Item { offset, record, provider, .. }| {
            format!("{offset} {:?} {:?} {record:?}", provider.id(), provider.name())
        }),
        Err(error) => Some(format!("{error:?}")),
    }
}

proptest! {
    #[test]
    fn random_words_end(words in random_words()) {
        read_all(&encode::to_bytes(&words));
    }

    #[test]
    fn pieces_give_what_the_whole_gives(
        (words, cut) in (random_words(), 0usize..8),
        sizes in proptest::collection::vec(0usize..40, 1..40),
        record_bytes in prop_oneof![Just(16u64), Just(256 << 20)],
        magic_number in any::<bool>(),
    ) {
        let bytes = encode::to_bytes(&words);
        let bytes = bytes.get(..bytes.len().saturating_sub(cut)).unwrap();
        let limits = Limits { record_bytes, magic_number, ..Limits::default() };
        let (mut decoder, mut reader) =
            (Decoder::with_limits(limits), Reader::with_limits(bytes, limits));
        let (mut pieces, mut rest) = (Vec::new(), bytes);
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, behind) = rest.split_at((size + 1).min(rest.len()));
            rest = behind;
            decoder.feed(piece);
            pieces.extend(std::iter::from_fn(|| shown(decoder.next())));
        }
        decoder.finish();
        pieces.extend(std::iter::from_fn(|| shown(decoder.next())));
        let whole: Vec<String> = std::iter::from_fn(|| shown(reader.next())).collect();
        prop_assert_eq!(pieces, whole);
        prop_assert_eq!((decoder.offset(), decoder.stats()), (reader.offset(), reader.stats()));
    }

    #[test]
    fn a_cut_archive_ends(cut in any::<proptest::sample::Index>()) {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.provider(1, "p").unwrap();
        for n in 0..20 {
            writer.record(&event(n, "c", &"n".repeat(n as usize), Arguments::NONE)).unwrap();
        }
        let archive = writer.into_inner();
        let whole = read_all(&archive);
        let part = read_all(&archive[..cut.index(archive.len())]);
        prop_assert!(part.records < whole.records);
        prop_assert_eq!(part.bad_records, 0);
    }
}
