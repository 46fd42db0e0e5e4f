//! Lock-free tables of callsites: by the address of their metadata, and by index.

use std::sync::atomic::{AtomicUsize, Ordering};

use once_cell::race::{OnceBox, OnceRef};
use trace_runtime::context::SignalLock;
use tracing_core::Metadata;

use crate::callsite::Callsite;

/// A table entry, set when a callsite is created.
type Place = OnceRef<'static, Callsite>;

/// Callsites per block of [`BY_INDEX`].
const BLOCK: usize = 256;

/// Blocks: at most [`BLOCKS`]` * `[`BLOCK`] callsites.
const BLOCKS: usize = 256;

/// All callsites, in the order of their creation. Rules: each entry is set once, under [`COUNT`].
static BY_INDEX: [OnceBox<[Place; BLOCK]>; BLOCKS] = [const { OnceBox::new() }; BLOCKS];

/// The number of callsites. The lock is taken only to create one.
static COUNT: SignalLock<usize> = SignalLock::new(0);

/// The size of the first table, in bits.
const FIRST_BITS: u32 = 9;

/// Tables, each twice as large as the one before. The last one has two entries for each possible
/// callsite.
static TABLES: [OnceBox<Table>; 9] = [const { OnceBox::new() }; 9];

/// The index of the table with all callsites. Rules: stored with release, under [`COUNT`], when the
/// table is filled. Smaller tables are kept unchanged for threads that are reading them.
static NEWEST: AtomicUsize = AtomicUsize::new(0);

/// Callsites by the address of their metadata, which has a static lifetime. At least half of the
/// entries are free.
#[derive(Debug)]
struct Table {
    bits: u32,
    places: Box<[Place]>,
}

fn address(metadata: &Metadata<'_>) -> usize {
    std::ptr::from_ref(metadata).addr()
}

impl Table {
    fn new(bits: u32) -> Self {
        Self { bits, places: (0..1_usize << bits).map(|_| Place::new()).collect() }
    }

    /// The entries in which a callsite may be. The first free one ends the search.
    #[inline]
    fn places(&self, address: usize) -> impl Iterator<Item = &Place> {
        // The upper bits of the product depend on all bits of the address.
        let hash = (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - self.bits);
        let (before, from) = self.places.split_at(self.places.len().min(hash as usize));
        from.iter().chain(before)
    }

    #[inline]
    fn find(&self, address_of: usize) -> Option<&'static Callsite> {
        self.places(address_of)
            .map_while(Place::get)
            .find(|callsite| address(callsite.metadata) == address_of)
    }

    fn insert(&self, callsite: &'static Callsite) {
        let _is_set =
            self.places(address(callsite.metadata)).any(|place| place.set(callsite).is_ok());
    }
}

/// Returns the callsite of `metadata`, and creates it if it is new. `None` if there are too many,
/// or in a signal handler that has interrupted the creation of another one.
#[inline]
pub(crate) fn of(metadata: &'static Metadata<'static>) -> Option<&'static Callsite> {
    find(metadata).or_else(|| make(metadata))
}

/// Returns the callsite of this metadata, if it exists.
#[inline]
pub(crate) fn find(metadata: &Metadata<'_>) -> Option<&'static Callsite> {
    TABLES.get(NEWEST.load(Ordering::Acquire))?.get()?.find(address(metadata))
}

#[cold]
fn make(metadata: &'static Metadata<'static>) -> Option<&'static Callsite> {
    let mut count = COUNT.lock_unless_nested()?;
    // Another thread may have created it, or a larger table, meanwhile.
    if let Some(found) = find(metadata) {
        return Some(found);
    }
    let index = *count;
    let block = BY_INDEX.get(index / BLOCK)?;
    let place =
        block.get_or_init(|| Box::new([const { Place::new() }; BLOCK])).get(index % BLOCK)?;
    let made: &'static Callsite =
        Box::leak(Box::new(Callsite::new(metadata, u32::try_from(index).ok()?)));
    let _is_new = place.set(made);
    *count += 1;
    add(made, *count);
    Some(made)
}

/// Adds a callsite, the last of `count`, to the tables.
fn add(callsite: &'static Callsite, count: usize) {
    let table = (count.div_ceil(1 << (FIRST_BITS - 1)).next_power_of_two()).ilog2();
    let Some(place) = TABLES.get(table as usize) else { return };
    if let Some(has_room) = place.get() {
        has_room.insert(callsite);
        return;
    }
    let larger = Table::new(FIRST_BITS + table);
    (0..count).filter_map(|index| by_index(index as u32)).for_each(|each| larger.insert(each));
    let _is_new = place.set(Box::new(larger));
    NEWEST.store(table as usize, Ordering::Release);
}

/// Returns the callsite with this [`Callsite::index`].
#[inline]
pub(crate) fn by_index(index: u32) -> Option<&'static Callsite> {
    let index = index as usize;
    BY_INDEX.get(index / BLOCK)?.get()?.get(index % BLOCK)?.get()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use tracing_core::field::FieldSet;
    use tracing_core::metadata::Kind;
    use tracing_core::subscriber::Interest;
    use tracing_core::{callsite, identify_callsite, Level};

    use super::*;

    struct Anywhere;

    static ANYWHERE: Anywhere = Anywhere;

    static METADATA: Metadata<'static> = metadata();

    const fn metadata() -> Metadata<'static> {
        let fields = FieldSet::new(&[], identify_callsite!(&ANYWHERE));
        Metadata::new("n", "t", Level::TRACE, None, None, None, fields, Kind::SPAN)
    }

    impl callsite::Callsite for Anywhere {
        fn set_interest(&self, _: Interest) {}

        fn metadata(&self) -> &Metadata<'_> {
            &METADATA
        }
    }

    #[test]
    fn callsites_are_found_while_other_threads_add_more() {
        let many: &'static [Metadata<'static>] =
            (0..3000).map(|_| metadata()).collect::<Vec<_>>().leak();
        assert!(many.iter().all(|metadata| find(metadata).is_none()));
        let make_all = || many.iter().map(|each| of(each).unwrap().index).collect::<Vec<u32>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(make_all)).collect();
        let indices: Vec<Vec<u32>> =
            threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(indices.iter().all(|each| *each == indices[0]));
        assert_eq!(indices[0].iter().collect::<HashSet<_>>().len(), many.len());
        for (metadata, index) in many.iter().zip(&indices[0]) {
            let found = find(metadata).unwrap();
            assert!(std::ptr::eq(found.metadata, metadata));
            assert_eq!((found.index, by_index(*index).unwrap().index), (*index, *index));
        }
    }
}
