//! The name of a function, from how the compiler writes the path of an item in its body.
//!
//! An attribute sees the tokens of its function and nothing around it: on a lone method it cannot
//! know the type. The compiler does. In the trace point's static there is a type `Here`, and
//! `core::any::type_name` of it reads `app::shapes::Ring<_>::push::SITE::Here`. A session's start
//! makes `Ring::push` of that; the trace point itself has nothing to do with it.
//!
//! The compiler promises nothing about these texts, so every one of them gives some name, never an
//! error.

/// The name of the function around the item that is called `item`, in the module that is called
/// `module`.
///
/// A free function keeps its modules, without the crate: `shapes::area`. What belongs to a type or
/// a trait does not, since one knows where a type is: `Ring::push`.
pub(crate) fn function_name(module: &str, item: &str) -> String {
    // `module_path!` keeps the mark of raw identifiers, `type_name` does not.
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

/// Takes off the static and the item in it, the last two segments.
fn without_site(item: &str) -> &str {
    let function = item.rsplit_once("::").and_then(|(site, _here)| site.rsplit_once("::"));
    function.map_or(item, |(function, _site)| function)
}

/// Whether a segment is one that the programmer named: no closure, constant, or block of an unnamed
/// constant.
fn is_named(segment: &str) -> bool {
    !segment.starts_with("{{") && segment != "_"
}

/// The segment that the name of a method begins with: its `impl` block's, or a type's or trait's,
/// which begin with a capital.
fn first_of_type(segments: &[&str]) -> Option<usize> {
    if let Some(block) = segments.iter().rposition(|segment| segment.starts_with('<')) {
        return Some(block);
    }
    let (first, methods) = segments.split_first()?;
    (!methods.is_empty() && first.starts_with(char::is_uppercase)).then_some(0)
}

/// A segment without modules and generic arguments; of an `impl` block its type.
fn plain_name(segment: &str) -> String {
    let Some(block) = segment.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) else {
        return plain_type(segment);
    };
    if let Some(header) = block.strip_prefix("impl ") {
        let of = split_at_top(header, " for ").map_or(header, |(_trait, of)| of);
        return plain_type(of);
    }
    match split_at_top(block, " as ") {
        // `impl<T> Trait for T`: all that has a name is the trait.
        Some(("_", of)) => plain_type(of),
        Some((of, _trait)) => plain_type(of),
        None => plain_type(block),
    }
}

/// `Ring` of `&mut app::Ring<_>`; `[Ring; 2]` of `[app::Ring<_>; 2]`.
fn plain_type(text: &str) -> String {
    let text = text.trim_start_matches(['&', ' ']);
    let text = text.strip_prefix("mut ").unwrap_or(text);
    let mut plain = String::new();
    let mut nesting = Nesting::default();
    let mut depth_of_generics = 0usize;
    // Where the path that is being read begins in `plain`.
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

/// The parts of a path between its `::`, but for those inside brackets.
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

/// Splits at the first `separator` that is inside no brackets.
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

/// How deep in brackets a reader of a type is.
#[derive(Default)]
struct Nesting {
    /// Open `<`, `(` and `[`.
    brackets: usize,
    /// Open `{`: inside is an expression, of which `<` and `>` are operators.
    braces: usize,
    before: char,
}

impl Nesting {
    fn is_top(&self) -> bool {
        self.brackets == 0 && self.braces == 0
    }

    /// Whether `character` is the bracket `angle`, and neither an operator nor part of `->`.
    fn takes_as_angle(&self, character: char, angle: char) -> bool {
        character == angle && self.braces == 0 && self.before != '-'
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
        self.before = character;
    }
}

#[cfg(test)]
mod tests {
    use super::function_name;

    /// As rustc 1.95 writes them.
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
    fn names_as_a_reader_knows_the_functions() {
        for (module, item, name) in NAMES {
            assert_eq!(function_name(module, item), *name, "{item}");
        }
    }

    #[test]
    fn any_text_gives_a_name() {
        for text in ["", "::", "<", "a<", "a::<impl ", "}>{", "->::->", "a::b::<é as é>::é::S::H"]
        {
            function_name("a", text);
            function_name("", text);
        }
        assert_eq!(function_name("a", "unheard of"), "unheard of");
    }

    #[test]
    fn the_compiler_still_writes_paths_in_this_way() {
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
