//! The `#[trace_fn]` attribute of `trace-runtime`.
//!
//! Programs use it as `trace_runtime::trace_fn`; this crate exists because an attribute has to live
//! in a crate of its own. It reads the attribute's options (`attr`) and the item as far as needed
//! (`item`), finds the functions in it and what holds for each (`expand`), and puts the runtime's
//! macros into them (`function`), by what kind of function it is (`shape`, `body`) and what its
//! parameters are (`parameters`, `arguments`).

#![forbid(unsafe_code)]

mod arguments;
mod attr;
mod body;
mod defaults;
mod expand;
mod function;
mod item;
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
/// It stands on a function or method with a body, or on a block, and then holds for all functions
/// in it: an `impl` block, a trait (its default methods), or a module that is written in place,
/// with all that is in it. `#[trace_fn(skip)]` leaves one out, and so it does a block within the
/// block; a function's own `#[trace_fn(...)]` comes first. A `const fn`, which may run in the
/// compiler, is left out of a block silently, and so are functions that a macro makes inside it and
/// those inside functions.
///
/// # Names
///
/// The category is the name of the crate, `my_app`. The name is the function's path without the
/// crate, `shapes::area`, and `Ring::push` for what belongs to a type or a trait. Types have
/// neither modules nor generic arguments; for a trait's default method it is the trait, for an
/// implementation the type: `Ring::fmt`. Both are made when a recording starts, and cost a call
/// nothing.
///
/// # Options
///
/// | option | records |
/// |---|---|
/// | `category = "..."` | the category, a literal |
/// | `name = "..."` | the name, a literal |
/// | `args(a, b, key = expr, "any key" = expr)` | parameters, `self` among them, and expressions, which see the parameters |
/// | `args` | all parameters that can be recorded, but `self` and those that begin with `_` |
/// | `args, skip(a, b)` | the same without these |
/// | `ret` | the result, as an instant `return` with the argument `value` |
/// | `err` | the error, if there is one, as an instant `error` with the argument `error`; with it `ret` is for what is no error |
/// | `flow = id`, `flow_begin = id`, `flow_end = id` | a step, the begin or the end of the flow `flow` with this id, a `u64` |
/// | `crate = path` | nothing: it says where `trace_runtime` is to be found |
/// | `skip` | nothing at all: for one function of a block |
///
/// A block takes `category`, `args` without a list, `crate`, and, inside another one, `skip`.
///
/// ## Values
///
/// A value is recorded typed if its type has an `ArgValue`; else as the text of its `Display`, else
/// of its `Debug`. Bare `args` leaves out what has none of them, such as a `T` without bounds;
/// elsewhere that is an error. At most 15 arguments are recorded, 14 of an async function; bare
/// `args` takes the first ones. Text is made in place up to 128 bytes, and in a `String` beyond, up
/// to the 32,000 bytes that a record can have. **Nothing is evaluated or formatted while the
/// category is off**, and no code of yours runs while a record is being written. What a `Debug` or
/// `Display` of yours does, it does in the function while that is recorded: with bare `args` too, a
/// large value takes long, and one that locks may wait. Leave such parameters out with `skip(...)`.
/// A panic in it ends there, unless panics abort; the text then ends with `<panicked>`.
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
/// An arrow from function to function, over threads:
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
/// An `async fn` is recorded as a task: its polls as durations on the threads that run them, joined
/// by a flow, and a track with its wall-clock time, which ends also when it is cancelled. So is a
/// function that returns `impl Future` (with `Send`, `Sync`, `Unpin` and lifetimes, and no other
/// trait beside it), `Pin<Box<dyn Future>>`, `BoxFuture` or `LocalBoxFuture`, and what
/// `async_trait` makes, whichever of the two attributes comes first. A flow is recorded at the
/// first poll, a result at the last.
///
/// The task begins with the first poll; a future that is never polled leaves nothing. Where a
/// function that is not an `async fn` records arguments, which are there when it is called and may
/// be gone later, it begins with the call.
///
/// The parent is the task in whose poll the function's code begins to run. That of an `async fn`
/// begins at its first poll: with `tokio::spawn(child())` it has no parent, since the executor
/// polls it outside of any task. Trace what is spawned where it is spawned, with
/// `TraceFutureExt::trace`:
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
/// and `#[tokio::test]`. Below them it stands on a function that is no longer async, which starts
/// the executor: it is recorded as a duration of its thread. And what runs before
/// `trace_runtime::init()` is in no trace: a function that calls it is not, an async one only from
/// its next poll on.
///
/// ```ignore
/// #[trace_fn]
/// #[tokio::test]
/// async fn answers() {}
/// ```
///
/// What is passed to an `async fn` by value is in its future twice, outside and inside of what is
/// traced.
///
/// A boxed future is one where the function ends with `Box::pin(...)`, without `return` or `?`
/// before that, nor a macro that may stand for one of them, as `bail!` does: the future in the box
/// is traced. A box that the function has from elsewhere is passed on as it is, and the function
/// recorded for as long as it runs.
///
/// # What stays as it is
///
/// Signature, visibility, attributes, documentation, type inference, borrows, and the order in
/// which parameters and locals are dropped; there are no lints that the function would not have had
/// by itself. The duration ends when the locals have been dropped, and before the parameters are;
/// with `ret` or `err`, after both.
///
/// # Cost
///
/// What `trace_duration!` costs: two reads of the clock while recorded, one load and a branch while
/// not. Each of `ret`, `err` and `flow` is an event of its own, with one read of the clock. A text
/// costs its formatting. With the feature `ntrace` the machine code is the function's own.
///
/// # Limits
///
/// * A `const fn` and a naked function are rejected, and so is `ret` or `err` with
///   `#[track_caller]`, on a function that is not async: a closure cannot have it.
/// * With `ret`, `err`, and in an `async fn`, a parameter that may have something to drop counts as
///   used; the compiler does not warn of it. What such a function leaves of a parameter that it
///   takes apart (`(a, _): (A, B)`) is dropped after all other parameters.
/// * A trait's method without a body has nothing to record: put the attribute on the
///   implementation.
/// * What a macro does is not known, only that those of the standard library (without `ready!`),
///   those that write logs (`debug!`, `info!`, `info_span!`, …) and `trace_…!` do not leave a
///   function. Another one before the `Box::pin(...)` of a boxed future makes the function one that
///   is recorded for as long as it runs, and its future is not. With `async fn` and `impl Future`
///   any macro will do.
/// * `impl Future` without an `Output` in it (`impl Future<Item = T>` of `futures` 0.1, or one that
///   nobody is to look at) is not traced, only the call is. A trait of your own that is named
///   `Future` and has an `Output` is taken for the standard library's.
/// * `async_trait` gives other names to parameters that are patterns; they cannot be recorded when
///   it is expanded first.
#[proc_macro_attribute]
pub fn trace_fn(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::trace_fn(Mode::Traced, options.into(), item.into()).into()
}

/// The attribute where tracing is compiled out: it takes the same options, checks them, and records
/// nothing.
///
/// Programs use it as `trace_runtime::ntrace::trace_fn`.
#[proc_macro_attribute]
pub fn ntrace_fn(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::trace_fn(Mode::Checked, options.into(), item.into()).into()
}
