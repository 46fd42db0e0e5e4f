//! The name of a function, derived from the compiler's path of an item in its body.
//!
//! An attribute sees only the tokens of its function. For a single method, it cannot know the type,
//! but the compiler does. The trace point's static contains a type `Here`, whose
//! `core::any::type_name` is `app::shapes::Ring<_>::push::SITE::Here`. A session's start derives
//! `Ring::push` from it, so the trace point costs nothing more.
//!
//! The compiler does not guarantee the form of these texts, so any text yields a name, never an
//! error.

/// Returns the name of the function around `item`, the path of an item, in the module with the path
/// `module`.
///
/// A free function keeps its modules, without the crate: `shapes::area`. A function of a type or
/// trait has the type's name instead: `Ring::push`.
pub(crate) fn function_name(module: &str, item: &str) -> String {
    // `module_path!` keeps the `r#` of raw identifiers, `type_name` does not.
    let module = module.replace("r#", "");
    let function = without_site(item);
    let inside = function
        .strip_prefix(module.as_str())
        .and_then(|rest| rest.strip_prefix("::"))
        .unwrap_or(function);
    let segments: Vec<&str> =
        segments(inside).into_iter().filter(|segment| is_named(segment)).collect();
    let (modules, segments) = match first_of_type(&segments) {
        Some(first) => (None, segments.get(first..).unwrap_or(&[])),
        None => (module.split_once("::").map(|(_crate, modules)| modules), segments.as_slice()),
    };
    let names = segments.iter().map(|segment| plain_name(segment));
    modules.map(str::to_string).into_iter().chain(names).collect::<Vec<_>>().join("::")
}

/// Removes the last two segments: the static and the item in it.
fn without_site(item: &str) -> &str {
    let function = item.rsplit_once("::").and_then(|(site, _here)| site.rsplit_once("::"));
    function.map_or(item, |(function, _site)| function)
}

/// Returns whether the programmer named a segment. Closures and unnamed constants have no name.
fn is_named(segment: &str) -> bool {
    !segment.starts_with("{{") && segment != "_"
}

/// Returns the index of the segment with which a method's name begins: an `impl` block, or a type
/// or trait, which begins with a capital.
fn first_of_type(segments: &[&str]) -> Option<usize> {
    if let Some(block) = segments.iter().rposition(|segment| segment.starts_with('<')) {
        return Some(block);
    }
    let (first, methods) = segments.split_first()?;
    (!methods.is_empty() && first.starts_with(char::is_uppercase)).then_some(0)
}

/// Returns a segment without modules and generic arguments, or the type of an `impl` block.
fn plain_name(segment: &str) -> String {
    let Some(block) = segment.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) else {
        return plain_type(segment);
    };
    if let Some(header) = block.strip_prefix("impl ") {
        let of = split_at_top(header, " for ").map_or(header, |(_trait, of)| of);
        return plain_type(of);
    }
    match split_at_top(block, " as ") {
        // `impl<T> Trait for T`: only the trait has a name.
        Some(("_", of)) => plain_type(of),
        Some((of, _trait)) => plain_type(of),
        None => plain_type(block),
    }
}

/// Returns a type without modules and generic arguments: `Ring` for `&mut app::Ring<_>`, `[Ring;
/// 2]` for `[app::Ring<_>; 2]`.
fn plain_type(text: &str) -> String {
    let text = text.trim_start_matches(['&', ' ']);
    let text = text.strip_prefix("mut ").unwrap_or(text);
    let mut plain = String::new();
    let mut nesting = Nesting::default();
    let mut depth_of_generics = 0usize;
    // The start of the current path in `plain`.
    let mut start = 0;
    for character in text.chars() {
        let opens = nesting.takes_as_angle(character, '<');
        let closes = nesting.takes_as_angle(character, '>');
        nesting.step(character);
        if opens {
            depth_of_generics += 1;
        } else if closes {
            depth_of_generics = depth_of_generics.saturating_sub(1);
        } else if depth_of_generics == 0 {
            plain.push(character);
            if plain.ends_with("::") {
                plain.truncate(start);
            } else if !(character.is_alphanumeric() || character == '_' || character == ':') {
                start = plain.len();
            }
        }
    }
    plain
}

/// Splits a path at each `::` outside of brackets.
fn segments(path: &str) -> Vec<&str> {
    let mut segments = Vec::new();
    let mut rest = path;
    while let Some((segment, behind)) = split_at_top(rest, "::") {
        segments.push(segment);
        rest = behind;
    }
    segments.push(rest);
    segments
}

/// Splits at the first `separator` outside of brackets.
fn split_at_top<'t>(text: &'t str, separator: &str) -> Option<(&'t str, &'t str)> {
    let mut nesting = Nesting::default();
    for (index, character) in text.char_indices() {
        if nesting.is_top() {
            if let Some(behind) = text.get(index..).and_then(|rest| rest.strip_prefix(separator)) {
                return Some((text.get(..index)?, behind));
            }
        }
        nesting.step(character);
    }
    None
}

/// The nesting of brackets while a type is parsed.
#[derive(Default)]
struct Nesting {
    /// Open `<`, `(` and `[`.
    brackets: usize,
    /// Open `{`, which contain an expression: `<` and `>` are operators there.
    braces: usize,
    previous: char,
}

