//! Every kind of function that `#[trace_fn]` accepts, compiled and called.
//!
//! Compiling is a part of the test: signatures, attributes, inference and lifetimes must remain
//! unchanged.

#![deny(warnings)]

mod async_traits;
mod blocks;
mod fake;
mod futures;
mod results;

use std::fmt::Debug;

use fake::{note, recorded, Noisy};
use trace_macros::trace_fn;

#[test]
fn category_and_name_have_defaults() {
    #[trace_fn(crate = fake)]
    fn plain() -> u32 {
        7
    }
    assert_eq!(recorded(plain), (7, vec!["begin default plain".into(), "end plain".into()]));
}

#[test]
fn raw_names_are_recorded_without_their_mark() {
    #[trace_fn(crate = fake, category = "c", args(r#type))]
    fn r#match(r#type: u8) {
        let _ = r#type;
    }
    assert_eq!(recorded(|| r#match(1)).1, ["begin c match type=1", "end match"]);
}

#[test]
fn arguments_are_parameters_or_expressions() {
    #[trace_fn(crate = fake, category = "c", name = "n", args(a, length = text.len(), "two words" = a == 3,))]
    fn with(a: i32, text: &str) -> usize {
        text.len()
    }
    let (length, lines) = recorded(|| with(3, "four"));
    assert_eq!(length, 4);
    assert_eq!(lines, ["begin c n a=3 length=4 two words=true", "end n"]);
}

#[test]
fn names_inside_patterns_are_parameters() {
    struct Point {
        x: i32,
        y: i32,
    }
    #[trace_fn(crate = fake, category = "c", args(a, b, x, top, all))]
    fn patterns((a, &b): (i32, &i32), Point { x, y: top }: Point, all @ [_, ..]: [u8; 2]) -> i32 {
        a + b + x + top + i32::from(all[0])
    }
    let (sum, lines) = recorded(|| patterns((1, &2), Point { x: 3, y: 4 }, [5, 6]));
    assert_eq!(sum, 15);
    assert_eq!(lines, ["begin c patterns a=1 b=2 x=3 top=4 all=\"[5, 6]\"", "end patterns"]);
}

/// The methods of a trait for all types must not be called.
#[test]
fn traits_for_all_types_do_not_change_arguments() {
    trait Ext {
        fn value(&self) -> u8 {
            99
        }
        fn arg(&self) -> u8 {
            99
        }
    }
    impl<T: ?Sized> Ext for T {}
    #[trace_fn(crate = fake, category = "c", args, ret)]
    fn shown(text: Counter, number: u64, (): ()) -> u64 {
        let _ = (text, 1.value(), 1.arg());
        number
    }
    let (_, lines) = recorded(|| shown(Counter(1), 7, ()));
    let expected =
        [r#"begin c shown text="Counter(1)" number=7"#, "instant c return value=7", "end shown"];
    assert_eq!(lines, expected);
}

#[test]
fn fifteen_arguments_are_taken() {
    #[trace_fn(crate = fake, category = "c", args(
        a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12, m = 13, n = 14, o = 15
    ))]
    fn full() {}
    let line = &recorded(full).1[0];
    assert!(line.starts_with("begin c full a=1 b=2 "), "{line}");
    assert!(line.ends_with(" n=14 o=15"), "{line}");
}

#[derive(Clone, Debug, PartialEq)]
struct Counter(u32);

impl Counter {
    #[trace_fn(crate = fake, category = "c", args(self, by))]
    fn by_value(mut self, by: u32) -> Self {
        self.0 += by;
        self
    }

    #[trace_fn(crate = fake, category = "c", args(now = self.0))]
    fn by_reference(&self) -> u32 {
        self.0
    }

    #[trace_fn(crate = fake, category = "c")]
    fn by_mutable_reference<'a>(&'a mut self, _other: &str) -> &'a mut u32 {
        &mut self.0
    }

    #[trace_fn(crate = fake, category = "c")]
    #[allow(clippy::boxed_local)]
    fn boxed(self: Box<Self>) -> u32 {
        self.0
    }

    #[trace_fn(crate = fake, category = "c")]
    fn associated() -> Self {
        Counter(9)
    }
}

#[test]
fn methods_with_every_self() {
    let (counter, lines) = recorded(|| Counter(1).by_value(2));
    assert_eq!(counter, Counter(3));
    assert_eq!(lines, ["begin c by_value self=\"Counter(1)\" by=2", "end by_value"]);
    assert_eq!(
        recorded(|| counter.by_reference()).1,
        ["begin c by_reference now=3", "end by_reference"]
    );
    let mut counter = counter;
    *counter.by_mutable_reference("x") += 1;
    assert_eq!(recorded(|| Box::new(counter).boxed()).0, 4);
    assert_eq!(recorded(Counter::associated).0, Counter(9));
}

