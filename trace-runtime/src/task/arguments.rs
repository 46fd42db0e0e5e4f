//! What a task keeps for its records: names and values of the application.

use std::fmt;
use std::sync::atomic::AtomicU64;

use super::strings;
use crate::point::arguments::Arguments;
use crate::point::names::{BothAtRunTime, Literal, NameAtRunTime, Names, Wanted};
use crate::point::site::{Key, Site};
use crate::value::sealed::Encode;
use crate::value::{ArgValue, Limit};

/// Category, name and arguments of a future that is to be traced: what
/// [`trace_future_args!`](crate::trace_future_args) makes.
pub struct TraceFutureArgs<V> {
    pub(super) site: &'static Site,
    pub(super) values: V,
}

/// A name that is known at run time, kept.
#[derive(Clone, Debug)]
pub struct NameStored<T>(pub T);

/// Category and name that are known at run time, kept.
#[derive(Clone, Debug)]
pub struct BothStored<C, T>(pub C, pub T);

/// What a task keeps: its names, if they are known, and its values, if it was on when it was made.
#[derive(Clone, Debug)]
pub struct Values<N, A> {
    names: Option<N>,
    values: Option<A>,
}

/// Names that a task keeps.
pub trait StoredNames: Sized {
    /// How they reach a record.
    type Names<'a>: Names
    where
        Self: 'a;

    /// The names, where they are known although they were not evaluated.
    fn unevaluated() -> Option<Self>;

    /// The names as records have them.
    fn names(&self) -> Self::Names<'_>;
}

/// Values that a task keeps: nested pairs of a value and the rest, `()` at the end.
pub trait StoredValues {
    /// The values as records have them.
    type Arguments<'a>: Arguments
    where
        Self: 'a;

    /// The values as records have them.
    fn arguments(&self) -> Self::Arguments<'_>;
}

/// What a task keeps, whatever it is.
pub trait Stored {
    /// How its names reach a record.
    type Names<'a>: Names
    where
        Self: 'a;
    /// How its values reach a record.
    type Arguments<'a>: Arguments
    where
        Self: 'a;

    /// The names, if they are known.
    fn names(&self) -> Option<Self::Names<'_>>;

    /// The values, if there are any.
    fn arguments(&self) -> Option<Self::Arguments<'_>>;
}

impl<V> fmt::Debug for TraceFutureArgs<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceFutureArgs").field("site", self.site).finish_non_exhaustive()
    }
}

impl<N: StoredNames, A: StoredValues> TraceFutureArgs<Values<N, A>> {
    /// For a future whose category is on.
    #[doc(hidden)]
    #[inline(always)]
    pub fn on(site: &'static Site, names: N, values: A) -> Self {
        Self { site, values: Values { names: Some(names), values: Some(values) } }
    }

    /// For a future whose category is off: a recording that begins later shows it without
    /// arguments.
    #[doc(hidden)]
    #[inline(always)]
    pub fn off(site: &'static Site) -> Self {
        Self { site, values: Values { names: N::unevaluated(), values: None } }
    }
}

impl Values<Literal, ()> {
    /// For a task that was begun with what it had to say.
    pub(super) const NONE: Self = Self { names: Some(Literal), values: None };
}

impl<N: StoredNames, A: StoredValues> Stored for Values<N, A> {
    type Names<'a>
        = N::Names<'a>
    where
        Self: 'a;
    type Arguments<'a>
        = A::Arguments<'a>
    where
        Self: 'a;

    #[inline(always)]
    fn names(&self) -> Option<Self::Names<'_>> {
        self.names.as_ref().map(|names| names.names())
    }

    #[inline(always)]
    fn arguments(&self) -> Option<Self::Arguments<'_>> {
        self.values.as_ref().map(|values| values.arguments())
    }
}

impl StoredNames for Literal {
    type Names<'a> = Self;

    #[inline(always)]
    fn unevaluated() -> Option<Self> {
        Some(Self)
    }

    #[inline(always)]
    fn names(&self) -> Self {
        Self
    }
}

impl<T: AsRef<str>> StoredNames for NameStored<T> {
    type Names<'a>
        = NameAtRunTime<'a>
    where
        Self: 'a;

    fn unevaluated() -> Option<Self> {
        None
    }

    fn names(&self) -> NameAtRunTime<'_> {
        NameAtRunTime(self.0.as_ref())
    }
}

impl<C: AsRef<str>, T: AsRef<str>> StoredNames for BothStored<C, T> {
    type Names<'a>
        = BothAtRunTime<'a>
    where
        Self: 'a;

    fn unevaluated() -> Option<Self> {
        None
    }

    fn names(&self) -> BothAtRunTime<'_> {
        BothAtRunTime(self.0.as_ref(), self.1.as_ref())
    }
}

impl<T: AsRef<str>> Wanted for NameStored<T> {
    fn is_on(&self) -> bool {
        true
    }
}

impl<C: AsRef<str>, T: AsRef<str>> Wanted for BothStored<C, T> {
    fn is_on(&self) -> bool {
        self.names().is_on()
    }
}

impl StoredValues for () {
    type Arguments<'a> = ();

    #[inline(always)]
    fn arguments(&self) {}
}

impl<T: ArgValue, R: StoredValues> StoredValues for (T, R) {
    type Arguments<'a>
        = (T::Arg<'a>, R::Arguments<'a>)
    where
        Self: 'a;

    #[inline(always)]
    fn arguments(&self) -> Self::Arguments<'_> {
        (self.0.arg(), self.1.arguments())
    }
}

/// A value that a task is to keep.
#[inline(always)]
pub fn value<T: ArgValue>(value: T) -> T {
    value
}

/// The arguments of a task's beginning: those of the application, if there are any, and the parent,
/// if there is one.
#[derive(Debug)]
pub(super) struct Beginning<A> {
    pub(super) arguments: Option<A>,
    pub(super) parent: Option<u64>,
}

impl<A: Arguments> Arguments for Beginning<A> {
    fn count(&self) -> usize {
        self.arguments.as_ref().map_or(0, A::count) + usize::from(self.parent.is_some())
    }

    fn words(&self, limit: Limit) -> usize {
        let own = self.parent.map_or(0, |parent| parent.words(limit));
        self.arguments.as_ref().map_or(0, |arguments| arguments.words(limit)) + own
    }

    fn encode(&self, keys: &[Key], words: &[AtomicU64], limit: Limit) {
        let given = self.arguments.as_ref().map_or(0, |arguments| arguments.words(limit));
        let Some((first, rest)) = words.split_at_checked(given) else { return };
        if let Some(arguments) = &self.arguments {
            arguments.encode(keys, first, limit);
        }
        if let Some(parent) = self.parent {
            parent.encode(strings::parent_key(), rest, limit);
        }
    }
}
