//! Finds the functions, and the options of each.
//!
//! After a mistake, the item is emitted untraced beside the error. Otherwise the compiler would
//! report every use of a missing item.

use proc_macro2::TokenStream;
use quote::{quote, ToTokens};
use syn::{parse_quote, Attribute, Error, Meta, Result};

use crate::attr::{Args, Options};
use crate::defaults::{Defaults, Mode};
use crate::function;
use crate::item::{Block, Item, Member};

/// The attribute as a function of tokens.
pub(crate) fn trace_fn(mode: Mode, options: TokenStream, item: TokenStream) -> TokenStream {
    let mut parsed: Item = match syn::parse2(item.clone()) {
        Ok(parsed) => parsed,
        Err(error) => return beside(&error, item),
    };
    let defaults = Defaults {
        mode,
        runtime: parse_quote!(::trace_runtime),
        category: None,
        all_args: false,
        in_block: false,
        skipped: false,
    };
    match trace_outermost(options, &mut parsed, &defaults) {
        Ok(()) => parsed.into_token_stream(),
        Err(error) => beside(&error, parsed),
    }
}

fn beside(error: &Error, item: impl ToTokens) -> TokenStream {
    let error = error.to_compile_error();
    quote!(#error #item)
}

fn trace_outermost(options: TokenStream, item: &mut Item, defaults: &Defaults) -> Result<()> {
    let options: Options = syn::parse2(options)?;
    if let (Some(skip), true) = (&options.skip, options.skips_function()) {
        let message =
            "`skip` excludes a function from a block with `#[trace_fn]`: remove the attribute";
        return Err(Error::new(skip.option.span(), message));
    }
    if let Some(second) = own(item).first() {
        return Err(twice(second));
    }
    trace_item(item, &options, defaults)
}

fn own(item: &Item) -> &[Attribute] {
    match item {
        Item::Function(function) => &function.own,
        Item::Block(block) => &block.own,
    }
}

fn trace_item(item: &mut Item, options: &Options, defaults: &Defaults) -> Result<()> {
    match item {
        Item::Function(function) => function::trace(function, options, defaults),
        Item::Block(block) => trace_block(block, options, defaults),
    }
}

fn trace_block(block: &mut Block, options: &Options, defaults: &Defaults) -> Result<()> {
    check_block_options(options)?;
    let skipped = options.skips_function();
    let defaults = Defaults {
        category: defaults.category(options).cloned(),
        runtime: defaults.runtime(options).clone(),
        all_args: options.args.is_some() || defaults.all_args,
        in_block: true,
        skipped,
        ..*defaults
    };
    trace_members(block, &defaults)
}

fn trace_members(block: &mut Block, defaults: &Defaults) -> Result<()> {
    let items = block.members.iter_mut().filter_map(|member| match member {
        Member::Item(item) => Some(item),
        Member::Other(_) => None,
    });
    let results = items.map(|item| trace_member(item, defaults));
    match results.filter_map(Result::err).reduce(combined) {
        Some(errors) => Err(errors),
        None => Ok(()),
    }
}

fn combined(mut first: Error, second: Error) -> Error {
    first.combine(second);
    first
}

fn trace_member(item: &mut Item, defaults: &Defaults) -> Result<()> {
    let options = match own(item) {
        [] if defaults.skipped || cannot_be_traced(item) => return trace_marked(item, defaults),
        [] => Options::default(),
        [attribute] => attribute_options(attribute)?,
        [_, second, ..] => return Err(twice(second)),
    };
    if options.skips_function() && matches!(item, Item::Function(_)) {
        return Ok(());
    }
    trace_item(item, &options, defaults)
}

/// Traces the members of a skipped item that have an attribute of their own.
fn trace_marked(item: &mut Item, defaults: &Defaults) -> Result<()> {
    match item {
        Item::Block(block) => trace_members(block, defaults),
        Item::Function(_) => Ok(()),
    }
}

/// Returns whether a block may contain this function, although it cannot be traced.
fn cannot_be_traced(item: &Item) -> bool {
    match item {
        Item::Function(function) => function::obstacle(function).is_some(),
        Item::Block(_) => false,
    }
}

fn attribute_options(attribute: &Attribute) -> Result<Options> {
    match &attribute.meta {
        Meta::Path(_) => Ok(Options::default()),
        _ => attribute.parse_args(),
    }
}

fn twice(second: &Attribute) -> Error {
    Error::new_spanned(second, "this item has `#[trace_fn]` twice: keep one of them")
}

/// Checks that a block has only options that apply to all of its functions.
fn check_block_options(options: &Options) -> Result<()> {
    let list = options.args.as_ref().filter(|args| matches!(args.value, Args::List(_)));
    let words = [
        options.name.as_ref().map(|it| &it.option),
        list.map(|it| &it.option),
        options.skip.as_ref().filter(|_| !options.skips_function()).map(|it| &it.option),
        options.ret.as_ref().map(|it| &it.option),
        options.err.as_ref().map(|it| &it.option),
        options.flow.as_ref().map(|it| &it.option),
    ];
    match words.into_iter().flatten().next() {
        Some(word) => Err(Error::new(
            word.span(),
            format!("`{word}` is for one function: write `#[trace_fn({word} ...)]` on it, inside the block; \
                     a block takes `category`, `args` without a list, and `crate`"),
        )),
        None => Ok(()),
    }
}
