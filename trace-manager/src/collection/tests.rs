use std::time::{Duration, Instant};

use super::*;
use crate::category_filter::CategoryFilter;
use crate::fixture::{
    identity, layout, layout_with, provider, write_event, write_events, write_loss_report,
    write_losses, write_reported_losses, write_wrapped_count,
};
use crate::machine::End;
use crate::records::Records;
use crate::waker::Waker;
use trace_protocol::archive::ClockSample;
use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::buffer::producer::LossReason;

const DEPARTURE: Departure = Departure {
    end: End::Terminated,
    answered_start: true,
    answered_stop: true,
    elapsed: BTreeMap::new(),
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
    collection.copy(2, request(0), Vec::new());
    collection.copy(1, request(0), Vec::new());
    let events =
        |collection: &Collection| collection.of_session(1).map(ProviderData::events).sum::<u64>();
    assert_eq!(events(&collection), 0);
    for ticks in [102, 101] {
        assert!(collection.has_waiting());
        let Collected { records, .. } = collection.sanitize_one().unwrap();
        assert!(records.words().contains(&ticks) && !records.is_last());
    }
    assert!(!collection.has_waiting());
    assert_eq!(events(&collection), 2);
}

/// Unchecked copies take as much memory as the buffer at most.
#[test]
fn a_provider_is_behind_with_a_copy_of_each_rolling_buffer() {
    let (mut collection, layout) = (collection(), layout(BufferingMode::Streaming));
    collection.join(1, provider(layout).0);
    for wrapped_count in 0..2 {
        assert!(!collection.is_behind(1), "{wrapped_count} copies");
        collection.copy(1, request(wrapped_count), Vec::new());
    }
    assert!(collection.is_behind(1));
    assert!(!collection.is_behind(2), "the provider does not exist");
    collection.sanitize(1).unwrap();
    assert!(!collection.is_behind(1));
}

/// A collection with a provider whose first rolling buffer has a record in each of its many units,
/// and is copied. Returns the number of the records.
fn collection_with_large_copy() -> (Collection, u64) {
    let (mut collection, layout) = (collection(), layout_with(BufferingMode::Streaming, 160 << 10));
    let (data, buffer) = provider(layout);
    let number = write_events(&buffer, &layout, 0);
    collection.join(1, data);
    collection.copy(1, request(0), Vec::new());
    (collection, number)
}

/// Returns how often each of the events with the ticks up to `number` is there.
fn counts_of(words: &[u64], number: u64) -> Vec<usize> {
    let mut reader = trace_format::Reader::new(trace_protocol::words::as_bytes(words));
    let mut counts = vec![0; number as usize];
    while let Some(item) = reader.next().unwrap() {
        if let trace_format::Record::Event(event) = item.record {
            counts[event.ticks as usize - 1] += 1;
        }
    }
    counts
}

#[test]
fn a_large_copy_is_checked_in_parts() {
    let (mut collection, number) = collection_with_large_copy();
    let mut parts = 1;
    let collected = loop {
        assert!(collection.has_waiting());
        match collection.sanitize_part() {
            Some(collected) => break collected,
            None => assert!(collection.has_begun_check(1)),
        }
        parts += 1;
    };
    assert!((4..10).contains(&parts), "{parts}");
    assert!(!collection.has_waiting() && !collection.has_begun_check(1));
    assert_eq!(counts_of(&collected.records.words, number), vec![1; number as usize]);
}

#[test]
fn a_check_that_has_begun_can_be_ended_at_once() {
    let (mut collection, number) = collection_with_large_copy();
    assert!(collection.sanitize_part().is_none());
    let Collected { records, .. } = collection.sanitize(1).unwrap();
    assert_eq!(counts_of(&records.words, number), vec![1; number as usize]);
    assert!(collection.sanitize_part().is_none() && !collection.has_waiting());
}

