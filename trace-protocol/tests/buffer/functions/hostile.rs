//! Function records of providers that are not of this project.

use proptest::prelude::*;
use trace_format::layout::event;
use trace_format::layout::EventType::DurationBegin;
use trace_protocol::buffer::consumer::{most_words, record_words, IdentityPolicy, Rejection};
use trace_protocol::buffer::header::BufferingMode;

use crate::harness::{events, layout, PROCESS};
use crate::hostile::chunk_in;

fn hostile(content: &[u64], function_records: bool) -> (Vec<u64>, [u64; Rejection::ALL.len()]) {
    let layout = layout(BufferingMode::Oneshot, 4096, 4096, 256);
    let layout = layout.with_function_records(function_records);
    let (out, collector) = chunk_in(layout, IdentityPolicy::Own(PROCESS), content);
    let rejected = collector.stats().rejected;
    (out, rejected)
}

/// Words of the chunk of [`chunk_in`].
const CHUNK_WORDS: usize = 128;

const THREAD: [u64; 3] = [0x1_0033, 99, 5];
const BASE: u64 = 0x3e8d;
const CALL: u64 = 1 << 63 | 5 << 34 | 0xc;

#[test]
fn function_records_are_refused_where_they_are_not_permitted() {
    let content = [&THREAD[..], &[BASE, CALL, 0]].concat();
    let (out, rejected) = hostile(&content, false);
    assert!(events(&out).is_empty());
    assert_ne!(
        rejected[Rejection::UnknownType as usize] + rejected[Rejection::Framing as usize],
        0
    );
}

#[test]
fn hostile_function_records_are_counted() {
    let unregistered = 7 << 4 | 8 << 19;
    for (what, content, rejection) in [
        ("no base", vec![CALL, 0], Rejection::Content),
        ("no base, ended", vec![CALL, 2000], Rejection::Content),
        ("string", vec![BASE, CALL | unregistered, 0], Rejection::StringRef),
        ("string, ended", vec![BASE, CALL | unregistered, 2000], Rejection::StringRef),
    ] {
        let (_, rejected) = hostile(&[&THREAD[..], &content].concat(), true);
        assert_eq!(rejected[rejection as usize], 1, "{what}");
        assert_eq!(rejected.iter().sum::<u64>(), 1, "{what}");
    }
    let (_, rejected) = hostile(&[BASE, CALL, 0], true);
    assert_eq!(rejected[Rejection::ThreadRef as usize], 1, "no thread record");
}

/// A record that is cut by the end of its chunk, among function records.
#[test]
fn a_record_that_does_not_frame_ends_the_chunk() {
    let content = [&THREAD[..], &[BASE, CALL, 0, 0xfff4, CALL, 0]].concat();
    let (out, rejected) = hostile(&content, true);
    assert_eq!(rejected[Rejection::Framing as usize], 1);
    let header = out[out.len() - 2];
    assert_eq!(event::EventType::get(header), DurationBegin.bits());
}

proptest! {
    #[test]
    fn any_words_are_collected_into_half_as_many_again(
        words in proptest::collection::vec(prop_oneof![
            any::<u64>(),
            (12u64..14, any::<u64>()).prop_map(|(kind, word)| word & !0x3_ffff_ffff | kind),
            Just(BASE),
            Just(0x1_0033),
            Just(0x0007_0007_0100_0024),
        ], 0..128),
    ) {
        let (out, _) = hostile(&words, true);
        prop_assert!(out.len() <= most_words(CHUNK_WORDS));
        let mut rest = out.as_slice();
        while let Some(header) = rest.first() {
            rest = &rest[record_words(*header).unwrap()..];
        }
    }
}
