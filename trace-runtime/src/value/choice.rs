//! Recording values of any type: typed where the format has a type for them, else as the text that
//! `Display` or `Debug` gives.
//!
//! [`required`] and [`optional`] wrap a value in layers, one inside the other. Each layer has a
//! method `__trace_value` under another bound, and a call of it takes the outermost whose bound
//! holds. So the choice is made by the compiler, also in a generic function, where it knows what
//! the bounds say. The method has a name that no trait has: one of the program's, for all types,
//! would be asked as well.

use std::fmt::{Debug, Display};
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::AtomicU64;

use super::formatted::Formatted;
use super::sealed::Encode;
use super::{Arg, ArgValue, Limit};

/// A value that has to have some form that can be recorded.
#[inline(always)]
pub fn required<T: ?Sized>(value: &T) -> Typed<'_, T, Required> {
    Typed(Displayed(Debugged(Rest(value, PhantomData))))
}

/// A value that is left out if it has no form that can be recorded.
#[inline(always)]
pub fn optional<T: ?Sized>(value: &T) -> Typed<'_, T, Optional> {
    Typed(Displayed(Debugged(Rest(value, PhantomData))))
}

/// The layer for types with an [`ArgValue`].
#[derive(Clone, Copy, Debug)]
pub struct Typed<'a, T: ?Sized, M>(Displayed<'a, T, M>);

/// The layer for types with [`Display`].
#[derive(Clone, Copy, Debug)]
pub struct Displayed<'a, T: ?Sized, M>(Debugged<'a, T, M>);

/// The layer for types with [`Debug`].
#[derive(Clone, Copy, Debug)]
pub struct Debugged<'a, T: ?Sized, M>(Rest<'a, T, M>);

/// The innermost layer, for all other types.
#[derive(Clone, Copy, Debug)]
pub struct Rest<'a, T: ?Sized, M>(&'a T, PhantomData<M>);

/// What stands in [`Rest`] where every type is taken.
#[derive(Clone, Copy, Debug)]
pub struct Optional;

/// What stands in `Rest` where no further type is taken.
#[derive(Clone, Copy, Debug)]
pub struct Required;

impl<'a, T: ArgValue + ?Sized, M> Typed<'a, T, M> {
    /// The value itself.
    #[inline(always)]
    pub fn __trace_value(&self) -> &'a T {
        self.0 .0 .0 .0
    }
}

impl<T: Display + ?Sized, M> Displayed<'_, T, M> {
    /// The value's text.
    #[inline]
    pub fn __trace_value(&self) -> Formatted {
        Formatted::new(format_args!("{}", self.0 .0 .0))
    }
}

impl<T: Debug + ?Sized, M> Debugged<'_, T, M> {
    /// The value's text.
    #[inline]
    pub fn __trace_value(&self) -> Formatted {
        Formatted::new(format_args!("{:?}", self.0 .0))
    }
}

impl<T: ?Sized> Rest<'_, T, Optional> {
    /// No value.
    #[inline(always)]
    pub fn __trace_value(&self) -> Omitted {
        Omitted
    }
}

impl<T: ?Sized> Rest<'_, T, Required> {
    /// No value: there is no type that this can be called for.
    pub fn __trace_value(&self) -> Omitted
    where
        Required: FormOf<T>,
    {
        Omitted
    }
}

impl<'a, T: ?Sized, M> Deref for Typed<'a, T, M> {
    type Target = Displayed<'a, T, M>;

    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a, T: ?Sized, M> Deref for Displayed<'a, T, M> {
    type Target = Debugged<'a, T, M>;

    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a, T: ?Sized, M> Deref for Debugged<'a, T, M> {
    type Target = Rest<'a, T, M>;

    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// An argument that is left out of the record.
#[derive(Clone, Copy, Debug)]
pub struct Omitted;

impl Encode for Omitted {
    #[inline(always)]
    fn count(&self) -> usize {
        0
    }

    #[inline(always)]
    fn words(&self, _: Limit) -> usize {
        0
    }

    #[inline(always)]
    fn encode(&self, _: u64, _: &[AtomicU64], _: Limit) {}
}

impl Arg for Omitted {}

impl ArgValue for Omitted {
    type Arg<'a> = Omitted;

    #[inline(always)]
    fn arg(&self) -> Omitted {
        *self
    }
}

/// No type has this: what would need it is told what to write. It is of [`Required`], since for a
/// trait of the value's own type the compiler would propose to ask for it where that type is
/// generic.
#[diagnostic::on_unimplemented(
    message = "`{T}` cannot be recorded",
    label = "this needs one of `trace_runtime::ArgValue`, `Display` and `Debug`",
    note = "record a part of it, as in `args(length = list.len())`, leave it out, implement one of the three for it, \
            or, if the type is generic, ask for one: `T: Debug`"
)]
pub trait FormOf<T: ?Sized> {}

#[cfg(test)]
mod tests {
    use super::*;

    struct Neither;

    #[derive(Debug)]
    struct Debugging;

    fn texts_of_bounds<A: Debug, B: Display + Debug, C, D: ArgValue + Debug>(
        a: A,
        b: B,
        c: C,
        d: D,
    ) -> (String, String) {
        let _: Omitted = optional(&c).__trace_value();
        let _: &D = optional(&d).__trace_value();
        (
            optional(&a).__trace_value().as_str().to_string(),
            required(&b).__trace_value().as_str().to_string(),
        )
    }

    #[test]
    fn the_first_form_that_a_type_has_is_taken() {
        let _: &u8 = optional(&7u8).__trace_value();
        let _: &str = required("text").__trace_value();
        let _: &&str = required(&"text").__trace_value();
        let _: &char = optional(&'c').__trace_value();
        assert_eq!(optional(&1u128).__trace_value().as_str(), "1");
        assert_eq!(required(&[1, 2]).__trace_value().as_str(), "[1, 2]");
        assert_eq!(required(&Some(Debugging)).__trace_value().as_str(), "Some(Debugging)");
        let _: Omitted = optional(&Neither).__trace_value();
        let _: Omitted = optional(&[Neither][..]).__trace_value();
    }

    #[test]
    fn in_a_generic_function_its_bounds_decide() {
        assert_eq!(texts_of_bounds(1, 2.5, 3, 4), ("1".to_string(), "2.5".to_string()));
    }
}
