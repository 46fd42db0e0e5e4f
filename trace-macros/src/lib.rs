//! The `#[trace_fn]` attribute of `trace-runtime`.
//!
//! Programs use it as `trace_runtime::trace_fn`; this crate exists because an attribute has to live in a
//! crate of its own. It reads the attribute's options (`attr`), reads the item as far as needed (`item`,
//! `parameters`) and puts one `trace_duration!` in front of the body (`expand`).

#![forbid(unsafe_code)]

mod attr;
mod expand;
mod item;
mod parameters;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Records every call of a function as a duration event, from entry to return, `?` or unwinding panic.
///
/// The body gets one statement in front of it, a `trace_duration!`, whose scope ends when the function's
/// locals have been dropped and before its parameters are. Everything else stays as written:
/// signature, attributes, type inference, lifetimes and the drop order of what the body declares.
///
/// ```
/// # // Stands in for the runtime, which depends on this crate.
/// # extern crate self as trace_runtime;
/// # mod entry { pub use trace_macros::trace_fn; }
/// # pub use entry::*;
/// # #[macro_export]
/// # macro_rules! trace_duration {
/// #     ($category:literal, $name:literal $(, $key:literal => $value:expr)*) => { $(let _ = &$value;)* };
/// # }
/// # use std::{cell::Cell, io};
/// use trace_runtime::trace_fn;
///
/// #[trace_fn]
/// fn refresh(generation: &Cell<u32>) {
///     generation.set(generation.get() + 1);
/// }
///
/// #[trace_fn(category = "storage", name = "load block", args(index, bytes = block.len()))]
/// fn load(index: u64, block: &mut [u8], from: &mut impl io::Read) -> io::Result<()> {
///     from.read_exact(block)
/// }
///
/// # struct Cache(Vec<u32>);
/// #[trace_fn(category = "cache")]
/// impl Cache {
///     // Recorded as "Cache::get".
///     fn get(&self, key: usize) -> Option<&u32> {
///         self.0.get(key)
///     }
///
///     // Recorded as "Cache::add", with its argument.
///     #[trace_fn(args(value))]
///     fn add(&mut self, value: u32) {
///         self.0.push(value);
///     }
///
///     #[trace_fn(skip)]
///     fn len(&self) -> usize {
///         self.0.len()
///     }
/// }
/// # fn main() {
/// #     let generation = Cell::new(1);
/// #     refresh(&generation);
/// #     assert_eq!(generation.get(), 2);
/// #     let mut block = [0; 2];
/// #     load(0, &mut block, &mut &b"ab"[..]).unwrap();
/// #     assert_eq!(&block, b"ab");
/// #     let mut cache = Cache(Vec::new());
/// #     cache.add(5);
/// #     assert_eq!((cache.get(0), cache.len()), (Some(&5), 1));
/// # }
/// ```
///
/// # Options
///
/// * `category = "..."`: the event's category, a string literal. Default: the name of the package that is
///   being compiled (`CARGO_PKG_NAME`).
/// * `name = "..."`: the event's name, a string literal. Default: the function's name; `Type::function`
///   under an attribute that stands on the `impl` block, where alone the type is known.
/// * `args(...)`: at most 15 arguments, separated by commas. `a` records the parameter `a` under the key
///   `a`; `key = expr` and `"any key" = expr` record an expression, which sees the parameters and runs
///   only when the category is on.
/// * `crate = path`: where `trace_duration!` is found. Default: `::trace_runtime`.
/// * `skip`: leaves one function out, under an attribute on its `impl` block; stands alone.
///
/// On an `impl` block `category` and `crate` hold for all its functions, and a function's own
/// `#[trace_fn(...)]` comes first. Functions that a macro call inside the block makes are not seen.
///
/// # Limits
///
/// An `async fn` and a `const fn` are rejected: the first leaves its thread at every `.await`, the second may run in the
/// compiler. An ordinary function that returns a future is recorded for as long as it takes to make the future.
/// Trait methods without a body have nothing to record; put the attribute on the implementation.
#[proc_macro_attribute]
pub fn trace_fn(options: TokenStream, item: TokenStream) -> TokenStream {
    let package = std::env::var("CARGO_PKG_NAME").ok();
    expand::trace_fn(options.into(), item.into(), package).into()
}

/// The attribute where tracing is compiled out: it takes the same options, checks them, and records nothing.
///
/// Programs use it as `trace_runtime::ntrace::trace_fn`.
#[proc_macro_attribute]
pub fn ntrace_fn(options: TokenStream, item: TokenStream) -> TokenStream {
    let package = std::env::var("CARGO_PKG_NAME").ok();
    let options = proc_macro2::TokenStream::from(options);
    let options = quote::quote!(crate = ::trace_runtime::ntrace, #options);
    expand::trace_fn(options, item.into(), package).into()
}
