//! The names and argument values that a task stores for its records.

use std::fmt;
use std::sync::atomic::AtomicU64;

use super::strings;
use crate::point::arguments::Arguments;
use crate::point::names::{BothAtRunTime, CategoryCheck, Literal, NameAtRunTime, Names};
use crate::point::site::{Key, Site};
use crate::value::sealed::Encode;
use crate::value::{ArgValue, Limit};

/// The category, name and arguments of a traced future: the result of
/// [`trace_future_args!`](crate::trace_future_args).
pub struct TraceFutureArgs<V> {
    pub(super) site: &'static Site,
    pub(super) values: V,
}

/// A stored name that is known only at run time.
#[derive(Clone, Debug)]
pub struct NameStored<T>(pub T);

/// A stored category and name that are known only at run time.
#[derive(Clone, Debug)]
pub struct BothStored<C, T>(pub C, pub T);

/// The names of a task, if they are known, and its values, if its category was recorded when it was
/// created.
#[derive(Clone, Debug)]
pub struct Values<N, A> {
    names: Option<N>,
    values: Option<A>,
}

/// Names that a task can store.
pub trait StoredNames: Sized {
    /// The form in which they are written.
    type Names<'a>: Names
    where
        Self: 'a;

    /// Returns the names if they are known without evaluation.
    fn unevaluated() -> Option<Self>;

    /// Returns the names in the form in which they are written.
    fn names(&self) -> Self::Names<'_>;
}

/// Values that a task can store: nested pairs of a value and the rest, ending with `()`.
pub trait StoredValues {
    /// The form in which they are written.
    type Arguments<'a>: Arguments
    where
        Self: 'a;

    /// Returns the values in the form in which they are written.
    fn arguments(&self) -> Self::Arguments<'_>;
}

/// The stored names and values of a task.
pub trait Stored {
    /// The form in which the names are written.
    type Names<'a>: Names
    where
        Self: 'a;
    /// The form in which the values are written.
    type Arguments<'a>: Arguments
    where
        Self: 'a;

    /// Returns the names, if they are known.
    fn names(&self) -> Option<Self::Names<'_>>;

    /// Returns the values, if there are any.
    fn arguments(&self) -> Option<Self::Arguments<'_>>;
}

impl<V> fmt::Debug for TraceFutureArgs<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceFutureArgs").field("site", self.site).finish_non_exhaustive()
    }
}

impl<N: StoredNames, A: StoredValues> TraceFutureArgs<Values<N, A>> {
    /// Returns the arguments of a future whose category is recorded.
    #[doc(hidden)]
    #[inline(always)]
    pub fn on(site: &'static Site, names: N, values: A) -> Self {
        Self { site, values: Values { names: Some(names), values: Some(values) } }
    }

    /// Returns the arguments of a future whose category is off. A recording that begins later shows
    /// it without arguments.
    #[doc(hidden)]
    #[inline(always)]
    pub fn off(site: &'static Site) -> Self {
        Self { site, values: Values { names: N::unevaluated(), values: None } }
    }
}

impl Values<Literal, ()> {
    /// The values of a task whose arguments are recorded already.
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

impl<T: AsRef<str>> CategoryCheck for NameStored<T> {
    fn is_on(&self) -> bool {
        true
    }
}

impl<C: AsRef<str>, T: AsRef<str>> CategoryCheck for BothStored<C, T> {
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

/// Returns a value for a task to store.
#[inline(always)]
pub fn value<T: ArgValue>(value: T) -> T {
    value
}

/// The arguments of a task's async begin: those of the application, if any, and the parent, if any.
#[derive(Debug)]
pub(super) struct BeginArguments<A> {
    pub(super) arguments: Option<A>,
    pub(super) parent: Option<u64>,
}

impl<A: Arguments> Arguments for BeginArguments<A> {
    fn count(&self) -> usize {
        self.arguments.as_ref().map_or(0, A::count) + usize::from(self.parent.is_some())
    }

    fn words(&self, limit: Limit) -> usize {
        let own = self.parent.map_or(0, |parent| parent.words(limit));
        self.arguments.as_ref().map_or(0, |arguments| arguments.words(limit)) + own
    }

    fn encode(&self, keys: &[Key], words: &[AtomicU64], limit: Limit) {
        let size = self.arguments.as_ref().map_or(0, |arguments| arguments.words(limit));
        let Some((first, rest)) = words.split_at_checked(size) else { return };
        if let Some(arguments) = &self.arguments {
            arguments.encode(keys, first, limit);
        }
        if let Some(parent) = self.parent {
            parent.encode(strings::parent_key(), rest, limit);
        }
    }
}
