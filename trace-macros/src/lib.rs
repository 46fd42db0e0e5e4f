//! The `#[trace_fn]` attribute of `trace-runtime`.
//!
//! Programs use it as `trace_runtime::trace_fn`. Procedural macros require a crate of their own. It
//! parses the attribute's options (`attr`) and the item (`item`), finds the functions and their
//! options (`expand`), and adds the runtime's macros (`function`). The expansion depends on the
//! kind of the function (`shape`, `body`) and on its parameters (`parameters`, `arguments`).
//! `located` gives the arguments of the runtime's other macros their location in errors.

#![forbid(unsafe_code)]

mod arguments;
mod attr;
mod body;
mod defaults;
mod expand;
mod function;
mod item;
mod located;
mod parameters;
mod shape;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

use defaults::Mode;

/// Records every call of a function as a duration, from entry to return, `?` or unwinding panic.
///
/// ```
/// use trace_runtime::trace_fn;
///
/// #[trace_fn]
/// fn refresh(generation: &mut u32) {
///     *generation += 1;
/// }
///
/// #[trace_fn(category = "storage", args(index, bytes = block.len()), err)]
/// fn load(index: u64, block: &mut [u8], from: &mut impl std::io::Read) -> std::io::Result<()> {
///     from.read_exact(block)
/// }
///
/// #[trace_fn(args, skip(token))]
/// async fn fetch(url: &str, token: &str) -> usize {
///     // …
///     url.len() + token.len()
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
/// # refresh(&mut 1);
/// # load(0, &mut [0; 2], &mut &b"ab"[..]).unwrap();
/// # drop(fetch("", ""));
/// # let mut cache = Cache(Vec::new());
/// # cache.add(5);
/// # assert_eq!((cache.get(0), cache.len()), (Some(&5), 1));
/// ```
///
/// Put it on a function or method with a body, or on a block, to trace all functions in the block.
/// A block is an `impl` block, a trait (its default methods), or an inline module with all of its
/// contents. `#[trace_fn(skip)]` excludes a function or a nested block; a function's own
/// `#[trace_fn(...)]` takes precedence. In a block, a `const fn` is ignored, because it may run in
/// the compiler. Functions that a macro generates in the block, and functions inside functions, are
/// ignored too.
///
/// # Names
///
/// The category is the name of the crate, `my_app`. The name is the function's path without the
/// crate: `shapes::area`, or `Ring::push` for a method. Types are named without modules and generic
/// arguments. A default method has the name of its trait, an implementation that of its type:
/// `Ring::fmt`. Both are computed when a recording starts, and add no cost to a call.
///
/// # Options
///
/// | option | records |
/// |---|---|
/// | `category = "..."` | the category, a literal |
/// | `name = "..."` | the name, a literal |
/// | `args(a, b, key = expr, "any key" = expr)` | parameters, including `self`, and expressions, which can use the parameters |
/// | `args` | all parameters that can be recorded, except `self` and names that begin with `_` |
/// | `args, skip(a, b)` | the same, without the listed parameters |
/// | `ret` | the result, as an instant `return` with the argument `value` |
/// | `err` | the error, if there is one, as an instant `error` with the argument `error`; `ret` then records only results that are no error |
/// | `flow = id`, `flow_begin = id`, `flow_end = id` | a step, the begin or the end of the flow `flow` with this id, a `u64` |
/// | `crate = path` | no data: sets the path of `trace_runtime` |
/// | `skip` | no data: excludes one function of a block |
///
/// A block accepts `category`, `args` without a list, `crate`, and, inside another block, `skip`.
///
/// ## Values
///
/// A value is recorded typed if its type implements `ArgValue`; else as its `Display` text, else as
/// its `Debug` text. `args` without a list ignores parameters without any of these, such as a `T`
/// without bounds; elsewhere that is an error. At most 15 arguments are recorded, 14 of an async
/// function; `args` without a list records the first ones. Text is formatted on the stack up to 256
/// bytes, and in a `String` beyond, up to the 32,000 bytes of a record. **No argument is evaluated
/// or formatted while the category is off**, and no code of yours runs while a record is being
/// written. While the category is on, your `Debug` and `Display` implementations run in the
/// function, also with `args` without a list: a large value takes long, and one that locks may
/// wait. Exclude such parameters with `skip(...)`. A panic in `Debug` or `Display` is caught,
/// unless panics abort; the text then ends with `<panicked>`.
///
/// ## Results
///
/// With `ret` or `err` the body becomes a closure that is called in place. An instant is recorded
/// inside the duration.
///
/// ```
/// # use trace_runtime::trace_fn;
/// #[trace_fn(category = "config", ret, err)]
/// fn port(text: &str) -> Result<u16, std::num::ParseIntError> {
///     let port = text.trim().parse()?;
///     Ok(port)
/// }
/// # assert_eq!(port(" 80"), Ok(80));
/// ```
///
/// ## Flows
///
/// A flow is an arrow from function to function, across threads:
///
/// ```
/// # use trace_runtime::{trace_fn, trace_nonce};
/// struct Job {
///     id: u64,
/// }
///
/// #[trace_fn(category = "jobs", flow_begin = job.id)]
/// fn push(queue: &mut Vec<Job>, job: Job) {
///     queue.push(job);
/// }
///
/// #[trace_fn(category = "jobs", flow_end = job.id)]
/// fn run(job: &Job) {
///     // …
/// }
/// # let mut queue = Vec::new();
/// # push(&mut queue, Job { id: trace_nonce!() });
/// # run(&queue[0]);
/// ```
///
/// # Async
///
/// An `async fn` is recorded as a task. Its polls are durations on the threads that run them,
/// joined by a flow. A track shows its wall-clock time, and ends also if the task is cancelled. The
/// same holds for a function that returns `impl Future` (with `Send`, `Sync`, `Unpin` and
/// lifetimes, but no other trait), `Pin<Box<dyn Future>>`, `BoxFuture` or `LocalBoxFuture`, and for
/// `async_trait`, in either order of the two attributes. A flow is recorded at the first poll, a
/// result at the last.
///
/// The task begins with the first poll; a future that is never polled leaves no record. If a
/// function that is not an `async fn` records arguments, the task begins with the call, because the
/// arguments may be gone at the first poll.
///
/// The parent is the task in whose poll the function's code starts. The code of an `async fn`
/// starts at its first poll: with `tokio::spawn(child())` it has no parent, since the executor
/// polls it outside of any task. To record the parent, trace the future in the call to `spawn`,
/// with `TraceFutureExt::trace`:
///
/// ```
/// use trace_runtime::{trace_future_args, TraceFutureExt};
///
/// # fn spawn<F: std::future::Future + Send + 'static>(_: F) {}
/// async fn child() {
///     // …
/// }
///
/// spawn(child().trace(trace_future_args!("app", "child")));
/// ```
///
/// **Put `#[trace_fn]` above attributes that rewrite an async function**, such as `#[tokio::main]`
/// and `#[tokio::test]`. Below them it is on a function that is no longer async and starts the
/// executor, which is recorded as a duration of its thread. Code before `trace_runtime::init()` is
/// not recorded. The function that calls `init()` is not recorded either; an async one is recorded
/// from its next poll.
///
/// ```ignore
/// #[trace_fn]
/// #[tokio::test]
/// async fn answers() {}
/// ```
///
/// The future of a traced `async fn` contains arguments passed by value twice, outside and inside
/// of the traced future.
///
/// A boxed future is traced if the function ends with `Box::pin(...)`, without `return` or `?`
/// before it, or a macro that may contain one of them, such as `bail!`. A box from elsewhere is
/// returned unchanged, and only the call is recorded.
///
/// # What is unchanged
///
/// Signature, visibility, attributes, documentation, type inference, borrows, and the order in
/// which parameters and locals are dropped. The attribute causes no lints. The duration ends after
/// the locals have been dropped, and before the parameters; with `ret` or `err`, after both.
///
/// # Cost
///
/// The cost is that of `trace_duration!`: two reads of the clock while the category is on, one load
/// and a branch while it is off. Each of `ret`, `err` and `flow` is an event of its own, with one
/// read of the clock. Text adds the time of its formatting. With the feature `ntrace` the machine
/// code is the same as without the attribute.
///
/// # Limits
///
/// * A `const fn` and a naked function are rejected, and so is `ret` or `err` with
///   `#[track_caller]`, on a function that is not async: a closure cannot have it.
/// * With `ret`, `err`, and in an `async fn`, a parameter that may have a destructor counts as
///   used: the compiler does not warn if it is unused. If such a function destructures a parameter
///   (`(a, _): (A, B)`), the unbound parts are dropped after all other parameters.
/// * A trait's method without a body cannot be traced: put the attribute on the implementation.
/// * The attribute cannot look into macros. It assumes that those of the standard library (except
///   `ready!`), of logging crates (`debug!`, `info!`, `info_span!`, …) and `trace_…!` do not return
///   from the function. With any other macro before the `Box::pin(...)` of a boxed future, only the
///   call is recorded, not the future. In an `async fn` and with `impl Future`, all macros are
///   allowed.
/// * For `impl Future` without an `Output` (such as `impl Future<Item = T>` of `futures` 0.1), only
///   the call is recorded. A trait of your own that is named `Future` and has an `Output` is
///   mistaken for the standard library's.
/// * `async_trait` renames parameters that are patterns. They cannot be recorded if it is expanded
///   first.
#[proc_macro_attribute]
pub fn trace_fn(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::trace_fn(Mode::Traced, options.into(), item.into()).into()
}

/// The attribute if tracing is compiled out: accepts and checks the same options, and records no
/// data.
///
/// Programs use it as `trace_runtime::ntrace::trace_fn`.
#[proc_macro_attribute]
pub fn ntrace_fn(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::trace_fn(Mode::Checked, options.into(), item.into()).into()
}

/// Calls a function with a reference to a value: `path, value` is `path(&value)`. An error about
/// the value's type is reported at the value.
#[doc(hidden)]
#[proc_macro]
pub fn located_call(input: TokenStream) -> TokenStream {
    located::call(input)
}