/// The archive has each record that a summary counts.
#[test]
fn the_last_records_have_those_of_a_check_that_has_begun() {
    let violation = End::CutOff(crate::machine::Violation::PacketVersion(2));
    for end in [End::Terminated, End::TimedOut, violation] {
        let (mut collection, number) = collection_with_large_copy();
        assert!(collection.sanitize_part().is_none());
        let is_read = !end.ignores_data();
        collection.finish(1, Departure { end, ..DEPARTURE });
        let last = take_final(&mut collection);
        let found: usize = counts_of(&last.words, number).iter().sum();
        assert_eq!(found as u64, last.sessions[0].1.summary.events);
        assert!(found > 0);
        assert_eq!(found as u64 == number, is_read);
        assert!(collection.sanitize_part().is_none() && !collection.has_waiting());
    }
}

#[test]
fn the_last_records_are_those_of_each_session() {
    let (mut collection, layout) = (collection(), layout(BufferingMode::Streaming));
    let (mut data, buffer) = provider(layout);
    write_event(&buffer, &layout, 0, 100);
    write_losses(&buffer, &layout, 5);
    data.open_late(2, data.base(), 50, Duration::ZERO);
    collection.join(1, data);
    assert_eq!(collection.sessions(1), [1, 2]);
    assert_eq!((collection.of_session(2).count(), collection.of_session(3).count()), (1, 0));
    assert_eq!(collection.buffer_sizes(2), layout.total_size() as u64);
    write_losses(&buffer, &layout, 7);
    collection.finish(1, DEPARTURE);
    assert_eq!((collection.sessions(1).len(), collection.outstanding()), (0, 1));
    let last = take_final(&mut collection);
    assert!(last.words.contains(&100));
    let of = |session| &last.sessions.iter().find(|(number, _)| *number == session).unwrap().1;
    assert_eq!((of(1).summary.events, of(1).summary.dropped), (1, 7));
    assert_eq!(of(2).summary.dropped, 2, "the other records were dropped before it joined");
    let reasons = [1, 2].map(|session| of(session).summary.dropped_by_reason.clone());
    assert_eq!(reasons, [7, 2].map(|number| vec![(LossReason::BufferFull, number)]));
    assert_eq!(of(1).summary.durable_size, layout.durable_size() as u64);
    let closing = of(2).closed.closing.as_ref().unwrap();
    assert_eq!((closing.dropped, closing.from), (2, 50));
    let unreported = closing.unreported.iter().map(|lost| (lost.number, lost.from, lost.to));
    assert_eq!(unreported.collect::<Vec<_>>(), [(2, 50, 50)]);
}

/// Records of a rolling buffer that is written meanwhile could have gaps.
#[test]
fn the_buffer_of_a_provider_that_may_record_is_read_as_one_that_is_written() {
    let layout = layout(BufferingMode::Circular);
    let violation = End::CutOff(crate::machine::Violation::Flood);
    for (end, is_written) in [
        (End::TimedOut, true),
        (violation, true),
        (End::Terminated, false),
        (End::Disconnected, false),
    ] {
        let (data, buffer) = provider(layout);
        write_event(&buffer, &layout, 0, 100);
        write_event(&buffer, &layout, 1, 101);
        // The provider is about to overwrite the first one.
        write_wrapped_count(&buffer, &layout, 2);
        let last = data.finish(1, &Departure { end, ..DEPARTURE }, &Spares::default());
        assert!(last.words.contains(&101));
        assert_eq!(last.words.contains(&100), !is_written);
    }
}

/// The provider continues for the other session.
#[test]
fn a_session_can_leave_a_provider() {
    let (mut collection, layout) = (collection(), layout(BufferingMode::Streaming));
    let (mut data, buffer) = provider(layout);
    data.open_late(2, data.base(), 50, Duration::ZERO);
    write_losses(&buffer, &layout, 5);
    let elapsed = [(1, Duration::from_secs(3))].into();
    let last = data.leave(1, &Departure { elapsed, ..DEPARTURE }, None).unwrap().0;
    assert_eq!((last.summary.dropped, last.summary.left_after.as_secs()), (5, 3));
    assert!(data.leave(1, &DEPARTURE, None).is_none());
    collection.join(1, data);
    assert_eq!(collection.sessions(1), [2]);
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
    assert!(!last.words.contains(&100));
    let (_, session) = &last.sessions[0];
    assert_eq!((session.summary.events, session.summary.dropped), (0, 0));
    assert!(session.closed.closing.is_none());
}