#[test]
fn generics_lifetimes_and_where_clauses() {
    #[trace_fn(crate = fake, category = "c", args(first, n = N))]
    fn longest<'a, T, const N: usize>(first: &'a T, rest: [&'a T; N]) -> &'a T
    where
        T: PartialOrd + Debug + ?Sized,
    {
        rest.into_iter().fold(first, |best, next| if next > best { next } else { best })
    }
    let (best, lines) = recorded(|| longest("b", ["a", "c"]));
    assert_eq!(best, "c");
    assert_eq!(lines, [r#"begin c longest first="\"b\"" n=2"#, "end longest"]);
}

#[test]
fn impl_trait_in_both_places() {
    #[trace_fn(crate = fake, category = "c")]
    fn doubled(items: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
        items.map(|item| item * 2)
    }
    let (items, lines) = recorded(|| doubled([1, 2].into_iter()));
    assert_eq!(items.collect::<Vec<_>>(), [2, 4]);
    assert_eq!(lines, ["begin c doubled", "end doubled"]);
}

#[test]
fn unsafe_extern_and_recursive_functions() {
    /// # Safety
    ///
    /// None needed.
    #[trace_fn(crate = fake, category = "c")]
    unsafe fn marked() -> u8 {
        1
    }
    #[trace_fn(crate = fake, category = "c", args(n))]
    extern "C" fn factorial(n: u64) -> u64 {
        if n == 0 {
            return 1;
        }
        n * factorial(n - 1)
    }
    // Not called: that requires an unsafe block. The unit tests compare its expansion.
    let _: unsafe fn() -> u8 = marked;
    let c_pointer: extern "C" fn(u64) -> u64 = factorial;
    let (product, lines) = recorded(|| c_pointer(1));
    assert_eq!(product, 1);
    assert_eq!(
        lines,
        ["begin c factorial n=1", "begin c factorial n=0", "end factorial", "end factorial"]
    );
}

#[test]
fn results_end_the_scope_on_every_way_out() {
    #[trace_fn(crate = fake, category = "c")]
    fn parse(text: &str) -> Result<i32, std::num::ParseIntError> {
        let number: i32 = text.parse()?;
        Ok(number + 1)
    }
    assert_eq!(recorded(|| parse("1")).0, Ok(2));
    let (result, lines) = recorded(|| parse("x"));
    assert!(result.is_err());
    assert_eq!(lines, ["begin c parse", "end parse"]);
}

#[test]
fn a_function_that_never_returns_ends_when_it_unwinds() {
    #[trace_fn(crate = fake, category = "c")]
    fn never() -> ! {
        std::panic::resume_unwind(Box::new("out"))
    }
    let (result, lines) = recorded(|| std::panic::catch_unwind(|| never()));
    assert!(result.is_err());
    assert_eq!(lines, ["begin c never", "end never"]);
}

#[test]
fn drop_order_is_locals_then_scope_then_parameters() {
    #[trace_fn(crate = fake, category = "c")]
    fn order(_first: Noisy, _: Noisy, _last: Noisy) {
        let _local = Noisy("local");
        note("body");
    }
    let (_, lines) = recorded(|| order(Noisy("first"), Noisy("unnamed"), Noisy("last")));
    let expected = [
        "begin c order",
        "body",
        "drop local",
        "end order",
        "drop last",
        "drop unnamed",
        "drop first",
    ];
    assert_eq!(lines, expected);
}

/// The parameters' order alone, with and without the attribute: it must be the same.
#[test]
fn parameters_drop_as_they_do_without_the_attribute() {
    fn untraced((_a, _): (Noisy, Noisy), _: Noisy, _b: Noisy) {}
    #[trace_fn(crate = fake, category = "c")]
    fn traced((_a, _): (Noisy, Noisy), _: Noisy, _b: Noisy) {}
    let run = |f: fn((Noisy, Noisy), Noisy, Noisy)| {
        let (_, mut lines) = recorded(|| f((Noisy("1"), Noisy("2")), Noisy("3"), Noisy("4")));
        lines.retain(|line| line.starts_with("drop"));
        lines
    };
    assert_eq!(run(traced), run(untraced));
    assert_eq!(run(traced).len(), 4);
}

#[test]
fn the_tail_may_borrow_from_its_temporaries() {
    #[trace_fn(crate = fake, category = "c")]
    fn length(text: &std::cell::RefCell<String>) -> usize {
        text.borrow().len()
    }
    assert_eq!(recorded(|| length(&String::from("abc").into())).0, 3);
}

/// The call borrows `text` only while the scope begins.
#[test]
fn recorded_arguments_can_be_changed_and_moved() {
    #[trace_fn(crate = fake, category = "c", args(text))]
    fn grow(mut text: String) -> String {
        text.push('!');
        text
    }
    let (text, lines) = recorded(|| grow("a".into()));
    assert_eq!(text, "a!");
    assert_eq!(lines, [r#"begin c grow text="a""#, "end grow"]);
}

#[test]
fn attributes_reach_the_function() {
    /// Documented.
    #[trace_fn(crate = fake, category = "c")]
    #[must_use]
    #[inline(never)]
    #[allow(clippy::needless_return, clippy::mixed_attributes_style)]
    pub(crate) fn decorated() -> u8 {
        #![allow(unused_variables)]
        let unused = 1;
        return 2;
    }
    assert_eq!(recorded(decorated).0, 2);
}

trait Shape {
    fn area(&self) -> f64;
    #[trace_fn(crate = fake, category = "c")]
    fn doubled(&self) -> f64 {
        self.area() * 2.0
    }
}

struct Square<T>(T);

#[trace_fn(crate = fake, category = "shapes")]
impl<T> Shape for Square<T>
where
    T: Copy + Into<f64>,
{
    fn area(&self) -> f64 {
        let side: f64 = self.0.into();
        side * side
    }
}

#[test]
fn trait_methods_default_and_implemented() {
    let (area, lines) = recorded(|| Square(3.0_f32).doubled());
    assert!((area - 18.0).abs() < f64::EPSILON);
    assert_eq!(lines, ["begin c doubled", "begin shapes area", "end area", "end doubled"]);
}

#[derive(Default)]
struct Ring<const N: usize> {
    items: Vec<u32>,
}

#[trace_fn(crate = fake, category = "ring")]
impl Ring<{ 1 << 2 }> {
    #![allow(dead_code)]
    const SLOTS: usize = { 4 };

    fn put(&mut self, item: u32) -> bool {
        let fits = self.items.len() < Self::SLOTS;
        if fits {
            self.items.push(item);
        }
        fits
    }

    #[trace_fn(name = "get!", category = "other", args(index, filled = self.items.len()))]
    fn get<T: From<u32>>(&self, index: usize) -> Option<T> {
        self.items.get(index).copied().map(T::from)
    }

    #[trace_fn(skip)]
    const fn capacity() -> usize {
        Self::SLOTS
    }

    #[trace_macros::trace_fn]
    fn clear(&mut self) {
        self.items.clear();
    }
}

#[test]
fn impl_blocks_trace_every_function_but_the_skipped() {
    let mut ring = Ring::<4>::default();
    let (_, lines) = recorded(|| {
        assert!(ring.put(5));
        assert_eq!(ring.get::<u64>(0), Some(5));
        assert_eq!(Ring::capacity(), 4);
        ring.clear();
    });
    let expected = [
        "begin ring put",
        "end put",
        "begin other get! index=0 filled=1",
        "end get!",
        "begin ring clear",
        "end clear",
    ];
    assert_eq!(lines, expected);
}

macro_rules! define {
    ($visibility:vis fn $name:ident($argument:ident: $type:ty) -> $result:ty $body:block, $text:literal) => {
        #[trace_fn(crate = fake, category = $text, args($argument, shown = $argument.to_string()))]
        $visibility fn $name($argument: $type) -> $result $body
    };
}

define!(
    pub(crate) fn made_by_a_macro(value: i32) -> usize {
        value.to_string().len()
    },
    "from macro"
);

#[test]
fn functions_and_literals_may_come_from_a_macro() {
    let (length, lines) = recorded(|| made_by_a_macro(12));
    assert_eq!(length, 2);
    assert_eq!(
        lines,
        [r#"begin from macro made_by_a_macro value=12 shown="12""#, "end made_by_a_macro"]
    );
}

/// Clippy reports items after a statement.
#[test]
#[deny(clippy::items_after_statements)]
fn items_at_the_start_of_a_body_stay_there() {
    #[trace_fn(crate = fake, category = "c", args(bound = LIMIT.min(number)))]
    fn bounded(number: u32) -> u32 {
        use std::cmp::min;
        const LIMIT: u32 = 3;
        fn smaller(a: u32, b: u32) -> u32 {
            min(a, b)
        }
        smaller(number, LIMIT)
    }
    let (result, lines) = recorded(|| bounded(5));
    assert_eq!(result, 3);
    assert_eq!(lines, ["begin c bounded bound=3", "end bounded"]);
}
