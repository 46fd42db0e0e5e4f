//! Calls whose errors are reported at their argument.
//!
//! The compiler reports a missing trait of an argument at the call. In a `macro_rules!` macro that
//! is the whole trace point, so this gives the call the location of the argument.

use proc_macro::{Delimiter, Group, Punct, Spacing, Span, TokenStream, TokenTree};

/// Returns the call `path(&(value))` for `path, value`. Names are resolved as they were.
pub(crate) fn call(input: TokenStream) -> TokenStream {
    let mut input = input.into_iter();
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ',');
    let path: Vec<TokenTree> = input.by_ref().take_while(|token| !is_comma(token)).collect();
    let value: Vec<TokenTree> = input.collect();
    let resolution = path.first().map_or_else(Span::call_site, TokenTree::span);
    let first = resolution.located_at(value.first().map_or(resolution, |token| ends(token).0));
    let last = resolution.located_at(value.last().map_or(resolution, |token| ends(token).1));
    let reference = Punct::new('&', Spacing::Alone);
    let argument = [at(reference.into(), first), in_parentheses(value, last)];
    let path = path.into_iter().map(|token| {
        let span = token.span().located_at(first);
        at(token, span)
    });
    path.chain([in_parentheses(argument, last)]).collect()
}

/// Returns the spans of the first and the last token.
fn ends(token: &TokenTree) -> (Span, Span) {
    let TokenTree::Group(group) = token else { return (token.span(), token.span()) };
    if group.delimiter() != Delimiter::None {
        return (group.span_open(), group.span_close());
    }
    // The value of a `macro_rules!` macro, whose own span is the macro.
    let inside: Vec<TokenTree> = group.stream().into_iter().collect();
    match (inside.first(), inside.last()) {
        (Some(first), Some(last)) => (ends(first).0, ends(last).1),
        _ => (group.span(), group.span()),
    }
}

fn at(mut token: TokenTree, span: Span) -> TokenTree {
    token.set_span(span);
    token
}

fn in_parentheses(tokens: impl IntoIterator<Item = TokenTree>, span: Span) -> TokenTree {
    at(Group::new(Delimiter::Parenthesis, tokens.into_iter().collect()).into(), span)
}