#[test]
fn an_extract_has_the_uncollected_records_and_changes_nothing() {
    let (mut collection, layout) = (collection(), layout(BufferingMode::Streaming));
    let (data, buffer) = provider(layout);
    write_event(&buffer, &layout, 0, 100);
    collection.join(1, data);
    assert!(collection.extract(1, 2).is_none(), "another session");
    let extract = collection.extract(1, 1).unwrap();
    assert_eq!(collection.provider(1).unwrap().events(), 0);
    assert!(extract.into_words(&mut []).contains(&100));
    collection.finish(1, DEPARTURE);
    assert_eq!(take_final(&mut collection).sessions[0].1.summary.events, 1);
}

/// Returns the numbers of lost records that the events of these records report.
fn losses(words: &[u64]) -> Vec<u64> {
    let bytes = trace_protocol::words::as_bytes(words);
    let mut reader = trace_format::Reader::new(bytes);
    let mut numbers = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        let trace_format::Record::Event(event) = &item.record else { continue };
        let is_loss = item.text(event.name) == trace_format::notes::RECORDS_DROPPED;
        numbers.extend(event.arguments.iter().find_map(|it| match it.value {
            trace_format::Value::Uint64(number) if is_loss => Some(number),
            _ => None,
        }));
    }
    numbers
}

/// The provider reports a loss after the cut of the part in which it occurred.
#[test]
fn a_loss_is_reported_in_one_part() {
    let layout = layout(BufferingMode::Streaming);
    let (mut data, buffer) = provider(layout);
    let now = trace_protocol::archive::ClockSample::now();
    let ends = |closing: &trace_protocol::archive::Closing| {
        let mut words = Vec::new();
        closing.write_now(&mut words, &identity(), &now);
        words
    };
    write_losses(&buffer, &layout, 5);
    let (first, _) = data.cut(1, &now, 0).unwrap();
    write_loss_report(&buffer, &layout, 0, 5);
    data.copy(request(0), Vec::new());
    let second = data.sanitize_part(1, usize::MAX, &Spares::default()).unwrap();
    let last = data.leave(1, &DEPARTURE, None).unwrap().0;
    let last = last.closed.closing.unwrap();
    let parts = [ends(&first), second.records.words.to_vec(), ends(&last)];
    assert_eq!(parts.map(|words| losses(&words)), [vec![], vec![5], vec![]]);
    assert_eq!((first.reported_later, last.dropped, last.reported), (Some(5), 5, 5));
}

/// The session ends, and the buffer has the record that reports a loss.
#[test]
fn the_rest_of_a_buffer_has_its_reports_of_losses() {
    let layout = layout(BufferingMode::Streaming);
    let (mut data, buffer) = provider(layout);
    write_losses(&buffer, &layout, 5);
    write_loss_report(&buffer, &layout, 0, 5);
    let mut words = Records::begin(&Spares::default(), identity().id);
    let (last, reported) = data.leave(1, &DEPARTURE, Some(&mut words)).unwrap();
    let closing = last.closed.closing.unwrap();
    assert_eq!((losses(&words), reported, closing.reported), (vec![5], 5, 5));
}

/// The provider reports losses from before the session has joined. Then it loses others, which it
/// reports in a rolling buffer that the session does not get.
#[test]
fn losses_from_before_a_session_has_joined_hide_no_later_ones() {
    let layout = layout(BufferingMode::Streaming);
    let (mut data, buffer) = provider(layout);
    write_losses(&buffer, &layout, 5);
    data.open_late(2, data.base(), 15, Duration::ZERO);
    write_loss_report(&buffer, &layout, 0, 5);
    data.copy(request(0), Vec::new());
    data.sanitize_part(1, usize::MAX, &Spares::default()).unwrap();
    write_reported_losses(&buffer, &layout, 8);
    let closing = data.leave(2, &DEPARTURE, None).unwrap().0.closed.closing.unwrap();
    let mut words = Vec::new();
    closing.write_now(&mut words, &identity(), &trace_protocol::archive::ClockSample::now());
    assert_eq!((closing.dropped, losses(&words)), (3, vec![3]));
}

