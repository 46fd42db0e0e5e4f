//! Demangled names of Rust's functions.
//!
//! A method has its type in brackets: `<app::A>::new`, of older mangling `app::A::new`, and
//! `<app::A as core::fmt::Debug>::fmt`.

use std::borrow::Cow;

/// The crates that record: their generic functions are compiled in the crates that call them.
const OWN_CRATES: [&str; 7] = [
    "trace_format",
    "trace_log_bridge",
    "trace_protocol",
    "trace_provider",
    "trace_runtime",
    "trace_tracing",
    "trace_xray_runtime",
];

/// The crates of the standard library.
const STANDARD: [&str; 3] = ["core", "alloc", "std"];

/// What stands before the path of a type.
const BEFORE_TYPES: [&str; 5] = ["&", "*const ", "*mut ", "mut ", "dyn "];

/// Returns the name with the path of its type in place of the brackets, `app::A::fmt` for the names
/// above. The path is that of the trait for a type without one, such as `u8` or a tuple, and for
/// a type of the standard library, if the trait is of another crate.
pub(crate) fn path(name: &str) -> Cow<'_, str> {
    let Some((of, rest)) = in_brackets(name) else { return Cow::Borrowed(name) };
    let (of, implemented) = split_as(of);
    let own = without_references(of);
    let path = match implemented {
        Some(implemented) if is_of_trait(own, implemented) => implemented,
        _ => own,
    };
    Cow::Owned(format!("{path}{rest}"))
}

/// Returns whether a method is in the crate of the trait rather than in that of the type.
fn is_of_trait(of: &str, implemented: &str) -> bool {
    let is_standard = |path| krate(path).is_some_and(|krate| STANDARD.contains(&krate));
    krate(of).is_none() || (is_standard(of) && !is_standard(implemented))
}

/// Returns the crate that a path begins with.
fn krate(path: &str) -> Option<&str> {
    let name = path.split("::").next()?;
    let is_name = name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    (is_name && name.len() < path.len()).then_some(name)
}

/// Returns whether a function is part of a recording, which must not record itself: one of the
/// project's crates, or one of the standard library for their types, such as
/// `core::ptr::drop_in_place::<trace_runtime::DurationScope>`.
pub(crate) fn is_own(name: &str) -> bool {
    let path = path(name);
    let krate = krate(&path);
    // Methods of slices are of the standard library.
    let is_standard = krate.is_none_or(|krate| STANDARD.contains(&krate));
    krate.is_some_and(|krate| OWN_CRATES.contains(&krate))
        || (is_standard && OWN_CRATES.iter().any(|own| mentions(name, own)))
}

/// Returns whether a name has a path of a crate.
fn mentions(name: &str, krate: &str) -> bool {
    name.match_indices(krate).any(|(at, _)| {
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
        let (before, after) = (name.get(..at), name.get(at + krate.len()..));
        !before.is_some_and(|it| it.ends_with(is_part))
            && after.is_some_and(|it| it.starts_with("::"))
    })
}

/// Returns what is in the brackets that a name begins with, and what follows them.
fn in_brackets(name: &str) -> Option<(&str, &str)> {
    let inner = name.strip_prefix('<')?;
    let end = outside_brackets(inner).find(|(_, letter)| *letter == '>')?.0;
    Some((inner.get(..end)?, inner.get(end + 1..)?))
}

/// Returns the type and the trait of `type as trait`.
fn split_as(of: &str) -> (&str, Option<&str>) {
    const AS: &str = " as ";
    let at = outside_brackets(of).map(|(at, _)| at).find(|at| {
        let rest = of.get(*at..).unwrap_or_default();
        rest.starts_with(AS)
    });
    match at {
        Some(at) => (of.get(..at).unwrap_or(of), of.get(at + AS.len()..)),
        None => (of, None),
    }
}

/// Returns the letters that are in no further brackets, with their places. The last one of `->` is
/// no bracket.
fn outside_brackets(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let (mut depth, mut before) = (0_u32, ' ');
    text.char_indices().filter(move |(_, letter)| {
        let is_arrow = before == '-' && *letter == '>';
        before = *letter;
        match letter {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' if !is_arrow && depth > 0 => depth -= 1,
            '>' if !is_arrow => return true,
            _ => return depth == 0,
        }
        false
    })
}

fn without_references(mut name: &str) -> &str {
    while let Some(rest) = BEFORE_TYPES.iter().find_map(|before| name.strip_prefix(before)) {
        name = rest;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_have_the_path_of_their_type() {
        for (name, expected) in [
            ("app::main", "app::main"),
            ("app::A::new", "app::A::new"),
            ("<app::A>::new", "app::A::new"),
            ("<app::A as core::fmt::Debug>::fmt", "app::A::fmt"),
            ("<&mut app::A as app::Go>::go", "app::A::go"),
            ("<dyn app::Go>::all::{closure#0}", "app::Go::all::{closure#0}"),
            ("<app::A<fn(u8) -> u8> as app::Go<u8>>::go", "app::A<fn(u8) -> u8>::go"),
            ("<alloc::vec::Vec<app::A>>::push", "alloc::vec::Vec<app::A>::push"),
            ("<u8 as app::Go>::go", "app::Go::go"),
            ("<(u8, app::A) as app::Go>::go", "app::Go::go"),
            ("<[app::A] as app::Go>::go", "app::Go::go"),
            ("<[app::A]>::iter", "[app::A]::iter"),
            ("<fn(other::A) as app::Go>::go", "app::Go::go"),
            ("<for<'a> fn(&'a other::A) as app::Go>::go", "app::Go::go"),
            ("<alloc::vec::Vec<other::A> as app::Go>::go", "app::Go::go"),
            (
                "<&alloc::string::String as app::Go<core::fmt::Error>>::go",
                "app::Go<core::fmt::Error>::go",
            ),
            ("<alloc::vec::Vec<app::A> as core::fmt::Debug>::fmt", "alloc::vec::Vec<app::A>::fmt"),
            ("<other::A as app::Go>::go", "other::A::go"),
            ("<app::A", "<app::A"),
            ("<", "<"),
            ("operator<(A, B)", "operator<(A, B)"),
        ] {
            assert_eq!(path(name), expected, "{name}");
        }
    }

    #[test]
    fn functions_that_record_are_told_from_others() {
        for (name, expected) in [
            ("trace_runtime::point::write::begin::<trace_runtime::point::Begin>", true),
            ("<trace_runtime::scope::DurationScope as core::ops::drop::Drop>::drop", true),
            ("core::ptr::drop_in_place::<trace_runtime::scope::DurationScope>", true),
            ("<core::option::Option<&trace_provider::Site>>::map::<u8>", true),
            ("core::ptr::drop_in_place::<app::A>", false),
            ("app::run::<trace_runtime::Guard>", false),
            ("core::mem::drop::<my_trace_runtime::A>", false),
            ("core::mem::drop::<app::trace_runtime::A>", false),
            ("core::mem::drop::<trace_runtimes::A>", false),
            ("<[trace_provider::Site]>::iter", true),
            ("<(u8, trace_provider::Site) as core::fmt::Debug>::fmt", true),
            ("<[app::A]>::iter", false),
            ("trace_runtime_of_others::f", false),
            ("main", false),
        ] {
            assert_eq!(is_own(name), expected, "{name}");
        }
    }
}
