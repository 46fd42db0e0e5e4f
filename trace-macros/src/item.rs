//! Parses the item of the attribute: a function, or a block of functions.
//!
//! Statements remain tokens. Adding statements around them requires no parser, so a body may use
//! syntax that this crate does not know yet, and costs no time to parse.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{quote, ToTokens};
use syn::parse::discouraged::Speculative;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{
    braced, token, Attribute, Error, ImplItem, ItemImpl, ItemMod, ItemTrait, Result, Signature,
    Token, TraitItem, Visibility,
};

/// An item that can be traced.
pub(crate) enum Item {
    Function(Box<Function>),
    Block(Box<Block>),
}

/// A free function or a method, with a body.
pub(crate) struct Function {
    /// The attributes of this crate, which are removed from the output.
    pub(crate) own: Vec<Attribute>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) signature: Signature,
    /// The statements after the leading items.
    pub(crate) body: TokenStream,
    visibility: Visibility,
    defaultness: Option<Token![default]>,
    brace: token::Brace,
    inner_attributes: Vec<Attribute>,
    leading_items: Vec<syn::Item>,
}

/// An `impl` block, a trait or an inline module.
pub(crate) struct Block {
    /// As for a function.
    pub(crate) own: Vec<Attribute>,
    pub(crate) members: Vec<Member>,
    attributes: Vec<Attribute>,
    /// Everything before the braces.
    header: TokenStream,
    body: Group,
    inner_attributes: Vec<Attribute>,
}

/// A member of a block.
pub(crate) enum Member {
    Item(Item),
    /// A member without functions.
    Other(TokenStream),
}

#[derive(Clone, Copy)]
enum Kind {
    Function,
    Impl,
    Trait,
    Module,
}

impl Kind {
    /// The kind of the item that begins here, if it can be traced.
    fn of(input: ParseStream<'_>) -> Result<Option<Self>> {
        let ahead = input.fork();
        Attribute::parse_outer(&ahead)?;
        ahead.parse::<Visibility>()?;
        ahead.parse::<Option<Token![default]>>()?;
        if ahead.peek(Token![fn]) || ahead.fork().parse::<Signature>().is_ok() {
            return Ok(Some(Kind::Function));
        }
        if ahead.peek(Token![unsafe]) || ahead.peek(Token![auto]) {
            ahead.parse::<TokenTree>()?;
        }
        Ok(if ahead.peek(Token![impl]) {
            Some(Kind::Impl)
        } else if ahead.peek(Token![trait]) {
            Some(Kind::Trait)
        } else if ahead.peek(Token![mod]) {
            Some(Kind::Module)
        } else {
            None
        })
    }
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        match Kind::of(input)? {
            Some(Kind::Function) => Ok(Item::Function(input.parse()?)),
            Some(kind) => Ok(Item::Block(Box::new(Block::parse(kind, input)?))),
            None => Err(Error::new(after_attributes(input)?, NOTHING)),
        }
    }
}

const NOTHING: &str =
    "this item cannot be traced: put `#[trace_fn]` on a `fn` with a body, an `impl` block, a trait or a module";

fn after_attributes(input: ParseStream<'_>) -> Result<proc_macro2::Span> {
    let ahead = input.fork();
    Attribute::parse_outer(&ahead)?;
    ahead.parse::<Visibility>()?;
    Ok(ahead.span())
}

/// Splits the attributes into those of this crate and the rest.
///
/// Compares the last segment of the path, since `use` allows `trace_fn` and
/// `trace_runtime::trace_fn`.
fn attributes(input: ParseStream<'_>) -> Result<(Vec<Attribute>, Vec<Attribute>)> {
    let is_own = |attribute: &Attribute| {
        attribute.path().segments.last().is_some_and(|segment| segment.ident == "trace_fn")
    };
    Ok(Attribute::parse_outer(input)?.into_iter().partition(is_own))
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let (own, attributes) = attributes(input)?;
        let visibility = input.parse()?;
        let defaultness = input.parse()?;
        let signature: Signature = input.parse()?;
        if input.peek(Token![;]) {
            let message =
                "this function has no body to trace: put `#[trace_fn]` on its implementation";
            return Err(Error::new(input.span(), message));
        }
        let content;
        let brace = braced!(content in input);
        Ok(Function {
            own,
            attributes,
            signature,
            visibility,
            defaultness,
            brace,
            inner_attributes: Attribute::parse_inner(&content)?,
            leading_items: leading_items(&content),
            body: content.parse()?,
        })
    }
}

