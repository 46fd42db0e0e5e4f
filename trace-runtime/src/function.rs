//! What `#[trace_fn]` puts around a function's body, for what comes out of it.

#[allow(unsafe_code)]
mod observed;

pub use observed::observed;

/// Runs a body, so that `return` and `?` in it lead here.
#[inline(always)]
pub fn once<R>(body: impl FnOnce() -> R) -> R {
    body()
}

/// A value in code that never runs, which says what type is expected.
pub fn never<R>() -> R {
    unreachable!("only called where nothing is executed")
}

/// What an async block gives that does not end.
#[derive(Debug)]
pub enum Never {}

/// What a function that can fail returns.
#[diagnostic::on_unimplemented(
    message = "`err` is for functions that return a `Result`",
    label = "this returns `{Self}`: remove `err`, or write `ret`"
)]
pub trait Outcome {
    /// What it returns otherwise.
    type Value;
    /// What it returns when it fails.
    type Error;

    /// Which of the two it is.
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

/// Which of the two a result is.
#[inline(always)]
pub fn outcome<O: Outcome>(result: &O) -> Result<&O::Value, &O::Error> {
    result.outcome()
}
