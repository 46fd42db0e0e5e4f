//! Merged events of CPUs.

use std::io::Write;

use super::super::clock;
use super::*;
use crate::format::page_layout;
use crate::ByteOrder;
use trace_protocol::message::ClockSource;

/// Returns a page of events with these times, whose ids are `id`, after a number of losses.
fn page(id: u16, times: &[u64], missed: u64) -> Vec<u8> {
    let mut events = Vec::new();
    let mut last = times[0];
    for time in times {
        let (words, delta) = (1, (time - last) as u32);
        events.extend(match ByteOrder::NATIVE {
            ByteOrder::Little => (words | delta << 5).to_ne_bytes(),
            ByteOrder::Big => (words << 27 | delta).to_ne_bytes(),
        });
        events.extend(id.to_ne_bytes());
        events.extend([0; 2]);
        last = *time;
    }
    let flags = if missed > 0 { 1_u64 << 31 | 1 << 30 } else { 0 };
    let commit = events.len() as u64 | flags;
    let mut page = [times[0].to_ne_bytes(), commit.to_ne_bytes()].concat();
    page.extend(events);
    page.extend(missed.to_ne_bytes());
    page.resize(4096, 0);
    page
}

/// Returns the streams of CPUs with these pages, and reads `read` pages of each.
fn streams(cpus: &[&[Vec<u8>]], read: usize) -> Vec<Stream> {
    let (_, clock) = clock::choose("x86-tsc", ClockSource::CpuCounter);
    let text = include_str!("../../../tests/captured/header_page");
    let layout = page_layout(text, ByteOrder::NATIVE).unwrap();
    let streams = (0..).zip(cpus).map(|(cpu, pages)| {
        let mut file = tempfile::tempfile().unwrap();
        pages.iter().for_each(|page| file.write_all(page).unwrap());
        io::Seek::rewind(&mut file).unwrap();
        let mut stream = Stream::new(file, cpu, layout);
        stream.read(read * 4096, &clock).unwrap();
        stream
    });
    streams.collect()
}

/// Returns the CPU, id and ticks of the events before `end`.
fn drained(streams: &mut [Stream], end: u64) -> Vec<(u16, u16, u64)> {
    let mut visited = Vec::new();
    drain(streams, end, |event| visited.push((event.cpu, event.raw.id, event.raw.time)));
    visited
}

#[test]
fn events_of_all_cpus_are_in_the_order_of_time() {
    let cpus =
        [&[page(1, &[10, 30, 31], 0), page(2, &[60, 70], 0)][..], &[page(3, &[5, 30, 65], 0)], &[]];
    let mut streams = streams(&cpus, 2);
    let first = [(1, 3, 5), (0, 1, 10), (0, 1, 30), (1, 3, 30)];
    assert_eq!(drained(&mut streams, 31), first);
    assert_eq!(drained(&mut streams, 31), []);
    assert_eq!(drained(&mut streams, 66), [(0, 1, 31), (0, 2, 60), (1, 3, 65)]);
    assert_eq!(drained(&mut streams, u64::MAX), [(0, 2, 70)]);
    assert!(streams.iter().all(|stream| stream.pages.is_empty() && stream.page.is_empty()));
}

#[test]
fn pages_are_removed_when_their_events_have_been_visited() {
    let pages: Vec<Vec<u8>> =
        (0..50).map(|at| page(at, &[10 * u64::from(at), 10 * u64::from(at) + 9], 0)).collect();
    let mut streams = streams(&[&pages], 0);
    let (_, clock) = clock::choose("x86-tsc", ClockSource::CpuCounter);
    let mut visited = Vec::new();
    for at in 0..50_u64 {
        assert!(streams[0].read(1, &clock).unwrap().has_more);
        // The last event of each page stays for the next round.
        visited.extend(drained(&mut streams, 10 * at + 9));
    }
    visited.extend(drained(&mut streams, u64::MAX));
    let expected = (0..50).flat_map(|at| {
        let time = 10 * u64::from(at);
        [(0, at, time), (0, at, time + 9)]
    });
    assert!(visited.into_iter().eq(expected));
    assert!(streams[0].free.len() <= 2);
}

#[test]
fn a_loss_is_before_the_next_event_of_its_cpu() {
    let cpus = [&[page(1, &[10, 20], 0), page(1, &[40], 3)][..], &[page(2, &[15, 50], 0)]];
    let mut streams = streams(&cpus, 2);
    let mut losses = Vec::new();
    drain(&mut streams, u64::MAX, |event| losses.extend(event.loss.map(|it| (event.raw.time, it))));
    assert_eq!(losses, [(40, Loss { missed: Missed::Count(3), since: 20 })]);
}

/// The other CPUs' events after those that have been read of a CPU may not be the next ones.
#[test]
fn a_cpu_with_more_pages_delays_the_later_events_of_others() {
    let cpus = [&[page(1, &[10, 20], 0), page(1, &[25, 40], 0)][..], &[page(2, &[15, 30], 0)]];
    let mut streams = streams(&cpus, 1);
    let (_, clock) = clock::choose("x86-tsc", ClockSource::CpuCounter);
    let mut ends = Vec::new();
    drain(&mut streams, 100, |_| ());
    let more = [0, 1].map(|cpu: usize| streams[cpu].read(1, &clock).unwrap().has_more);
    assert_eq!(more, [true, false]);
    let mut visited = Vec::new();
    ends.push(drain(&mut streams, 100, |event| visited.push(event.raw.time)));
    assert_eq!((visited, ends), (vec![25, 30, 40], vec![40]));
}

/// As those of a program that has moved to another CPU.
#[test]
fn pages_that_wait_for_another_cpu_stay_in_the_kernel() {
    let pages = |from: u64| -> Vec<Vec<u8>> {
        (0..20).map(|at| page(1, &[from + 10 * at, from + 10 * at + 9], 0)).collect()
    };
    let mut streams = streams(&[&pages(0), &pages(1000)], 0);
    let (_, clock) = clock::choose("x86-tsc", ClockSource::CpuCounter);
    let (mut visited, mut has_more) = (Vec::new(), true);
    while has_more {
        has_more = false;
        for stream in &mut streams {
            has_more |= stream.read(2 * 4096, &clock).unwrap().has_more;
            assert!(stream.pages.len() <= 2);
        }
        let round = drained(&mut streams, u64::MAX);
        assert!(round.len() <= 2 * 3 * 2, "the pages of a round, and one of each CPU before");
        visited.extend(round);
    }
    assert_eq!(visited.len(), 80);
    assert!(visited.is_sorted_by_key(|(_, _, ticks)| *ticks));
}

#[test]
fn a_cpu_that_was_never_online_has_no_pages() {
    let failed = |error: Errno| available(Err(error.into()));
    assert_eq!(failed(Errno::NODEV).unwrap(), 0);
    assert_eq!(failed(Errno::AGAIN).unwrap(), 0);
    assert!(failed(Errno::IO).is_err());
    assert_eq!(available(Ok(4096)).unwrap(), 4096);
}
