//! The options of a block, which apply if an item's own attribute does not set them.

use syn::{LitStr, Path};

use crate::attr::{OptionValue, Options};

/// What the attribute generates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Recorded functions.
    Traced,
    /// Unchanged functions, with a type check that generates no code.
    Checked,
}

/// The options of the surrounding block, or the attribute's defaults.
#[derive(Clone)]
pub(crate) struct Defaults {
    pub(crate) mode: Mode,
    pub(crate) runtime: Path,
    pub(crate) category: Option<LitStr>,
    pub(crate) all_args: bool,
    /// Whether the function is in a block that has the attribute.
    pub(crate) in_block: bool,
    /// Whether the surrounding block is skipped, except for items with an attribute of their own.
    pub(crate) skipped: bool,
}

impl Defaults {
    /// Returns the category that the item or its block sets.
    pub(crate) fn category<'a>(&'a self, options: &'a Options) -> Option<&'a LitStr> {
        let own = options.category.as_ref().map(|OptionValue { value, .. }| value);
        own.or(self.category.as_ref())
    }

    /// Returns the path of the crate with the macros.
    pub(crate) fn runtime<'a>(&'a self, options: &'a Options) -> &'a Path {
        options.runtime.as_ref().map_or(&self.runtime, |OptionValue { value, .. }| value)
    }
}