/// The session retains the record that reports a loss, and passes it on at its end.
#[test]
fn a_loss_whose_report_is_retained_is_reported_later() {
    let layout = layout(BufferingMode::Streaming);
    let (mut data, buffer) = provider(layout);
    let now = trace_protocol::archive::ClockSample::now();
    write_losses(&buffer, &layout, 5);
    write_loss_report(&buffer, &layout, 0, 5);
    data.copy(request(0), Vec::new());
    data.sanitize_part(1, usize::MAX, &Spares::default()).unwrap();
    let (first, reported) = data.cut(1, &now, 5).unwrap();
    assert_eq!((first.reported_later, first.reported, reported), (Some(5), 0, 0));
    let last = data.leave(1, &DEPARTURE, None).unwrap().0;
    let last = last.closed.closing.unwrap();
    assert_eq!((last.dropped, last.reported), (5, 5));
}

/// Each part has the number of its losses. The last part reports those that the provider did not.
#[test]
fn the_last_part_reports_the_losses_that_the_provider_did_not() {
    let layout = layout(BufferingMode::Streaming);
    let (mut data, buffer) = provider(layout);
    let now = trace_protocol::archive::ClockSample::now();
    let mut numbers = Vec::new();
    for losses in [5, 5, 7] {
        write_losses(&buffer, &layout, losses);
        let (closing, reported) = data.cut(1, &now, 0).unwrap();
        numbers.push((closing.dropped, closing.reported_later, reported));
    }
    assert_eq!(numbers, [(5, Some(5), 0), (0, Some(0), 0), (2, Some(2), 0)]);
    let last = data.leave(1, &DEPARTURE, None).unwrap().0;
    let closing = last.closed.closing.unwrap();
    let mut words = Vec::new();
    closing.write_now(&mut words, &identity(), &now);
    assert_eq!((closing.reported_later, losses(&words)), (None, vec![7]));
    assert_eq!(last.summary.dropped, 7);
    assert!(data.cut(2, &now, 0).is_none(), "another session");
}

/// The copy is made by the thread that counts, and so not by the event loop.
#[test]
fn a_count_has_the_events_until_its_copy() {
    let (mut collection, layout) = (collection(), layout(BufferingMode::Circular));
    let (data, buffer) = provider(layout);
    collection.join(1, data);
    let mut filter = CategoryFilter::new(&[], Spares::default());
    filter.add(identity().id, 0);
    assert!(collection.uncounted(2).is_empty(), "the provider is not of this session");
    let mut buffers = collection.uncounted(1);
    write_event(&buffer, &layout, 0, 100);
    write_event(&buffer, &layout, 1, 200);
    write_wrapped_count(&buffer, &layout, 1);
    let counted = std::thread::spawn(move || buffers.remove(0).count_events(&mut filter));
    assert_eq!(counted.join().unwrap(), (identity().id, 2));
    let events = collection.of_session(1).map(ProviderData::events).sum::<u64>();
    assert_eq!(events, 0, "the collector is not changed");
}

/// Records that a provider has not handed over may be of any earlier time.
#[test]
fn records_are_complete_until_a_rolling_buffer_that_is_passed_on() {
    let (mut collection, layout) = (collection(), layout(BufferingMode::Streaming));
    let (data, buffer) = provider(layout);
    collection.join(1, data);
    let until =
        |collection: &mut Collection, now| collection.provider_mut(1).unwrap().complete_until(now);
    assert_eq!(until(&mut collection, 10), 10, "nothing is written");
    write_event(&buffer, &layout, 0, 15);
    assert_eq!([20, 9_000].map(|now| until(&mut collection, now)), [10, 10]);
    write_wrapped_count(&buffer, &layout, 1);
    collection.copy(1, request(0), Vec::new());
    assert_eq!(until(&mut collection, 9_001), 10, "the copy is not checked");
    collection.sanitize_one().unwrap();
    assert_eq!(until(&mut collection, 9_002), 9_002, "the next one has no records");
    write_event(&buffer, &layout, 1, 9_003);
    assert_eq!(until(&mut collection, 9_004), 9_002);
    write_wrapped_count(&buffer, &layout, 2);
    write_event(&buffer, &layout, 2, 9_005);
    collection.copy(1, request(1), Vec::new());
    collection.sanitize_one().unwrap();
    assert_eq!(until(&mut collection, 9_006), 9_004, "the time at which 1 was written");
    write_wrapped_count(&buffer, &layout, 3);
    collection.copy(1, request(2), Vec::new());
    collection.sanitize_one().unwrap();
    assert_eq!(until(&mut collection, 9_007), 9_007);
}

