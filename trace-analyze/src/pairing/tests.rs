use proptest::prelude::*;

use super::*;

const THREAD: Track = Track::Thread(ThreadKoids::new(1, 2));
const OPERATION: Track = Track::Operation { process: 1, id: 2 };
const FLOW: Track = Track::Flow { id: 7 };

#[test]
fn an_empty_category_or_name_of_an_end_matches_any() {
    let mut catalog = Catalog::default();
    let mut label = |category, name| {
        let (category, name) = (catalog.intern(category), catalog.intern(name));
        catalog.label_of(category, name)
    };
    let open = [label("a", "x"), label("a", "y"), label("b", "x"), label("", "")];
    let cases = [
        (label("a", "x"), Some(0)),
        (label("a", ""), Some(1)),
        (label("", "y"), Some(1)),
        (label("", "x"), Some(2)),
        (label("", ""), Some(3)),
        (label("b", "y"), None),
        (label("", "z"), None),
    ];
    for (end, place) in cases {
        let found = begin_of(&catalog, end, &open, |label| Some(*label));
        assert_eq!(found, place, "{}:{}", catalog.category(end), catalog.name(end));
    }
    // Elements that are not begins are skipped.
    let found = begin_of(&catalog, open[3], &open, |label| (*label == open[0]).then_some(*label));
    assert_eq!(found, Some(0));
}

/// An edge is a name, a time, and whether it is an end. Returns pairs and cuts, sorted, and the
/// number of unpaired edges.
fn paired(
    max_waiting: usize,
    track: Track,
    edges: &[(&str, u64, bool)],
) -> (Vec<(u64, u64)>, Unpaired) {
    let mut catalog = Catalog::default();
    let (mut pairs, mut unpaired) = (Vec::new(), Unpaired::default());
    let mut pairing = Pairing::new(max_waiting);
    let mut look = |outcome: Outcome<()>| match outcome {
        Outcome::Pair { begin, end } => pairs.push((begin.nanos, end.nanos)),
        Outcome::Cut { begin, over } => pairs.push((begin.nanos, over)),
        Outcome::Unpaired(edge) => unpaired.count(&edge),
    };
    for (name, nanos, is_end) in edges {
        let (category, name) = (catalog.intern("cat"), catalog.intern(name));
        let label = catalog.label_of(category, name);
        let edge = Edge { track, nanos: *nanos, label, is_end: *is_end, value: (), number: 0 };
        pairing.push(&catalog, edge).for_each(&mut look);
        assert!(pairing.waiting.len() <= max_waiting);
    }
    pairing.finish(&catalog).for_each(&mut look);
    pairs.sort_unstable();
    (pairs, unpaired)
}

const NONE: Unpaired = Unpaired { begins: 0, ends: 0 };

#[test]
fn edges_in_any_order_are_paired_by_time() {
    for track in [THREAD, OPERATION, FLOW] {
        let edges = [("a", 30, true), ("a", 10, false), ("a", 40, true), ("a", 30, false)];
        assert_eq!(paired(100, track, &edges), (vec![(10, 30), (30, 40)], NONE));
        let edges = [("a", 30, true), ("a", 10, false), ("a", 20, false), ("a", 15, true)];
        assert_eq!(paired(100, track, &edges), (vec![(10, 15), (20, 30)], NONE));
        let early = [("a", 30, true), ("a", 30, false), ("a", 31, false)];
        let unpaired = Unpaired { begins: 1, ends: 0 };
        assert_eq!(paired(100, track, &early), (vec![(30, 30)], unpaired));
        let unpaired = Unpaired { begins: 1, ends: 1 };
        let others = [("b", 30, true), ("a", 30, false)];
        assert_eq!(paired(100, track, &others), (vec![], unpaired));
    }
}

#[test]
fn begins_in_an_ended_duration_are_cut() {
    let edges = [("a", 1, false), ("b", 2, false), ("a", 3, true), ("b", 4, true)];
    let unpaired = Unpaired { begins: 0, ends: 1 };
    assert_eq!(paired(100, THREAD, &edges), (vec![(1, 3), (2, 3)], unpaired));
    assert_eq!(paired(100, OPERATION, &edges), (vec![(1, 3), (2, 4)], NONE));
}

#[test]
fn the_oldest_of_too_many_are_given_up() {
    let mut edges: Vec<_> = (0..100).map(|at| ("a", at, false)).collect();
    edges.extend([("a", 102, true), ("a", 101, true), ("a", 0, true)]);
    let (pairs, unpaired) = paired(16, OPERATION, &edges);
    assert_eq!(pairs.len() as u64 + unpaired.begins, 100);
    assert!(pairs.ends_with(&[(98, 102), (99, 101)]), "{pairs:?}");
    // Short operations are still paired.
    let nested = |at: u64| [("a", 2 * at + 1, true), ("a", 2 * at, false)];
    let edges: Vec<_> = (0..100).flat_map(nested).collect();
    let (pairs, unpaired) = paired(16, THREAD, &edges);
    assert_eq!((pairs.len(), unpaired), (100, NONE));
    assert!(pairs.iter().all(|(begin, end)| begin + 1 == *end), "{pairs:?}");
}

proptest! {
    /// Consecutive operations with four ids. Each begin and end is on any thread, and the chunks of
    /// the threads are in any order.
    #[test]
    fn the_order_of_chunks_does_not_matter(
        operations in prop::collection::vec((0..4u64, 1..9u64, 1..9u64, 0..3u64, 0..3u64), 1..60),
        chunk_len in 1..8usize,
        order in any::<u64>(),
    ) {
        let mut catalog = Catalog::default();
        let text = catalog.intern("a");
        let label = catalog.label_of(text, text);
        let mut now = [0; 4];
        let mut threads: [Vec<Edge<()>>; 3] = Default::default();
        let mut known = Vec::new();
        for (id, gap, length, from, to) in operations {
            let begin = now[id as usize] + gap;
            let end = begin + length;
            now[id as usize] = end;
            for (thread, nanos, is_end) in [(from, begin, false), (to, end, true)] {
                let track = Track::Operation { process: 1, id };
                let edge = Edge { track, nanos, label, is_end, value: (), number: 0 };
                threads[thread as usize].push(edge);
            }
            known.push((id, begin, end));
        }
        let mut chunks: Vec<(u64, &[Edge<()>])> = Vec::new();
        for (thread, edges) in (0..).zip(&mut threads) {
            edges.sort_by_key(|edge| edge.nanos);
            chunks.extend(edges.chunks(chunk_len).map(|chunk| (thread, chunk)));
        }
        chunks.sort_by_key(|(thread, chunk)| (chunk[0].nanos + thread).wrapping_mul(order | 1));
        let mut pairing = Pairing::new(1 << 20);
        for edge in chunks.iter().flat_map(|(_, chunk)| *chunk) {
            prop_assert_eq!(pairing.push(&catalog, *edge).count(), 0);
        }
        let mut found = Vec::new();
        for outcome in pairing.finish(&catalog) {
            match outcome {
                Outcome::Pair { begin, end } => match begin.track {
                    Track::Operation { id, .. } => found.push((id, begin.nanos, end.nanos)),
                    other => panic!("{other:?}"),
                },
                other => panic!("{other:?}"),
            }
        }
        found.sort_unstable();
        known.sort_unstable();
        prop_assert_eq!(found, known);
    }
}