impl Nesting {
    fn is_top(&self) -> bool {
        self.brackets == 0 && self.braces == 0
    }

    /// Returns whether `character` is the bracket `angle`, not an operator or a part of `->`.
    fn takes_as_angle(&self, character: char, angle: char) -> bool {
        character == angle && self.braces == 0 && self.previous != '-'
    }

    fn step(&mut self, character: char) {
        match character {
            '{' => self.braces += 1,
            '}' => self.braces = self.braces.saturating_sub(1),
            '(' | '[' if self.braces == 0 => self.brackets += 1,
            ')' | ']' if self.braces == 0 => self.brackets = self.brackets.saturating_sub(1),
            _ if self.takes_as_angle(character, '<') => self.brackets += 1,
            _ if self.takes_as_angle(character, '>') => {
                self.brackets = self.brackets.saturating_sub(1)
            }
            _ => {}
        }
        self.previous = character;
    }
}

#[cfg(test)]
mod tests {
    use super::function_name;

    /// Module path, item path as rustc 1.95 writes it, and expected name.
    const NAMES: &[(&str, &str, &str)] = &[
        ("a", "a::main::SITE::Here", "main"),
        ("a::shapes", "a::shapes::free::SITE::Here", "shapes::free"),
        ("a::b::c", "a::b::c::free::inner::SITE::Here", "b::c::free::inner"),
        ("a::shapes", "a::shapes::asy::{{closure}}::{{closure}}::SITE::Here", "shapes::asy"),
        ("a::r#type", "a::type::match::SITE::Here", "type::match"),
        ("a", "a::Camel::SITE::Here", "Camel"),
        ("a::shapes", "a::shapes::Ring<_>::push::SITE::Here", "Ring::push"),
        ("a::shapes", "a::shapes::Ring<_>::push::inner::SITE::Here", "Ring::push::inner"),
        ("a::shapes", "a::shapes::Tr::d::SITE::Here", "Tr::d"),
        ("a", "a::Shift<{ 1 << 2 }>::a::SITE::Here", "Shift::a"),
        ("a", "a::low::a::SITE::Here", "low::a"),
        ("a::shapes", "<a::shapes::Ring<_> as core::fmt::Display>::fmt::SITE::Here", "Ring::fmt"),
        ("a::shapes", "<[u8] as a::shapes::Tr>::e::SITE::Here", "[u8]::e"),
        ("a::shapes", "<[a::shapes::Ring<u8>; N] as a::shapes::Tr>::e::SITE::Here", "[Ring; N]::e"),
        ("a::shapes", "<&(u8, &str) as a::shapes::Tr>::e::SITE::Here", "(u8, &str)::e"),
        ("a::shapes", "<&mut a::shapes::Ring<_> as a::shapes::Tr>::e::SITE::Here", "Ring::e"),
        ("a::shapes", "<*mut _ as a::shapes::Tr>::e::SITE::Here", "*mut _::e"),
        ("a::shapes", "<_ as a::shapes::Tr>::e::SITE::Here", "Tr::e"),
        (
            "a::shapes",
            "<fn(u8) -> a::shapes::Ring<u8> as a::shapes::Tr>::e::SITE::Here",
            "fn(u8) -> Ring::e",
        ),
        (
            "a::shapes",
            "<dyn core::ops::function::Fn(u8) -> u8 as a::shapes::Tr>::e::SITE::Here",
            "dyn Fn(u8) -> u8::e",
        ),
        ("a::shapes", "a::shapes::_::<impl a::Other<u16>>::z::SITE::Here", "Other::z"),
        ("a::r#type", "a::type::<impl a::Other<u8>>::q::SITE::Here", "Other::q"),
        ("a", "a::<impl a::shapes::Tr for core::option::Option<&_>>::e::SITE::Here", "Option::e"),
        ("a::shapes", "a::shapes::free::<impl a::Other<u8>>::q::SITE::Here", "Other::q"),
        ("a::shapes", "a::shapes::free::Local<_>::m::SITE::Here", "shapes::free::Local::m"),
        ("a::shapes", "<a::shapes::free::Local as a::shapes::Tr>::e::SITE::Here", "Local::e"),
    ];

    #[test]
    fn functions_have_short_names() {
        for (module, item, name) in NAMES {
            assert_eq!(function_name(module, item), *name, "{item}");
        }
    }

    #[test]
    fn any_text_yields_a_name() {
        for text in ["", "::", "<", "a<", "a::<impl ", "}>{", "->::->", "a::b::<é as é>::é::S::H"]
        {
            function_name("a", text);
            function_name("", text);
        }
        assert_eq!(function_name("a", "unheard of"), "unheard of");
    }

    #[test]
    fn the_compiler_writes_paths_in_this_form() {
        struct Generic<T>(T);
        impl<T> Generic<T> {
            fn method(&self) -> String {
                static HERE: fn() -> &'static str = {
                    struct Here;
                    core::any::type_name::<Here>
                };
                let _ = &self.0;
                function_name(module_path!(), HERE())
            }
        }
        assert!(Generic(1).method().ends_with("Generic::method"));
    }
}
