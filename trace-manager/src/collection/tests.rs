use std::time::{Duration, Instant};

use super::*;
use crate::fixture::{layout, provider, write_event, write_losses};
use crate::machine::End;
use crate::waker::Waker;
use trace_protocol::buffer::header::BufferingMode;

const DEPARTURE: Departure = Departure {
    end: End::Terminated,
    answered_start: true,
    answered_stop: true,
    after: Duration::ZERO,
};

fn collection() -> Collection {
    Collection::new(Finisher::spawn(Waker::new().unwrap()).unwrap(), Spares::default())
}

fn request(wrapped_count: u32) -> SaveRequest {
    SaveRequest { wrapped_count, durable_data_end: 0 }
}

/// Waits for the last records of a provider.
fn take_final(collection: &mut Collection) -> FinalRecords {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(last) = collection.take_final() {
            return last;
        }
        assert!(Instant::now() < deadline, "the thread does not finish");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn archive_ids_count_from_one() {
    let mut collection = collection();
    assert_eq!((0..3).map(|_| collection.next_id()).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn copies_are_checked_oldest_first() {
    let (mut collection, layout) = (collection(), layout(BufferingMode::Streaming));
    for id in [1, 2] {
        let (data, buffer) = provider(layout);
        write_event(&buffer, &layout, 0, 100 + u64::from(id));
        collection.join(id, data);
    }
    assert!(!collection.has_waiting() && collection.sanitize_one().is_none());
    collection.copy(2, request(0), None);
    collection.copy(1, request(0), None);
    assert_eq!(collection.events(), 0);
    for ticks in [102, 101] {
        assert!(collection.has_waiting());
        let records = collection.sanitize_one().unwrap();
        assert!(records.words().contains(&ticks) && !records.is_last());
    }
    assert!(!collection.has_waiting());
    assert_eq!(collection.events(), 2);
}

/// Unchecked copies take as much memory as the buffer at most.
#[test]
fn a_provider_is_behind_with_a_copy_of_each_rolling_buffer() {
    let (mut collection, layout) = (collection(), layout(BufferingMode::Streaming));
    collection.join(1, provider(layout).0);
    for wrapped_count in 0..2 {
        assert!(!collection.is_behind(1), "{wrapped_count} copies");
        collection.copy(1, request(wrapped_count), None);
    }
    assert!(collection.is_behind(1));
    assert!(!collection.is_behind(2), "the provider does not exist");
    collection.sanitize(1).unwrap();
    assert!(!collection.is_behind(1));
}

#[test]
fn departed_providers_stay_in_the_totals() {
    let (mut collection, layout) = (collection(), layout(BufferingMode::Streaming));
    for id in [1, 2, 3] {
        let (data, buffer) = provider(layout);
        write_event(&buffer, &layout, 0, 100);
        write_losses(&buffer, &layout, 5);
        collection.join(id, data);
    }
    assert_eq!(collection.provider(2), Some((7, layout)));
    assert_eq!(collection.buffer_sizes(), 3 * layout.total_size() as u64);
    assert_eq!((collection.providers(), collection.outstanding()), ((3, 3), 0));
    for (id, now) in [(1, 2), (2, 1)] {
        collection.finish(id, DEPARTURE);
        assert_eq!((collection.providers(), collection.outstanding()), ((now, 3), 1));
        let FinalRecords { records, summary } = take_final(&mut collection);
        assert!(records.is_last() && records.words().contains(&100));
        assert_eq!((summary.events, summary.dropped), (1, 5));
    }
    assert_eq!((collection.providers(), collection.outstanding()), ((1, 3), 0));
    assert_eq!((collection.events(), collection.lost()), (2, 15));
    assert_eq!(collection.provider(2), None);
}

#[test]
fn the_data_of_an_unknown_version_is_ignored() {
    let (mut collection, layout) = (collection(), layout(BufferingMode::Streaming));
    let (data, buffer) = provider(layout);
    write_event(&buffer, &layout, 0, 100);
    write_losses(&buffer, &layout, 5);
    collection.join(1, data);
    let end = End::CutOff(crate::machine::Violation::PacketVersion(9));
    collection.finish(1, Departure { end, ..DEPARTURE });
    let last = take_final(&mut collection);
    assert!(!last.records.words().contains(&100));
    assert_eq!((last.summary.events, last.summary.dropped), (0, 0));
}

#[test]
fn an_extract_has_the_uncollected_records_and_changes_nothing() {
    let (mut collection, layout) = (collection(), layout(BufferingMode::Streaming));
    let (data, buffer) = provider(layout);
    write_event(&buffer, &layout, 0, 100);
    collection.join(1, data);
    let extracts = collection.extracts();
    assert_eq!((extracts.len(), collection.events()), (1, 0));
    let records = extracts.into_iter().next().unwrap().into_records();
    assert!(records.words().contains(&100) && records.is_last());
    collection.finish(1, DEPARTURE);
    assert_eq!(take_final(&mut collection).summary.events, 1);
}
