//! Panics of the engine as errors: decoders of damaged files can panic.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;

/// A panic, with its message.
#[derive(Debug)]
pub(crate) struct Panicked(String);

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the query engine panicked: {}", self.0)
    }
}

impl std::error::Error for Panicked {}

/// Returns the result of a future, or its panic. What the future has used is not used again.
pub(crate) async fn caught<T>(future: impl Future<Output = T>) -> Result<T, Panicked> {
    AssertUnwindSafe(future).catch_unwind().await.map_err(|panic| Panicked(text(&*panic)))
}

fn text(panic: &(dyn Any + Send)) -> String {
    let fixed = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = fixed.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "without a message".to_owned())
}
