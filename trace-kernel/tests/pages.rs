//! Pages: each kind of entry, malformed ones, and random ones.

mod common;

use common::{entries, layout, page, Entry, HEADER_BYTES};
use proptest::prelude::*;
use trace_kernel::page::{Missed, PageError, PageFault, RawEvent};
use trace_kernel::ByteOrder;

const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];

/// Returns times, ids and offsets of a page's events, and the error after them.
fn read(order: ByteOrder, page: &[u8]) -> (Vec<(u64, u16, usize)>, Option<PageError>) {
    let mut found = Vec::new();
    let events = match layout(order).parse(page) {
        Ok(page) => page.events(),
        Err(error) => return (found, Some(error)),
    };
    for event in events {
        match event {
            Ok(RawEvent { time, id, offset, .. }) => found.push((time, id, offset)),
            Err(error) => return (found, Some(error)),
        }
    }
    (found, None)
}

fn event(delta: u32, id: u16, length: usize) -> Entry {
    Entry::Event { delta, id, payload: vec![7; length] }
}

#[test]
fn each_kind_of_entry() {
    for order in ORDERS {
        let data = entries(
            order,
            &[
                event(5, 1, 2),
                Entry::Extend(1 << 40),
                event(3, 2, 110),
                event(0, 3, 111),
                Entry::Padding { delta: 10, length: 12 },
                event(1, 4, 6),
                Entry::Stamp(1 << 50),
                event(0, 5, 0),
            ],
        );
        let late = 100 + 5 + (1 << 40) + 3;
        let (found, error) = read(order, &page(order, 100, 0, &data));
        assert_eq!(error, None);
        let times: Vec<_> = found.iter().map(|(time, id, _)| (*time, *id)).collect();
        assert_eq!(times, [(105, 1), (late, 2), (late, 3), (late + 11, 4), (1 << 50, 5)]);
    }
}

#[test]
fn payloads_are_those_of_the_page() {
    let data = entries(ByteOrder::Little, &[event(0, 300, 5), event(0, 301, 200)]);
    let bytes = page(ByteOrder::Little, 0, 0, &data);
    let page = layout(ByteOrder::Little).parse(&bytes).unwrap();
    let found: Vec<_> = page.events().map(Result::unwrap).collect();
    assert_eq!(found[0].payload, b"\x2c\x01\x07\x07\x07\x07\x07\0");
    assert_eq!(found[0].offset, HEADER_BYTES);
    assert_eq!(found[0].payload.as_ptr(), bytes[HEADER_BYTES + 4..].as_ptr());
    assert_eq!((found[1].payload.len(), found[1].offset), (204, HEADER_BYTES + 12));
}

#[test]
fn the_rest_of_a_page_may_be_padding() {
    for order in ORDERS {
        let mut data = entries(order, &[event(1, 1, 2), Entry::Padding { delta: 0, length: 0 }]);
        data.resize(100, 0);
        assert_eq!(read(order, &page(order, 0, 0, &data)), (vec![(1, 1, HEADER_BYTES)], None));
    }
}

#[test]
fn absolute_times_have_59_bits() {
    let upper = 5 << 59;
    // The low bits of the second time are below those of the page: they have wrapped.
    for (stamp, time) in [(2000, upper + 2000), (500, upper + (1 << 59) + 500)] {
        let data = entries(ByteOrder::Little, &[Entry::Stamp(stamp), event(0, 1, 2)]);
        let (found, _) = read(ByteOrder::Little, &page(ByteOrder::Little, upper + 1000, 0, &data));
        assert_eq!(found[0].0, time);
    }
    // Without upper bits, a time may go back: some clocks do.
    let data = entries(ByteOrder::Little, &[Entry::Stamp(500), event(0, 1, 2)]);
    let (found, _) = read(ByteOrder::Little, &page(ByteOrder::Little, 1000, 0, &data));
    assert_eq!(found[0].0, 500);
}

#[test]
fn missed_events() {
    for order in ORDERS {
        let data = entries(order, &[event(1, 1, 2)]);
        let missed = |flags, behind: &[u8]| {
            let bytes = [page(order, 0, flags, &data), behind.to_vec()].concat();
            let page = layout(order).parse(&bytes).unwrap();
            assert_eq!(page.events().count(), 1);
            page.missed
        };
        let count = if order == ByteOrder::Big { 77 << 56 } else { 77_u64 }.to_le_bytes();
        assert_eq!(missed(0, &count), Missed::None);
        assert_eq!(missed(1 << 31, &count), Missed::Unknown);
        assert_eq!(missed(3 << 30, &count), Missed::Count(77));
        assert_eq!(missed(3 << 30, &count[..7]), Missed::Unknown);
        // Linux extends the sign of bit 31.
        assert_eq!(missed(u64::MAX << 31, &count), Missed::Unknown);
        assert_eq!(missed(u64::MAX << 30, &count), Missed::Count(77));
    }
}