/// The items (`use`, `fn`, `const`, …) at the start of a body.
///
/// An item means the same wherever it stands in its block, but `clippy::items_after_statements`
/// reports one that follows a statement, so the trace point comes after them. Macro calls are no
/// items here: they may be statements.
fn leading_items(input: ParseStream<'_>) -> Vec<syn::Item> {
    let mut items = Vec::new();
    loop {
        let ahead = input.fork();
        match ahead.parse() {
            Ok(syn::Item::Macro(_) | syn::Item::Verbatim(_)) | Err(_) => return items,
            Ok(item) => items.push(item),
        }
        input.advance_to(&ahead);
    }
}

impl Block {
    fn parse(kind: Kind, input: ParseStream<'_>) -> Result<Self> {
        let (own, attributes) = attributes(input)?;
        let (header, body) = header_and_body(kind, input)?;
        let (inner_attributes, members) =
            (|input: ParseStream<'_>| members(kind, input)).parse2(body.stream())?;
        Ok(Block { own, members, attributes, header, body, inner_attributes })
    }
}

/// Splits a block at its braces.
///
/// The header may have braces too, as in `impl Ring<{ 1 << 4 }>`. It ends at the first brace where
/// the parser accepts it as complete.
fn header_and_body(kind: Kind, input: ParseStream<'_>) -> Result<(TokenStream, Group)> {
    let mut header = TokenStream::new();
    loop {
        if input.is_empty() || input.peek(Token![;]) {
            return Err(without_braces(kind, &header, input));
        }
        match input.parse()? {
            TokenTree::Group(body)
                if body.delimiter() == Delimiter::Brace && is_whole(kind, &header) =>
            {
                return Ok((header, body));
            }
            token => header.extend([token]),
        }
    }
}

fn is_whole(kind: Kind, header: &TokenStream) -> bool {
    let outline = quote!(#header {});
    match kind {
        Kind::Function => false,
        Kind::Impl => syn::parse2::<ItemImpl>(outline).is_ok(),
        Kind::Trait => syn::parse2::<ItemTrait>(outline).is_ok(),
        Kind::Module => syn::parse2::<ItemMod>(outline).is_ok(),
    }
}

fn without_braces(kind: Kind, header: &TokenStream, input: ParseStream<'_>) -> Error {
    if let (Kind::Module, true) = (kind, input.peek(Token![;])) {
        let message = "this module's functions are in another file: put `#[trace_fn]` on them, \
                       or write the module here, as `mod name { ... }`";
        return Error::new(input.span(), message);
    }
    Error::new_spanned(header, "expected a block that ends with its braces")
}

fn members(kind: Kind, input: ParseStream<'_>) -> Result<(Vec<Attribute>, Vec<Member>)> {
    let inner_attributes = Attribute::parse_inner(input)?;
    let mut members = Vec::new();
    while !input.is_empty() {
        members.push(member(kind, input)?);
    }
    Ok((inner_attributes, members))
}

fn member(kind: Kind, input: ParseStream<'_>) -> Result<Member> {
    let ahead = input.fork();
    if let Ok(item) = ahead.parse() {
        input.advance_to(&ahead);
        return Ok(Member::Item(item));
    }
    Ok(Member::Other(match kind {
        Kind::Impl => input.parse::<ImplItem>()?.into_token_stream(),
        Kind::Trait => input.parse::<TraitItem>()?.into_token_stream(),
        Kind::Function | Kind::Module => input.parse::<syn::Item>()?.into_token_stream(),
    }))
}

impl Function {
    /// Returns a block with the braces of the function. Braces of this crate would have its
    /// edition, which decides when the temporaries of a tail expression are dropped.
    pub(crate) fn block(&self, statements: TokenStream) -> Group {
        let mut block = Group::new(Delimiter::Brace, statements);
        block.set_span(self.brace.span.join());
        block
    }
}

impl ToTokens for Item {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Item::Function(function) => function.to_tokens(tokens),
            Item::Block(block) => block.to_tokens(tokens),
        }
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Function { attributes, visibility, defaultness, signature, .. } = self;
        tokens.extend(quote!(#(#attributes)* #visibility #defaultness #signature));
        self.brace.surround(tokens, |inside| {
            let Function { inner_attributes, leading_items, body, .. } = self;
            inside.extend(quote!(#(#inner_attributes)* #(#leading_items)* #body));
        });
    }
}

impl ToTokens for Block {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Block { attributes, header, inner_attributes, members, .. } = self;
        let mut body = Group::new(Delimiter::Brace, quote!(#(#inner_attributes)* #(#members)*));
        body.set_span(self.body.span());
        tokens.extend(quote!(#(#attributes)* #header #body));
    }
}

impl ToTokens for Member {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Member::Item(item) => item.to_tokens(tokens),
            Member::Other(item) => item.to_tokens(tokens),
        }
    }
}
