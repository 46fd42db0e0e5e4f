//! The choice of functions by name.

use crate::names;

/// Patterns of names. A name is selected if a pattern matches it, or its [path](names::path), and
/// no pattern with `-` does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    included: Vec<String>,
    excluded: Vec<String>,
}

impl Selection {
    /// Reads a list such as `my_crate::*,-*::fmt`. With nothing but exclusions, all others are
    /// selected.
    pub(crate) fn parse(list: &str) -> Self {
        let mut selection = Self::default();
        for pattern in split(list) {
            match pattern.strip_prefix('-') {
                Some(excluded) => selection.excluded.push(excluded.to_owned()),
                None => selection.included.push(pattern.to_owned()),
            }
        }
        selection
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        let path = names::path(name);
        let is_named = |pattern: &String| matches(pattern, name) || matches(pattern, &path);
        let is_included = self.included.is_empty() || self.included.iter().any(is_named);
        is_included && !self.excluded.iter().any(is_named)
    }
}

/// Splits a list at commas, except those inside of brackets: `f<A, B>` and `f(int, int)` are names.
/// The signs of `->` and of C++'s operators are no brackets.
fn split(list: &str) -> impl Iterator<Item = &str> {
    let mut parts = Vec::new();
    let (mut start, mut depth, mut at) = (0, 0i32, 0);
    while let Some(letter) = list.get(at..).and_then(|rest| rest.chars().next()) {
        let before = list.get(..at).unwrap_or_default();
        let operator = operator_bytes(before, list.get(at..).unwrap_or_default());
        match letter {
            _ if operator > 0 => {
                at += operator;
                continue;
            }
            '>' if before.ends_with('-') => {}
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth <= 0 => {
                parts.extend(list.get(start..at));
                (start, depth) = (at + 1, 0);
            }
            _ => {}
        }
        at += letter.len_utf8();
    }
    parts.extend(list.get(start..));
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty())
}

/// The operators of C++ that have signs of brackets, or a comma.
const OPERATORS: [&str; 13] =
    ["<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "[]", "<", ">"];

/// Returns the bytes of the operator at the start of `rest`, if `before` ends with C++'s keyword.
fn operator_bytes(before: &str, rest: &str) -> usize {
    let Some(before) = before.strip_suffix("operator") else { return 0 };
    if before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_') {
        return 0;
    }
    match OPERATORS.into_iter().find(|known| rest.starts_with(known)) {
        Some(known) => known.len(),
        // A comma behind the keyword may also end a pattern.
        None => usize::from(rest.starts_with(",(")),
    }
}

/// Returns whether a pattern matches a whole name. `*` stands for any letters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(head) else { return false };
    let Some((middle, tail)) = rest.rsplit_once('*') else { return name.ends_with(rest) };
    for part in middle.split('*') {
        let Some((_, after)) = name.split_once(part) else { return false };
        name = after;
    }
    name.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_letters() {
        for (pattern, name, expected) in [
            ("main", "main", true),
            ("main", "app::main", false),
            ("*", "", true),
            ("app::*", "app::main", true),
            ("app::*", "other::app::main", false),
            ("*::fmt", "<app::A as core::fmt::Debug>::fmt", true),
            ("*::fmt", "app::fmt::x", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "axbxbxc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("*x*", "axb", true),
            ("*x*", "ab", false),
            ("a*b*b", "ab", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn exclusions_win() {
        let selection = Selection::parse(" app::*, -*::fmt ,");
        assert!(selection.contains("app::main"));
        assert!(!selection.contains("app::A::fmt"));
        assert!(!selection.contains("std::x"));
        let all_but = Selection::parse("-app::*");
        assert!(all_but.contains("std::x") && !all_but.contains("app::main"));
        assert!(Selection::parse("").contains("x"));
    }

    #[test]
    fn methods_are_selected_by_the_path_of_their_type() {
        let selection = Selection::parse("app::*,-*::fmt,-app::B::*");
        for (name, expected) in [
            ("<app::A>::new", true),
            ("<app::A as app::Go>::go", true),
            ("<u8 as app::Go>::go", true),
            ("<app::A as core::fmt::Debug>::fmt", false),
            ("<app::B>::new", false),
            ("core::mem::drop::<app::A>", false),
            ("<alloc::vec::Vec<app::A>>::push", false),
        ] {
            assert_eq!(selection.contains(name), expected, "{name}");
        }
        assert!(Selection::parse("app::A::new").contains("<app::A>::new"));
        assert!(Selection::parse("<app::A>::*").contains("<app::A>::new"));
    }

    #[test]
    fn a_comma_in_brackets_belongs_to_a_name() {
        let selection = Selection::parse("f(int, int),g<A, B>");
        assert!(selection.contains("f(int, int)") && selection.contains("g<A, B>"));
        assert!(!selection.contains("f(int"));
    }

    #[test]
    fn signs_of_arrows_and_operators_are_no_brackets() {
        for names in [
            &["<fn(A, B) -> C as app::Call<D, E>>::call", "app::other"][..],
            &["g<fn() -> (A, B), C>", "h"],
            &["app::operator<(A, B)", "operator<< <A, B>(C, D)", "last"],
            &["A::operator()(int, int)", "A::operator->()", "A::operator>(A, A)", "x"],
            &["operator,(A, B)", "my_operator<A, B>", "B::operator", "y"],
            &["operator<=>(A, B)", "operator[](A, B)", "größe(a, b)"],
        ] {
            assert!(split(&names.join(",")).eq(names.iter().copied()), "{names:?}");
        }
    }
}
