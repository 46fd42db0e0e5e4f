//! Pages made by the tests, with a writer of their own.

use trace_kernel::page::PageLayout;
use trace_kernel::ByteOrder;

pub(crate) const HEADER_BYTES: usize = 16;

/// An entry of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// An event with a delta of 27 bits and this payload behind its id.
    Event { delta: u32, id: u16, payload: Vec<u8> },
    /// A time delta of 59 bits.
    Extend(u64),
    /// A time of 59 bits.
    Stamp(u64),
    /// A discarded event.
    Padding { delta: u32, length: usize },
}

pub(crate) fn layout(order: ByteOrder) -> PageLayout {
    PageLayout {
        order,
        commit_offset: 8,
        commit_size: 8,
        data_offset: HEADER_BYTES,
        page_size: 4096,
    }
}

fn bytes<const N: usize>(order: ByteOrder, little: [u8; N]) -> [u8; N] {
    let mut bytes = little;
    if order == ByteOrder::Big {
        bytes.reverse();
    }
    bytes
}

fn header(order: ByteOrder, kind: u32, delta: u64) -> [u8; 4] {
    let delta = delta as u32 & ((1 << 27) - 1);
    let word = match order {
        ByteOrder::Little => kind | delta << 5,
        ByteOrder::Big => kind << 27 | delta,
    };
    bytes(order, word.to_le_bytes())
}

/// Returns the bytes of entries.
pub(crate) fn entries(order: ByteOrder, entries: &[Entry]) -> Vec<u8> {
    let mut data = Vec::new();
    let word = |number: u32| bytes(order, number.to_le_bytes());
    for entry in entries {
        match entry {
            Entry::Event { delta, id, payload } => {
                let length = (payload.len() + 2).next_multiple_of(4);
                match length / 4 {
                    words @ 1..=28 => data.extend(header(order, words as u32, (*delta).into())),
                    _ => {
                        data.extend(header(order, 0, (*delta).into()));
                        data.extend(word(length as u32 + 4));
                    }
                }
                data.extend(bytes(order, id.to_le_bytes()));
                data.extend(payload);
                data.resize(data.len().next_multiple_of(4), 0);
            }
            Entry::Extend(delta) => {
                data.extend(header(order, 30, *delta));
                data.extend(word((delta >> 27) as u32));
            }
            Entry::Stamp(time) => {
                data.extend(header(order, 31, *time));
                data.extend(word((time >> 27) as u32));
            }
            Entry::Padding { delta, length } => {
                data.extend(header(order, 29, (*delta).into()));
                data.extend(word(*length as u32 + 4));
                data.resize(data.len() + length, 0xa5);
            }
        }
    }
    data
}

/// Returns a page of these events; `flags` are those of its length.
pub(crate) fn page(order: ByteOrder, time: u64, flags: u64, data: &[u8]) -> Vec<u8> {
    let mut page = Vec::new();
    page.extend(bytes(order, time.to_le_bytes()));
    page.extend(bytes(order, (data.len() as u64 | flags).to_le_bytes()));
    page.extend(data);
    page
}
