//! Values of threads.

use foldhash::HashMap;

/// The number of places that are found without a hash: a power of two.
const RECENT: usize = 1 << 8;

/// Values by the ids of threads. One of the newest threads costs a comparison, the others a hash.
#[derive(Debug)]
pub(crate) struct ByThread<T> {
    list: Vec<(u64, T)>,
    /// The place of each thread in the list.
    places: HashMap<u64, usize>,
    /// The place of the newest thread of those whose ids have the same low bits.
    recent: Vec<usize>,
}

impl<T> ByThread<T> {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    #[inline]
    pub(crate) fn get(&self, thread: u64) -> Option<&T> {
        match self.recent(thread).and_then(|place| self.list.get(place)) {
            Some((known, value)) if *known == thread => Some(value),
            _ => self.search(thread),
        }
    }

    #[cold]
    fn search(&self, thread: u64) -> Option<&T> {
        let (_, value) = self.list.get(*self.places.get(&thread)?)?;
        Some(value)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, thread: u64) -> Option<&mut T> {
        let place = match self.recent(thread) {
            Some(place) if self.is_at(place, thread) => place,
            _ => self.turn_to(thread)?,
        };
        self.list.get_mut(place).map(|(_, value)| value)
    }

    /// Returns the place of a thread, and makes it the newest one.
    #[cold]
    fn turn_to(&mut self, thread: u64) -> Option<usize> {
        let place = *self.places.get(&thread)?;
        self.set_recent(thread, place);
        Some(place)
    }

    /// Returns the value of a thread, which is added if it is missing.
    #[inline]
    pub(crate) fn entry(&mut self, thread: u64) -> &mut T
    where
        T: Default,
    {
        let place = match self.recent(thread) {
            Some(place) if self.is_at(place, thread) => place,
            _ => self.turn_to(thread).unwrap_or_else(|| self.add(thread, T::default())),
        };
        &mut self.list[place].1
    }

    pub(crate) fn insert(&mut self, thread: u64, value: T) {
        match self.get_mut(thread) {
            Some(known) => *known = value,
            None => _ = self.add(thread, value),
        }
    }

    /// Adds a thread. Returns its place.
    fn add(&mut self, thread: u64, value: T) -> usize {
        let place = self.list.len();
        self.list.push((thread, value));
        self.places.insert(thread, place);
        self.set_recent(thread, place);
        place
    }

    pub(crate) fn remove(&mut self, thread: u64) -> Option<T> {
        let place = self.places.remove(&thread)?;
        let (_, value) = self.list.swap_remove(place);
        if let Some((moved, _)) = self.list.get(place) {
            self.places.insert(*moved, place);
        }
        Some(value)
    }

    /// Removes the threads without this property.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&T) -> bool) {
        self.list.retain(|(_, value)| is_kept(value));
        self.places.clear();
        self.places.extend(self.list.iter().enumerate().map(|(place, (it, _))| (*it, place)));
    }

    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.places.clear();
    }

    /// Removes all threads. Returns them with their values.
    pub(crate) fn drain(&mut self) -> std::vec::Drain<'_, (u64, T)> {
        self.places.clear();
        self.list.drain(..)
    }

    #[inline]
    fn recent(&self, thread: u64) -> Option<usize> {
        self.recent.get(thread as usize % RECENT).copied()
    }

    #[inline]
    fn is_at(&self, place: usize, thread: u64) -> bool {
        self.list.get(place).is_some_and(|(known, _)| *known == thread)
    }

    fn set_recent(&mut self, thread: u64, place: usize) {
        self.recent.resize(RECENT, 0);
        if let Some(recent) = self.recent.get_mut(thread as usize % RECENT) {
            *recent = place;
        }
    }
}

impl<T> Default for ByThread<T> {
    fn default() -> Self {
        let (list, places, recent) = Default::default();
        Self { list, places, recent }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Also of threads that replace each other, and of those that are removed.
        #[test]
        fn values_are_those_of_a_map(steps in prop::collection::vec((0..5_u64, 0..6_u64), 0..200)) {
            let (mut values, mut map) = (ByThread::default(), HashMap::new());
            for (number, (step, thread)) in steps.into_iter().enumerate() {
                let thread = thread / 2 * RECENT as u64 + thread % 2;
                match step {
                    0 => prop_assert_eq!(values.remove(thread), map.remove(&thread)),
                    1 => *values.entry(thread) += number,
                    2 => values.insert(thread, number),
                    3 => values.retain(|value| value % 3 != 0),
                    _ => {}
                }
                match step {
                    1 => *map.entry(thread).or_default() += number,
                    2 => _ = map.insert(thread, number),
                    3 => map.retain(|_, value| *value % 3 != 0),
                    _ => {}
                }
                prop_assert_eq!(values.get(thread), map.get(&thread));
                prop_assert_eq!(values.get_mut(thread), map.get_mut(&thread));
                prop_assert_eq!(values.len(), map.len());
            }
            let mut drained: Vec<(u64, usize)> = values.drain().collect();
            let mut expected: Vec<(u64, usize)> = map.into_iter().collect();
            drained.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(drained, expected);
        }
    }
}
