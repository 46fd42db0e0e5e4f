//! Rolling buffers whose copies outlive a manager, or are in a partial archive already.

use std::fs::File;
use std::os::fd::AsFd;

use trace_protocol::buffer::consumer::{Checked, SaveSlot, SlotReader};
use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::saved::SavedMark;

use crate::harness::{instants, Harness, PATIENCE};

fn memory(size: usize) -> File {
    let file = tempfile::tempfile().unwrap();
    file.set_len(size as u64).unwrap();
    file
}

/// Fills the rolling buffers of a streaming buffer up to `wrap`; returns the number of instants.
fn fill(harness: &Harness, wrap: u32) -> u64 {
    let slot = harness.attach(1);
    let mut written = 0;
    while harness.recorder.current() < Some(wrap) {
        assert!(harness.instant(slot, written));
        written += 1;
    }
    harness.recorder.quiesce(PATIENCE);
    written
}

#[test]
fn a_copy_in_a_slot_is_read_as_the_buffer_was() {
    let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let size = SaveSlot::size(&harness.layout);
    assert_eq!(size, 4096 + harness.layout.rolling_size());
    let file = memory(size);
    let slot = SaveSlot::map(file.as_fd(), size).unwrap();
    let reader = SlotReader::map(file.as_fd(), size).unwrap();
    assert_eq!((reader.wrapped_count(), reader.owner()), (None, None));
    assert!(slot.is_free(0), "there is no copy in it");

    fill(&harness, 1);
    let mut direct = Vec::new();
    let mut other = harness.collector.clone();
    other.collect_durable(harness.durable.end(), &mut direct);
    let save = other.copy_rolling(0);
    assert!(save.size() > harness.layout.rolling_size() / 2, "{}", save.size());
    assert!(save.size() <= harness.layout.rolling_size());
    other.sanitize(save, &mut direct);

    harness.collector.copy_rolling_into(0, &slot, 42);
    assert_eq!((reader.wrapped_count(), reader.owner()), (Some(0), Some(42)));
    let mut through = Vec::new();
    harness.collector.collect_durable(harness.durable.end(), &mut through);
    harness.collector.sanitize_slot(&reader, &mut through);
    assert_eq!(through, direct);
    assert!(instants(&through, 1).len() > 1000);
}

#[test]
fn a_copy_is_checked_in_parts() {
    let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let slot_size = SaveSlot::size(&harness.layout);
    let slot = SaveSlot::map(memory(slot_size).as_fd(), slot_size).unwrap();
    fill(&harness, 1);
    let mut names = Vec::new();
    harness.collector.collect_durable(harness.durable.end(), &mut names);
    let mut before = harness.collector.clone();
    before.copy_rolling_into(0, &slot, 1);
    let mut whole = names.clone();
    let save = harness.collector.copy_rolling(0);
    let size = save.size();
    harness.collector.sanitize(save, &mut whole);
    assert!(instants(&whole, 1).len() > 1000);

    for words in [1, size / 8 / 5, size / 8, usize::MAX] {
        let [mut own, mut shared] = [before.clone(), before.clone()];
        let mut save = own.copy_rolling(0);
        let (mut checked, mut parts, mut number) = (Checked::default(), names.clone(), 1);
        while own.sanitize_part(&mut save, &mut checked, words, &mut parts) {
            number += 1;
        }
        let (mut checked, mut through, mut through_number) = (Checked::default(), names.clone(), 1);
        while shared.sanitize_slot_part(&slot.reader(), &mut checked, words, &mut through) {
            through_number += 1;
        }
        assert_eq!((&parts, &through), (&whole, &whole), "parts of {words} words");
        assert_eq!(number, through_number);
        assert!(number <= size / 8 / words + 1, "{number} parts of {words} words");
        assert_eq!(number > 1, words < size / 8, "{number} parts of {words} words");
    }
}

#[test]
fn a_slot_is_free_once_its_copy_is_in_the_archive() {
    let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let size = SaveSlot::size(&harness.layout);
    let slot = SaveSlot::map(memory(size).as_fd(), size).unwrap();
    let reader = slot.reader();
    fill(&harness, 1);
    harness.collector.copy_rolling_into(0, &slot, 1);
    assert!(!slot.is_free(u64::MAX - 1), "the copy has no place in the archive yet");
    assert!(!reader.is_archived(u64::MAX - 1));
    slot.set_end(1000);
    assert!(!slot.is_free(999) && !reader.is_archived(999));
    assert!(slot.is_free(1000) && reader.is_archived(1000));
    harness.recorder.mark_saved(0);
    harness.collector.copy_rolling_into(1, &slot, 1);
    assert_eq!(reader.wrapped_count(), Some(1), "another copy");
    assert!(!slot.is_free(1000));
}

#[test]
fn a_slot_takes_what_fits_and_no_less_than_a_page() {
    let harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let size = SaveSlot::size(&harness.layout);
    let file = memory(size);
    assert!(SaveSlot::map(file.as_fd(), size).unwrap().fits(&harness.layout));
    assert!(!SaveSlot::map(file.as_fd(), size - 8).unwrap().fits(&harness.layout));
    assert!(SaveSlot::map(file.as_fd(), 4096).is_ok());
    let error = SaveSlot::map(file.as_fd(), 4088).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
}

#[test]
fn a_mark_holds_a_length_and_the_low_bits_of_a_wrap() {
    let mapping = WriteMapping::anonymous(4096);
    let (mark, reader) = (SavedMark::new(mapping.clone()), mapping.reader());
    assert_eq!(SavedMark::read(&reader), (0, 0));
    for (saved, length) in [(1, 8), (7, 4096), ((1 << 24) - 1, (1 << 43) - 8)] {
        mark.set(saved, length);
        assert_eq!(SavedMark::read(&reader), (saved, length));
    }
    mark.set((5 << 24) + 3, 16);
    assert_eq!(SavedMark::read(&reader), (3, 16));
}

#[test]
fn wraps_that_an_archive_holds_are_passed_over() {
    for (saved, passed_over) in [(0, 0), (1, 1), (2, 2)] {
        let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
        let written = fill(&harness, 1);
        let collector = &mut harness.collector;
        collector.skip_saved(saved);
        let mut out = Vec::new();
        harness.finish(&mut out);
        let kept = instants(&out, 1);
        match passed_over {
            0 => assert_eq!(kept, Vec::from_iter(0..written)),
            1 => assert_eq!(kept, [written - 1], "that of the second wrap"),
            _ => assert_eq!(kept, []),
        }
    }
}

/// Who takes over from another collector reads what that one did not.
#[test]
fn a_collector_resumes_behind_the_last_saved_wrap() {
    for (last, kept) in [(None, true), (Some(0), false)] {
        let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
        let written = fill(&harness, 1);
        harness.collector.resume(last);
        let mut out = Vec::new();
        harness.finish(&mut out);
        let instants = instants(&out, 1);
        assert_eq!(instants.first() == Some(&0), kept);
        assert_eq!(instants.last(), Some(&(written - 1)));
    }
}
