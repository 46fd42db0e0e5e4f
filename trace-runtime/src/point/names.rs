//! The category and name of a record: in the string table, or in the record itself if they are
//! known only at run time.

use std::sync::atomic::AtomicU64;

use trace_format::layout::event;

use crate::value::{encode_text, inline_ref, Limit};
use crate::ENGINE;

/// A check of the category that may be known only at run time.
pub trait CategoryCheck {
    /// Returns whether the category is recorded. Called only while the site is on.
    fn is_on(&self) -> bool;
}

/// The source of a record's category and name.
pub trait Names: CategoryCheck {
    /// Returns their size in the record, in words.
    fn words(&self, limit: Limit) -> usize;

    /// Returns their fields of the header.
    fn header(&self, limit: Limit) -> u64;

    /// Stores the words.
    fn encode(&self, words: &[AtomicU64], limit: Limit);
}

/// Both are literals: the site's header has their string refs.
#[derive(Clone, Copy, Debug)]
pub struct Literal;

/// The category is a literal. The name is known only at run time.
#[derive(Clone, Copy, Debug)]
pub struct NameAtRunTime<'a>(pub &'a str);

/// Both are known only at run time.
#[derive(Clone, Copy, Debug)]
pub struct BothAtRunTime<'a>(pub &'a str, pub &'a str);

impl CategoryCheck for Literal {
    #[inline(always)]
    fn is_on(&self) -> bool {
        true
    }
}

impl Names for Literal {
    #[inline(always)]
    fn words(&self, _: Limit) -> usize {
        0
    }

    #[inline(always)]
    fn header(&self, _: Limit) -> u64 {
        0
    }

    #[inline(always)]
    fn encode(&self, _: &[AtomicU64], _: Limit) {}
}

impl CategoryCheck for NameAtRunTime<'_> {
    #[inline(always)]
    fn is_on(&self) -> bool {
        true
    }
}

impl Names for NameAtRunTime<'_> {
    fn words(&self, limit: Limit) -> usize {
        limit.cut(self.0).len().div_ceil(8)
    }

    fn header(&self, limit: Limit) -> u64 {
        event::NameRef::make(u64::from(inline_ref(limit.cut(self.0)).bits()))
    }

    fn encode(&self, words: &[AtomicU64], limit: Limit) {
        encode_text(limit.cut_and_count(self.0), words);
    }
}

impl CategoryCheck for BothAtRunTime<'_> {
    fn is_on(&self) -> bool {
        ENGINE.is_category_enabled(self.0)
    }
}

impl Names for BothAtRunTime<'_> {
    fn words(&self, limit: Limit) -> usize {
        NameAtRunTime(self.0).words(limit) + NameAtRunTime(self.1).words(limit)
    }

    fn header(&self, limit: Limit) -> u64 {
        let category = u64::from(inline_ref(limit.cut(self.0)).bits());
        event::CategoryRef::make(category) | NameAtRunTime(self.1).header(limit)
    }

    fn encode(&self, words: &[AtomicU64], limit: Limit) {
        if let Some((category, name)) = words.split_at_checked(NameAtRunTime(self.0).words(limit)) {
            NameAtRunTime(self.0).encode(category, limit);
            NameAtRunTime(self.1).encode(name, limit);
        }
    }
}
