//! Values of any type: recorded with their type if the format has it, else as their `Display` or
//! `Debug` text.
//!
//! [`required`] and [`optional`] wrap a value in nested layers. Each layer has a method
//! `__trace_value` with its own bound, and a call resolves to the outermost layer whose bound
//! holds. So the compiler chooses, also in a generic function, where it knows only the bounds. The
//! method's name is unusual so that no trait of the program has it.

use std::fmt::{Debug, Display};
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::AtomicU64;

use super::formatted::Formatted;
use super::sealed::Encode;
use super::{Arg, ArgValue, Limit};

/// Wraps a value that must have a form that can be recorded, or the program does not compile.
#[inline(always)]
pub fn required<T: ?Sized>(value: &T) -> Typed<'_, T, Required> {
    Typed(Displayed(Debugged(Fallback(value, PhantomData))))
}

/// Wraps a value that is left out if it has no form that can be recorded.
#[inline(always)]
pub fn optional<T: ?Sized>(value: &T) -> Typed<'_, T, Optional> {
    Typed(Displayed(Debugged(Fallback(value, PhantomData))))
}

/// The layer for types with an [`ArgValue`].
#[derive(Clone, Copy, Debug)]
pub struct Typed<'a, T: ?Sized, M>(Displayed<'a, T, M>);

/// The layer for types with [`Display`].
#[derive(Clone, Copy, Debug)]
pub struct Displayed<'a, T: ?Sized, M>(Debugged<'a, T, M>);

/// The layer for types with [`Debug`].
#[derive(Clone, Copy, Debug)]
pub struct Debugged<'a, T: ?Sized, M>(Fallback<'a, T, M>);

/// The innermost layer, for all other types.
#[derive(Clone, Copy, Debug)]
pub struct Fallback<'a, T: ?Sized, M>(&'a T, PhantomData<M>);

/// Marks a `Fallback` that accepts every type.
#[derive(Clone, Copy, Debug)]
pub struct Optional;

/// Marks a `Fallback` that accepts no type.
#[derive(Clone, Copy, Debug)]
pub struct Required;

impl<'a, T: ArgValue + ?Sized, M> Typed<'a, T, M> {
    /// Returns the value itself.
    #[inline(always)]
    pub fn __trace_value(&self) -> &'a T {
        self.0 .0 .0 .0
    }
}

impl<T: Display + ?Sized, M> Displayed<'_, T, M> {
    /// Returns the value's text.
    #[inline]
    pub fn __trace_value(&self) -> Formatted {
        Formatted::new(format_args!("{}", self.0 .0 .0))
    }
}

impl<T: Debug + ?Sized, M> Debugged<'_, T, M> {
    /// Returns the value's text.
    #[inline]
    pub fn __trace_value(&self) -> Formatted {
        Formatted::new(format_args!("{:?}", self.0 .0))
    }
}

impl<T: ?Sized> Fallback<'_, T, Optional> {
    /// Returns no value.
    #[inline(always)]
    pub fn __trace_value(&self) -> Omitted {
        Omitted
    }
}

impl<T: ?Sized> Fallback<'_, T, Required> {
    /// Never called: no type satisfies the bound.
    pub fn __trace_value(&self) -> Omitted
    where
        Required: Recordable<T>,
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
    type Target = Fallback<'a, T, M>;

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

/// No type implements this: its message explains the error. [`Required`] would implement it, not
/// `T`, because for a missing bound on a generic `T` the compiler would propose to add it.
#[diagnostic::on_unimplemented(
    message = "`{T}` cannot be recorded",
    label = "implements none of `trace_runtime::ArgValue`, `Display` and `Debug`",
    note = "record a part of it, as in `args(length = list.len())`, leave it out, implement one of the three for it, \
            or, if the type is generic, add a bound: `T: Debug`"
)]
pub trait Recordable<T: ?Sized> {}

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
