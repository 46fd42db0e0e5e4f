use super::*;
use crate::mode::BufferingMode;
use proptest::prelude::*;

fn category(name: &str, description: &str) -> CategoryInfo {
    CategoryInfo { name: name.to_owned(), description: description.to_owned() }
}

fn register() -> ToManager {
    ToManager::Register(Register {
        name: "ab".to_owned(),
        process_name: "c".to_owned(),
        clock: ClockSource::Boottime,
        durable_hint: 0x1234,
        categories: vec![category("io", "")],
    })
}

fn every_to_provider() -> Vec<ToProvider> {
    vec![
        ToProvider::Registered { started: true },
        ToProvider::Registered { started: false },
        ToProvider::Initialize(Initialize {
            mode: BufferingMode::Streaming,
            categories: vec!["gfx*".to_owned(), "-io".to_owned()],
        }),
        ToProvider::Start(StartOptions {
            disposition: BufferDisposition::Retain,
            additional_categories: vec!["é".to_owned()],
        }),
        ToProvider::Stop,
        ToProvider::Terminate,
        ToProvider::GetKnownCategories,
        ToProvider::Flush,
        ToProvider::SetCategories { sequence: 7, categories: vec!["io".to_owned()] },
        ToProvider::SetConditions(vec![DurationLimit {
            number: 9,
            category: "web".to_owned(),
            name: "request".to_owned(),
            ticks: 50_000_000,
        }]),
        ToProvider::Stream,
        ToProvider::Refused { reason: "full".to_owned() },
    ]
}

fn decode_one<M: Message>(bytes: &[u8]) -> Result<M, ProtocolError> {
    let mut decoder = Decoder::new();
    decoder.feed(bytes);
    let message = decoder.next_message().expect("a whole message was fed");
    assert!(!decoder.is_inside_message());
    message
}

#[test]
fn a_registration_has_these_bytes() {
    let bytes = b"\x27\0\0\0\x01\0\x01\0\x02\0\0\0ab\x01\0\0\0c\x01\x34\x12\0\0\0\0\0\0\
        \x01\0\0\0\x02\0\0\0io\0\0\0\0";
    let mut expected = bytes.to_vec();
    expected[0] = (bytes.len() - HEAD_SIZE) as u8;
    assert_eq!(register().encode(), expected);
}

#[test]
fn the_features_of_a_provider_have_these_bytes() {
    let supports = ToManager::Supports(Features::SET_CATEGORIES);
    assert_eq!(supports.encode(), b"\x04\0\0\0\x03\0\x01\0\x01\0\0\0");
    let later = Features::from_bits(u32::MAX);
    assert!(later.contains(Features::SET_CATEGORIES), "unknown bits are accepted");
    assert!(!Features::default().contains(Features::SET_CATEGORIES));
    let both = Features::SET_CATEGORIES.with(Features::SET_CONDITIONS);
    assert_eq!(both, Features::from_bits(5));
    assert_eq!(both.with(Features::STREAM), Features::from_bits(13));
}

#[test]
fn every_disposition_decodes_to_itself() {
    let dispositions = [
        BufferDisposition::ClearEntire,
        BufferDisposition::ClearNondurable,
        BufferDisposition::Retain,
    ];
    for disposition in dispositions {
        assert_eq!(BufferDisposition::from_value(disposition as u8), Some(disposition));
        let start = ToProvider::Start(StartOptions { disposition, ..StartOptions::default() });
        assert_eq!(decode_one(&start.encode()), Ok(start));
    }
    assert_eq!([0, 4].map(BufferDisposition::from_value), [None; 2]);
}

#[test]
fn a_decoder_has_the_memory_of_what_it_was_fed() {
    let mut decoder = Decoder::<ToManager>::new();
    assert_eq!(decoder.memory(), 0);
    decoder.feed(&register().encode()[..20]);
    assert!((20..1000).contains(&decoder.memory()), "{}", decoder.memory());
}

#[test]
fn every_message_decodes_to_itself() {
    for message in every_to_provider() {
        assert_eq!(decode_one(&message.encode()), Ok(message));
    }
    let supports = ToManager::Supports(Features::SET_CATEGORIES);
    let known_categories = ToManager::KnownCategories(vec![category("a", "b")]);
    for message in [register(), known_categories, supports] {
        assert_eq!(decode_one(&message.encode()), Ok(message));
    }
}

