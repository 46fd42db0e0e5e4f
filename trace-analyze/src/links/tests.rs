use proptest::prelude::*;

use super::*;

const KEY: Key = Key { process: 1, label: LabelId(0), id: 7 };

fn at(nanos: u64) -> Moment {
    Moment { nanos, thread: ThreadKoids::UNKNOWN }
}

/// A begin is a number and true.
fn paired(links: &mut Links, halves: &[(u64, bool)]) -> (Vec<(u64, u64)>, Unpaired) {
    let mut found = Vec::new();
    let mut sink = |link: Link| found.push((link.begin.nanos, link.end));
    for (nanos, is_begin) in halves {
        match is_begin {
            true => links.begin(KEY, at(*nanos), &mut sink),
            false => links.end(KEY, at(*nanos), &mut sink),
        }
    }
    let unpaired = links.finish(&mut sink);
    found.sort_unstable();
    (found, unpaired)
}

#[test]
fn halves_find_each_other_in_any_order() {
    let halves = [(10, true), (20, true), (25, false), (5, false), (30, false), (1, true)];
    let (found, unpaired) = paired(&mut Links::default(), &halves);
    assert_eq!((found, unpaired), (vec![(1, 5), (10, 30), (20, 25)], Unpaired::default()));
}

/// The second use of an id has its end before the first one's begin.
#[test]
fn an_id_that_is_used_again_in_a_later_chunk() {
    let halves = [(30, false), (10, true), (20, true), (15, false)];
    let (found, unpaired) = paired(&mut Links::default(), &halves);
    assert_eq!((found, unpaired), (vec![(10, 15), (20, 30)], Unpaired::default()));
}

#[test]
fn an_end_at_the_time_of_its_begin() {
    let (found, unpaired) = paired(&mut Links::default(), &[(5, false), (5, true), (9, true)]);
    assert_eq!((found, unpaired), (vec![(5, 5)], Unpaired { begins: 1, ends: 0 }));
}

#[test]
fn the_oldest_of_too_many_are_counted() {
    let mut links = Links { max_waiting: 8, ..Links::default() };
    let halves: Vec<(u64, bool)> = (0..100).map(|nanos| (nanos, true)).collect();
    let ends = [(102, false), (101, false), (0, false)];
    let (found, unpaired) = paired(&mut links, &[&halves[..], &ends].concat());
    assert_eq!(found, [(98, 102), (99, 101)]);
    assert_eq!(unpaired, Unpaired { begins: 98, ends: 1 });
    assert!(links.waiting.len() <= 8);
}

proptest! {
    /// Operations one after another on four ids, each end on any thread, and
    /// the threads' chunks in any order.
    #[test]
    fn the_order_of_chunks_does_not_matter(
        operations in prop::collection::vec((0..4u64, 1..9u64, 1..9u64, 0..3u64, 0..3u64), 1..60),
        chunk_len in 1..8usize,
        order in any::<u64>(),
    ) {
        let mut now = [0; 4];
        let mut threads: [Vec<(Key, Moment, bool)>; 3] = Default::default();
        let mut known = Vec::new();
        for (id, gap, length, from, to) in operations {
            let key = Key { id, ..KEY };
            let begin = now[id as usize] + gap;
            let end = begin + length;
            now[id as usize] = end;
            for (thread, nanos, is_end) in [(from, begin, false), (to, end, true)] {
                let at = Moment { nanos, thread: ThreadKoids::new(1, thread) };
                threads[thread as usize].push((key, at, is_end));
            }
            known.push((id, begin, end));
        }
        let mut chunks: Vec<&[(Key, Moment, bool)]> = Vec::new();
        for events in &mut threads {
            events.sort_by_key(|(_, at, _)| at.nanos);
            chunks.extend(events.chunks(chunk_len));
        }
        chunks.sort_by_key(|chunk| (chunk[0].1.nanos + chunk[0].1.thread.thread).wrapping_mul(order | 1));
        let mut found = Vec::new();
        let mut sink = |link: Link| found.push((link.key.id, link.begin.nanos, link.end));
        let mut links = Links::default();
        for (key, at, is_end) in chunks.concat() {
            match is_end {
                true => links.end(key, at, &mut sink),
                false => links.begin(key, at, &mut sink),
            }
        }
        prop_assert_eq!(links.finish(&mut sink), Unpaired::default());
        found.sort_unstable();
        known.sort_unstable();
        prop_assert_eq!(found, known);
    }
}
