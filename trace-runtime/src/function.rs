//! Functions that `#[trace_fn]` wraps around a function's body to record its result.

#[allow(unsafe_code)]
mod observed;

pub use observed::observed;

/// Runs a body, so that `return` and `?` leave the closure and not the function.
#[inline(always)]
pub fn once<R>(body: impl FnOnce() -> R) -> R {
    body()
}

/// Returns a value of the expected type, in code that never runs.
///
/// # Panics
/// Always.
pub fn never<R>() -> R {
    unreachable!("only called in code that never runs")
}

/// The output of an async block that does not end.
#[derive(Debug)]
pub enum Never {}

/// The result of a function that can fail.
#[diagnostic::on_unimplemented(
    message = "`err` is for functions that return a `Result`",
    label = "returns `{Self}`: remove `err`, or write `ret`"
)]
pub trait Outcome {
    /// The type of the value on success.
    type Value;
    /// The type of the error.
    type Error;

    /// Returns the result by reference.
    fn outcome(&self) -> Result<&Self::Value, &Self::Error>;
}

impl<T, E> Outcome for Result<T, E> {
    type Value = T;
    type Error = E;

    #[inline(always)]
    fn outcome(&self) -> Result<&T, &E> {
        self.as_ref()
    }
}

/// Returns the value or the error of a result.
#[inline(always)]
pub fn outcome<O: Outcome>(result: &O) -> Result<&O::Value, &O::Error> {
    result.outcome()
}