#[test]
fn messages_arrive_byte_by_byte() {
    let sent = every_to_provider();
    let bytes: Vec<u8> = sent.iter().flat_map(ToProvider::encode).collect();
    let (mut decoder, mut received) = (Decoder::new(), Vec::new());
    for byte in bytes {
        decoder.feed(&[byte]);
        received.extend(decoder.next_message());
    }
    assert_eq!(received.into_iter().collect::<Result<Vec<ToProvider>, _>>(), Ok(sent));
}

#[test]
fn a_hostile_length_ends_the_stream_without_an_allocation() {
    let mut decoder = Decoder::<ToManager>::new();
    decoder.feed(&[0xff; 8]);
    let error = ProtocolError::BodyTooLong { length: u32::MAX };
    assert!(error.is_fatal());
    assert_eq!(decoder.next_message(), Some(Err(error.clone())));
    decoder.feed(&register().encode());
    assert_eq!(decoder.next_message(), Some(Err(error)));
}

/// The kind is unknown, so that the body may be anything.
#[test]
fn a_body_has_a_longest_length() {
    let message = |length: u32| {
        let head = [&length.to_le_bytes()[..], &[0xee, 0xee, 1, 0]].concat();
        [head, vec![0; length as usize]].concat()
    };
    let first = |bytes: &[u8]| {
        let mut decoder = Decoder::<ToManager>::new();
        decoder.feed(bytes);
        decoder.next_message()
    };
    let skipped = ProtocolError::UnknownKind(0xeeee);
    assert!(!skipped.is_fatal());
    assert_eq!(first(&message(MAX_BODY)), Some(Err(skipped)));
    let length = MAX_BODY + 1;
    assert_eq!(first(&message(length)), Some(Err(ProtocolError::BodyTooLong { length })));
}

#[test]
fn an_unknown_kind_or_version_is_skipped() {
    let mut decoder = Decoder::<ToProvider>::new();
    decoder.feed(b"\x03\0\0\0\xee\xee\x01\0abc");
    decoder.feed(b"\0\0\0\0\x04\x01\x02\0");
    decoder.feed(&ToProvider::Stop.encode());
    assert_eq!(decoder.next_message(), Some(Err(ProtocolError::UnknownKind(0xeeee))));
    assert_eq!(decoder.next_message(), Some(Err(ProtocolError::Version { found: 2 })));
    assert_eq!(decoder.next_message(), Some(Ok(ToProvider::Stop)));
    assert_eq!(decoder.next_message(), None);
}

#[test]
fn a_body_with_missing_or_extra_bytes_is_refused() {
    let whole = register().encode();
    for cut in HEAD_SIZE..whole.len() {
        let mut bytes = whole[..cut].to_vec();
        bytes[0] = (cut - HEAD_SIZE) as u8;
        assert!(matches!(decode_one::<ToManager>(&bytes), Err(ProtocolError::Body { .. })));
    }
    let mut longer = ToProvider::Stop.encode();
    longer[0] = 1;
    longer.push(0);
    let error = ProtocolError::Body { kind: 0x104, offset: 0 };
    assert_eq!(decode_one::<ToProvider>(&longer), Err(error));
}

#[test]
fn a_hostile_count_allocates_no_memory() {
    let mut bytes = ToManager::KnownCategories(Vec::new()).encode();
    bytes[HEAD_SIZE..].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(decode_one::<ToManager>(&bytes).is_err());
}

#[test]
fn categories_beyond_the_longest_body_are_left_out() {
    let many = vec![category(&"x".repeat(100), &"y".repeat(400)); 5000];
    match decode_one(&ToManager::KnownCategories(many.clone()).encode()) {
        Ok(ToManager::KnownCategories(kept)) => {
            assert!(kept.len() > 2000 && kept.len() < many.len(), "{}", kept.len());
        }
        other => panic!("expected the categories, found {other:?}"),
    }
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes: Vec<u8>, kind in 0u16..3, cut in 0usize..64) {
        let mut decoder = Decoder::<ToManager>::new();
        let cut = cut.min(bytes.len());
        decoder.feed(&[bytes.len() as u8, 0, 0, 0, kind as u8, 0, 1, 0]);
        for part in [&bytes[..cut], &bytes[cut..]] {
            decoder.feed(part);
            for _ in 0..=bytes.len() {
                match decoder.next_message() {
                    None => break,
                    Some(Ok(message)) => prop_assert_eq!(decode_one(&message.encode()), Ok(message)),
                    Some(Err(_)) => {}
                }
            }
        }
    }
}
