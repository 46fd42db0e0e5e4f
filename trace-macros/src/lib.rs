//! The `#[trace_fn]` attribute of `trace-runtime`.
//!
//! Programs use it as `trace_runtime::trace_fn`; this crate exists because an attribute has to live in a
//! crate of its own. It reads the attribute's options ([`mod@attr`]), reads the item as far as needed
//! ([`mod@item`]) and puts one `trace_duration!` in front of the body ([`mod@expand`]).

#![forbid(unsafe_code)]

mod attr;
mod expand;
mod item;
mod parameters;

use proc_macro::TokenStream;

/// Records every call of a function as a duration event, from entry to return, `?` or unwinding panic.
///
/// The body gets one statement in front of it, a `trace_duration!`, whose scope ends when the function's
/// locals have been dropped and before its parameters are. Everything else stays as written:
/// signature, attributes, type inference, lifetimes and the drop order of what the body declares.
///
/// ```ignore
/// use trace_runtime::trace_fn;
///
/// #[trace_fn]
/// fn refresh() { /* ... */ }
///
/// #[trace_fn(category = "storage", name = "load block", args(index, bytes = buffer.len()))]
/// fn load(index: u64, buffer: &mut [u8]) -> std::io::Result<()> { /* ... */ }
///
/// #[trace_fn(category = "cache")]
/// impl Cache {
///     pub fn get(&self, key: u64) -> Option<u32> { /* recorded as "Cache::get" */ }
///     #[trace_fn(args(key))]
///     pub fn put(&mut self, key: u64, value: u32) { /* recorded as "Cache::put", with its key */ }
///     #[trace_fn(skip)]
///     pub fn len(&self) -> usize { /* not recorded */ }
/// }
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