/// The circular buffer has overwritten four rolling buffers before the second session joins.
#[test]
fn a_session_that_joins_a_stream_has_no_earlier_overwritten_buffers() {
    let layout = layout(BufferingMode::Circular);
    let (mut data, buffer) = provider(layout);
    write_event(&buffer, &layout, 4, 101);
    data.stream_from(4, 5);
    assert_eq!((data.layout().mode(), data.last_saved()), (BufferingMode::Streaming, Some(3)));
    let base = data.base();
    data.open_late(2, base, 90, Duration::ZERO);
    let now = ClockSample::now();
    let mut overwritten = |session| data.cut(session, &now, 0).unwrap().0.overwritten;
    assert_eq!([overwritten(1), overwritten(1), overwritten(2)], [4, 0, 0]);
    data.copy(request(4), Vec::new());
    let last = data.finish(1, &DEPARTURE, &Spares::default());
    let ends = last.sessions.iter().map(|(_, last)| {
        (last.closed.closing.as_ref().unwrap().overwritten, last.summary.overwritten)
    });
    assert_eq!(ends.collect::<Vec<_>>(), [(0, 4), (0, 0)], "the first part has reported them");
    assert!(last.words.contains(&101));
}

/// The reports of 5 losses were overwritten, and nobody gets them.
#[test]
fn losses_whose_reports_are_overwritten_are_those_of_the_earlier_session() {
    let layout = layout(BufferingMode::Circular);
    let (mut data, buffer) = provider(layout);
    write_event(&buffer, &layout, 4, 101);
    write_reported_losses(&buffer, &layout, 5);
    data.stream_from(4, 5);
    data.copy(request(4), Vec::new());
    let _collected = data.sanitize_part(1, usize::MAX, &Spares::default()).unwrap();
    let base = data.base();
    assert_eq!(
        (base.dropped(), data.overwritten_reports(&base), data.unreported(&base).total()),
        (5, 5, 0)
    );
    data.open_late(2, base, 90, Duration::ZERO);
    write_event(&buffer, &layout, 5, 102);
    let last = data.finish(1, &DEPARTURE, &Spares::default());
    let unreported = last.sessions.iter().map(|(_, last)| {
        let closing = last.closed.closing.as_ref().unwrap();
        let numbers = closing.unreported.iter().map(|lost| lost.number);
        (closing.dropped, closing.reported, numbers.sum::<u64>())
    });
    assert_eq!(unreported.collect::<Vec<_>>(), [(5, 0, 5), (0, 0, 0)]);
}

/// A hostile provider could have each later copy compare all entries of its loss table.
#[test]
fn overwritten_reports_are_counted_until_the_copy_of_the_current_rolling_buffer_is_checked() {
    let layout = layout(BufferingMode::Circular);
    let (mut data, buffer) = provider(layout);
    write_event(&buffer, &layout, 5, 101);
    write_reported_losses(&buffer, &layout, 5);
    data.stream_from(4, 5);
    let check = |data: &mut ProviderData, wrapped_count, reported| {
        data.copy(request(wrapped_count), Vec::new());
        write_reported_losses(&buffer, &layout, reported);
        let collected = data.sanitize_part(1, usize::MAX, &Spares::default()).unwrap();
        if wrapped_count == 4 {
            let base = data.base();
            data.open_late(2, base, 90, Duration::ZERO);
        }
        (collected.counts_overwritten, data.losses_before(2).unwrap())
    };
    assert_eq!(check(&mut data, 4, 5), (false, (5, 5)));
    write_reported_losses(&buffer, &layout, 3);
    assert_eq!(check(&mut data, 5, 9), (true, (5, 3)), "the loss table at the time of the copy");
    assert_eq!(check(&mut data, 6, 1), (false, (5, 3)), "a provider that takes reports back");
}