#[test]
fn malformed_pages() {
    let order = ByteOrder::Little;
    let at = |offset, fault| Some(PageError { offset, fault });
    let whole = page(order, 0, 0, &entries(order, &[event(1, 1, 2), event(1, 2, 200)]));
    assert_eq!(read(order, &whole[..15]).1, at(15, PageFault::Header));
    assert_eq!(read(order, &[]).1, at(0, PageFault::Header));
    let fault = PageFault::Commit { committed: 220, available: 219 };
    assert_eq!(read(order, &whole[..whole.len() - 1]).1, at(8, fault));
    let faults = |data: &[u8]| read(order, &page(order, 0, 0, data));
    // The second event begins 8 bytes behind the first.
    let second = HEADER_BYTES + 8;
    let data = entries(order, &[event(1, 1, 2), event(1, 2, 200)]);
    let fault = PageFault::Event { needed: 212, available: 200 };
    assert_eq!(faults(&data[..208]), (vec![(1, 1, HEADER_BYTES)], at(second, fault)));
    let fault = PageFault::Event { needed: 8, available: 4 };
    assert_eq!(faults(&data[..12]).1, at(second, fault));
    let fault = PageFault::Event { needed: 4, available: 3 };
    assert_eq!(faults(&data[..11]).1, at(second, fault));
    assert_eq!(faults(&[0, 0, 0, 0, 3, 0, 0, 0]).1, at(HEADER_BYTES, PageFault::Length(3)));
    assert_eq!(faults(&[0, 0, 0, 0, 4, 0, 0, 0]).1, at(HEADER_BYTES, PageFault::NoId));
    let fault = PageFault::Event { needed: 8 + 0xffff_fffc, available: 8 };
    assert_eq!(faults(&[0, 0, 0, 0, 255, 255, 255, 255]).1, at(HEADER_BYTES, fault));
}

#[test]
fn nothing_follows_an_error() {
    let bytes = page(ByteOrder::Little, 0, 0, &[0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    let mut events = layout(ByteOrder::Little).parse(&bytes).unwrap().events();
    assert!(matches!(events.next(), Some(Err(_))));
    assert_eq!(events.next(), None);
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let delta = 0_u32..1 << 27;
    let payload = prop::collection::vec(any::<u8>(), 0..200);
    prop_oneof![
        4 => (delta.clone(), any::<u16>(), payload)
            .prop_map(|(delta, id, payload)| Entry::Event { delta, id, payload }),
        1 => (0_u64..1 << 55).prop_map(Entry::Extend),
        1 => (0_u64..1 << 55).prop_map(Entry::Stamp),
        1 => (1_u32..1 << 27, 0_usize..20)
            .prop_map(|(delta, words)| Entry::Padding { delta, length: 4 * words }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        list in prop::collection::vec(any_entry(), 0..30),
        start in 0_u64..1 << 55,
        is_big in any::<bool>(),
    ) {
        let order = ORDERS[usize::from(is_big)];
        let (mut time, mut expected) = (start, Vec::new());
        for entry in &list {
            match entry {
                Entry::Event { delta, id, payload } => {
                    time += u64::from(*delta);
                    expected.push((time, *id, payload.clone()));
                }
                Entry::Extend(delta) => time += delta,
                Entry::Stamp(stamp) => {
                    // The upper bits are kept, and no more than one wrap is assumed.
                    let upper = time & !((1 << 59) - 1);
                    let next = upper | stamp;
                    time = if upper != 0 && next < time { next + (1 << 59) } else { next };
                }
                Entry::Padding { delta, .. } => time += u64::from(*delta),
            }
        }
        let bytes = page(order, start, 0, &entries(order, &list));
        let events = layout(order).parse(&bytes).unwrap().events();
        let found: Vec<_> = events
            .map(Result::unwrap)
            .zip(&expected)
            .map(|(event, (_, _, payload))| {
                let payload = event.payload[2..][..payload.len()].to_vec();
                (event.time, event.id, payload)
            })
            .collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn random_pages_end(bytes in prop::collection::vec(any::<u8>(), 0..600), is_big in any::<bool>()) {
        let order = ORDERS[usize::from(is_big)];
        let (found, error) = read(order, &page(order, 0, 0, &bytes));
        let ends: Vec<_> = found.iter().map(|(_, _, offset)| *offset).collect();
        prop_assert!(ends.windows(2).all(|two| two[0] < two[1]));
        prop_assert!(ends.iter().all(|offset| *offset < HEADER_BYTES + bytes.len()));
        if let Some(error) = error {
            prop_assert!(error.offset <= HEADER_BYTES + bytes.len());
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn a_cut_page_has_the_events_before_the_cut(
        list in prop::collection::vec(any_entry(), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let order = ByteOrder::Little;
        let data = entries(order, &list);
        let (all, _) = read(order, &page(order, 0, 0, &data));
        let cut = cut.index(data.len());
        let (found, _) = read(order, &page(order, 0, 0, &data[..cut]));
        prop_assert_eq!(&found[..], &all[..found.len()]);
        // Each event of which the last byte is before the cut is found.
        let complete = all.iter().skip(1).filter(|(_, _, offset)| offset - HEADER_BYTES <= cut);
        prop_assert!(found.len() >= complete.count());
    }
}
