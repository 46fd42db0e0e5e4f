//! Which begin an end belongs to.
//!
//! To the innermost open one of its category and name. Either may be empty, as
//! where a format lets an end do without: then it matches any. All that puts
//! begins and ends of a thread together asks here.

use crate::catalog::{Catalog, LabelId};

/// How far down the begin of an end is looked for: an end whose begin is not
/// there must not cost as much as there are open ones.
pub const MAX_SEARCH: usize = 1 << 10;

/// Returns where among the open begins, from the outermost on, the one is that
/// an end belongs to. `label` returns the label of a begin, and `None` for
/// anything else that may be open.
#[inline]
pub fn begin_of<T>(
    catalog: &Catalog,
    end: LabelId,
    open: &[T],
    label: impl Fn(&T) -> Option<LabelId>,
) -> Option<usize> {
    let pattern = Pattern::new(catalog, end);
    let mut inner = open.iter().rev().take(MAX_SEARCH);
    let inside = inner.position(|open| label(open).is_some_and(|begin| pattern.matches(begin)))?;
    Some(open.len() - 1 - inside)
}

/// What an end says about its begin.
#[derive(Debug)]
pub struct Pattern<'a> {
    catalog: &'a Catalog,
    end: LabelId,
    any_category: bool,
    any_name: bool,
}

impl<'a> Pattern<'a> {
    #[inline]
    pub fn new(catalog: &'a Catalog, end: LabelId) -> Self {
        let any_category = catalog.category(end).is_empty();
        let any_name = catalog.name(end).is_empty();
        Self { catalog, end, any_category, any_name }
    }

    /// Tells whether a begin with this label may be that of the end.
    #[inline]
    pub fn matches(&self, begin: LabelId) -> bool {
        begin == self.end || ((self.any_category || self.any_name) && self.matches_in_part(begin))
    }

    fn matches_in_part(&self, begin: LabelId) -> bool {
        let Self { catalog, end, any_category, any_name } = *self;
        (any_category || catalog.category(end) == catalog.category(begin))
            && (any_name || catalog.name(end) == catalog.name(begin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_end_leaves_out_matches_any() {
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
        // What is no begin is passed over.
        let found =
            begin_of(&catalog, open[3], &open, |label| (*label == open[0]).then_some(*label));
        assert_eq!(found, Some(0));
    }
}
