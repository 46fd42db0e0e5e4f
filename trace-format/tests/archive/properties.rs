//! Properties of the reader, for random archives.

use proptest::prelude::*;
use trace_format::{
    encode, Arguments, DecodeError, Decoder, Limits, ReadError, Reader, Record, Stats, Writer,
};

use crate::{event, line, shown, MAGIC};

/// Reads to the end. Panics if that takes more steps than there are words.
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
                panic!("size 0 is not an error of the record")
            }
            Err(_) => {}
        }
    }
    panic!("the reader does not reach the end");
}

/// The words of an archive of random records.
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

proptest! {
    #[test]
    fn reading_random_words_ends(words in random_words()) {
        read_all(&encode::to_bytes(&words));
    }

    #[test]
    fn decoder_and_reader_return_the_same(
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
        let (mut decoded, mut rest) = (Vec::new(), bytes);
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, remaining) = rest.split_at((size + 1).min(rest.len()));
            rest = remaining;
            decoder.feed(chunk);
            decoded.extend(std::iter::from_fn(|| shown(decoder.next())));
        }
        decoder.finish();
        decoded.extend(std::iter::from_fn(|| shown(decoder.next())));
        let read: Vec<String> = std::iter::from_fn(|| shown(reader.next())).collect();
        let (mut visitor, mut visited) = (Reader::with_limits(bytes, limits), Vec::new());
        let visit = visitor.visit(|item| {
            visited.extend(shown(item.map(|item| Some(*item))));
            Ok::<(), ()>(())
        });
        prop_assert_eq!((visit, &visited, visitor.stats()), (Ok(()), &read, reader.stats()));
        prop_assert_eq!(decoded, read);
        prop_assert_eq!((decoder.offset(), decoder.stats()), (reader.offset(), reader.stats()));
    }

    #[test]
    fn reading_a_truncated_archive_ends(cut in any::<proptest::sample::Index>()) {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.provider(1, "p").unwrap();
        for n in 0..20 {
            writer.record(&event(n, "c", &"n".repeat(n as usize), Arguments::NONE)).unwrap();
        }
        let archive = writer.into_inner();
        let complete = read_all(&archive);
        let truncated = read_all(&archive[..cut.index(archive.len())]);
        prop_assert!(truncated.records < complete.records);
        prop_assert_eq!(truncated.bad_records, 0);
    }
}
