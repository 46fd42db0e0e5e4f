//! The indexes of a provider that are registered in the new archive.

/// The indexes of a page. A table allocates only the pages in use.
const PAGE: usize = 256;

/// The tables of a provider.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) strings: Table,
    pub(super) threads: Table,
}

/// The state of each index of a table.
#[derive(Debug, Default)]
pub(super) struct Table {
    pages: Vec<Option<Box<[State; PAGE]>>>,
    /// The indexes with a new value since the last [`Table::take_noted`].
    noted: Vec<u16>,
}

#[derive(Debug, Default, Clone, Copy)]
struct State {
    /// The current value of the index is registered in the new archive.
    is_registered: bool,
    /// The index is in `noted`.
    is_noted: bool,
}

impl Table {
    /// Marks an index as having a new value, which is not registered yet.
    pub(super) fn note(&mut self, index: u16) {
        let state = self.state(index);
        state.is_registered = false;
        if !std::mem::replace(&mut state.is_noted, true) {
            self.noted.push(index);
        }
    }

    /// Marks an index as registered; returns whether it was before.
    #[inline]
    pub(super) fn register(&mut self, index: u16) -> bool {
        std::mem::replace(&mut self.state(index).is_registered, true)
    }

    /// Returns the indexes with a new value since the last call.
    pub(super) fn take_noted(&mut self) -> Vec<u16> {
        let noted = std::mem::take(&mut self.noted);
        noted.iter().for_each(|index| self.state(*index).is_noted = false);
        noted
    }

    #[inline]
    fn state(&mut self, index: u16) -> &mut State {
        let (page, place) = (usize::from(index) / PAGE, usize::from(index) % PAGE);
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let page = &mut self.pages[page];
        &mut page.get_or_insert_with(|| Box::new([State::default(); PAGE]))[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_registered_once_for_each_value() {
        let mut table = Table::default();
        assert_eq!([table.register(300), table.register(300)], [false, true]);
        table.note(300);
        assert_eq!([table.register(300), table.register(300)], [false, true]);
    }

    #[test]
    fn each_noted_index_is_visited_once() {
        let mut table = Table::default();
        [7, 32_767, 7].into_iter().for_each(|index| table.note(index));
        assert_eq!(table.take_noted(), [7, 32_767]);
        assert!(table.take_noted().is_empty());
        table.note(7);
        assert_eq!(table.take_noted(), [7]);
    }

    #[test]
    fn only_pages_in_use_are_allocated() {
        let mut table = Table::default();
        assert_eq!(table.pages.capacity(), 0);
        table.register(32_767);
        assert_eq!(table.pages.iter().flatten().count(), 1);
    }
}
