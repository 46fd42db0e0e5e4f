//! Reading what the attribute stands on: a function or an `impl` block.
//!
//! Statements are kept as the tokens they are. They need not be understood to put a statement in front of them, so
//! a body may use syntax that this crate's parser does not know yet, and parsing it costs nothing.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{quote, ToTokens};
use syn::parse::discouraged::Speculative;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{
    braced, token, Attribute, Error, ImplItem, ItemImpl, Result, Signature, Token, Type, Visibility,
};

/// An item that can be traced.
pub(crate) enum Item {
    Function(Box<Function>),
    Impl(Box<Impl>),
}

/// A free function or a method, with a body.
pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) signature: Signature,
    visibility: Visibility,
    defaultness: Option<Token![default]>,
    brace: token::Brace,
    inner_attributes: Vec<Attribute>,
    leading_items: Vec<syn::Item>,
    first_statement: Option<TokenStream>,
    body: TokenStream,
}

/// An `impl` block.
pub(crate) struct Impl {
    pub(crate) self_type: Type,
    pub(crate) members: Vec<Member>,
    /// Everything before the braces.
    header: TokenStream,
    body: Group,
    inner_attributes: Vec<Attribute>,
}

/// What stands between the braces of an `impl` block.
pub(crate) enum Member {
    Function(Box<Function>),
    Other(Box<ImplItem>),
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let ahead = input.fork();
        Attribute::parse_outer(&ahead)?;
        ahead.parse::<Visibility>()?;
        ahead.parse::<Option<Token![default]>>()?;
        if ahead.peek(Token![fn]) || ahead.fork().parse::<Signature>().is_ok() {
            Ok(Item::Function(input.parse()?))
        } else if ahead.peek(Token![impl])
            || (ahead.peek(Token![unsafe]) && ahead.peek2(Token![impl]))
        {
            Ok(Item::Impl(input.parse()?))
        } else {
            let message = "nothing to trace here: put `#[trace_fn]` on a `fn` with a body or on an `impl` block";
            Err(Error::new(ahead.span(), message))
        }
    }
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = Attribute::parse_outer(input)?;
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
            attributes,
            signature,
            visibility,
            defaultness,
            brace,
            inner_attributes: Attribute::parse_inner(&content)?,
            leading_items: leading_items(&content),
            first_statement: None,
            body: content.parse()?,
        })
    }
}

impl Function {
    /// Puts `statement` in front of the body's own statements, but behind the items it begins with.
    pub(crate) fn prepend(&mut self, statement: TokenStream) {
        self.first_statement = Some(statement);
    }
}

/// The `use`, `fn`, `const` and so on that a body begins with.
///
/// An item means the same wherever it stands in its block, but `clippy::items_after_statements` reports one that
/// follows a statement, so ours may not come first. Macro calls are not taken along: they may be statements.
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

impl Parse for Impl {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let (header, body) = header_and_body(input)?;
        // With empty braces the parser reads all that names the type and looks into no body.
        let outline: ItemImpl = syn::parse2(quote!(#header {}))?;
        let (inner_attributes, members) = members.parse2(body.stream())?;
        Ok(Impl { self_type: *outline.self_ty, members, header, body, inner_attributes })
    }
}

/// Splits an item at the braces it ends with (its header may have braces too: `impl Ring<{ 1 << 4 }>`).
fn header_and_body(input: ParseStream<'_>) -> Result<(TokenStream, Group)> {
    let span = input.span();
    let mut tokens: Vec<TokenTree> = input.parse::<TokenStream>()?.into_iter().collect();
    match tokens.pop() {
        Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => {
            Ok((tokens.into_iter().collect(), body))
        }
        _ => Err(Error::new(span, "expected an `impl` block that ends with its braces")),
    }
}

fn members(input: ParseStream<'_>) -> Result<(Vec<Attribute>, Vec<Member>)> {
    let inner_attributes = Attribute::parse_inner(input)?;
    let mut members = Vec::new();
    while !input.is_empty() {
        members.push(input.parse()?);
    }
    Ok((inner_attributes, members))
}

impl Parse for Member {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let ahead = input.fork();
        match ahead.parse() {
            Ok(function) => {
                input.advance_to(&ahead);
                Ok(Member::Function(function))
            }
            Err(_) => Ok(Member::Other(input.parse()?)),
        }
    }
}

impl ToTokens for Item {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Item::Function(function) => function.to_tokens(tokens),
            Item::Impl(block) => block.to_tokens(tokens),
        }
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Function { attributes, visibility, defaultness, signature, .. } = self;
        tokens.extend(quote!(#(#attributes)* #visibility #defaultness #signature));
        self.brace.surround(tokens, |inside| {
            let Function { inner_attributes, leading_items, first_statement, body, .. } = self;
            inside.extend(quote!(#(#inner_attributes)* #(#leading_items)* #first_statement #body));
        });
    }
}

impl ToTokens for Impl {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Impl { header, inner_attributes, members, .. } = self;
        let mut body = Group::new(Delimiter::Brace, quote!(#(#inner_attributes)* #(#members)*));
        body.set_span(self.body.span());
        tokens.extend(quote!(#header #body));
    }
}

impl ToTokens for Member {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Member::Function(function) => function.to_tokens(tokens),
            Member::Other(item) => item.to_tokens(tokens),
        }
    }
}
