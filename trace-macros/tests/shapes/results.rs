//! `ret` and `err`: results are recorded and remain unchanged.

use std::fmt;

use trace_macros::trace_fn;

use crate::fake::{self, note, recorded, Noisy};

#[test]
fn results_are_recorded_in_the_function() {
    #[trace_fn(crate = fake, category = "c", ret)]
    fn square(number: u32) -> u32 {
        if number == 0 {
            return 0;
        }
        number * number
    }
    assert_eq!(
        recorded(|| square(3)),
        (9, lines(&["begin c square", "instant c return value=9", "end square"]))
    );
    assert_eq!(recorded(|| square(0)).1[1], "instant c return value=0");
}

#[test]
fn errors_are_recorded_and_nothing_else() {
    #[trace_fn(crate = fake, category = "c", err)]
    fn parse(text: &str) -> Result<i32, std::num::ParseIntError> {
        let number: i32 = text.parse()?;
        Ok(number + 1)
    }
    assert_eq!(recorded(|| parse("1")), (Ok(2), lines(&["begin c parse", "end parse"])));
    let (result, lines) = recorded(|| parse("x"));
    assert!(result.is_err());
    assert_eq!(lines[1], r#"instant c error error="invalid digit found in string""#);
}

#[test]
fn with_both_each_outcome_has_its_record() {
    #[trace_fn(crate = fake, category = "c", ret, err)]
    fn halve(number: u32) -> Result<u32, String> {
        if number % 2 == 1 {
            Err(format!("{number} is odd"))?;
        }
        Ok(number / 2)
    }
    assert_eq!(recorded(|| halve(4)).1[1], "instant c return value=2");
    assert_eq!(recorded(|| halve(3)).1[1], r#"instant c error error="3 is odd""#);
}

/// An alias of `Result` is a `Result`.
#[test]
fn aliases_of_result_have_errors() {
    #[trace_fn(crate = fake, category = "c", err)]
    fn write() -> fmt::Result {
        Err(fmt::Error)
    }
    assert_eq!(
        recorded(write).1[1],
        r#"instant c error error="an error occurred when formatting an argument""#
    );
}

struct Store {
    items: Vec<String>,
}

#[trace_fn(crate = fake, category = "c")]
impl Store {
    #[trace_fn(err)]
    fn item(&mut self, index: usize) -> Result<&mut String, &'static str> {
        self.items.get_mut(index).ok_or("no such item")
    }

    #[trace_fn(ret)]
    fn first(&self) -> Option<&str> {
        Some(self.items.first()?)
    }

    #[trace_fn(ret, err)]
    fn into_longest<'a>(
        self,
        other: &'a str,
        _unused: &str,
    ) -> Result<std::borrow::Cow<'a, str>, fmt::Error> {
        let own = self.items.into_iter().next().ok_or(fmt::Error)?;
        Ok(if own.len() > other.len() { own.into() } else { other.into() })
    }

    #[trace_fn(ret)]
    fn boxed(&self) -> Box<dyn fmt::Debug> {
        if self.items.is_empty() {
            return Box::new(1);
        }
        Box::new("two")
    }

    #[trace_fn(err)]
    fn lazily(&self) -> Result<impl Iterator<Item = usize> + '_, fmt::Error> {
        let lengths = self.items.iter().map(String::len);
        Ok(lengths)
    }

    #[trace_fn(ret)]
    fn counted(mut self: Box<Self>, mut by: usize) -> usize {
        by += 1;
        self.items.truncate(1);
        self.items.len() + by
    }
}

#[test]
fn reborrows_lifetimes_and_inference_come_through() {
    let mut store = Store { items: vec!["a".to_string()] };
    store.item(0).unwrap().push('b');
    assert_eq!(recorded(|| store.item(7).is_err()).1[1], r#"instant c error error="no such item""#);
    assert_eq!(
        recorded(|| store.first().map(str::len)),
        (Some(2), lines(&["begin c first", r#"instant c return value=Some("ab")"#, "end first"]))
    );
    assert_eq!(store.lazily().unwrap().sum::<usize>(), 2);
    assert_eq!(
        recorded(|| store.boxed().type_id_text()).1[1],
        r#"instant c return value="\"two\"""#
    );
    assert_eq!(Box::new(Store { items: Vec::new() }).counted(1), 2);
    assert_eq!(store.into_longest("abc", "").unwrap(), "abc");
}

trait Shown {
    fn type_id_text(&self) -> String;
}

impl<T: fmt::Debug + ?Sized> Shown for T {
    fn type_id_text(&self) -> String {
        format!("{self:?}")
    }
}

/// A function without the attribute, and the same with it, must drop their parameters in the same
/// way.
macro_rules! same_drops {
    ($test:ident, ($($attribute:tt)*), fn($($parameter:pat_param => $type:ty),*) $(-> $output:ty)? $body:block, $($call:expr),*) => {
        #[test]
        #[allow(unused_variables)]
        fn $test() {
            fn plain($($parameter: $type),*) $(-> $output)? $body
            #[trace_fn(crate = fake, category = "c", $($attribute)*)]
            fn traced($($parameter: $type),*) $(-> $output)? $body
            let run = |f: fn($($type),*) $(-> $output)?| {
                let (_, mut lines) = recorded(|| { let _result = f($($call),*); });
                lines.retain(|line| line.starts_with("drop") || line.starts_with("note"));
                lines
            };
            assert_eq!(run(traced), run(plain));
            assert!(!run(plain).is_empty());
        }
    };
}

same_drops!(unmoved_parameters, (ret), fn(a => Noisy, b => Noisy, c => u8) -> u8 { note("note body"); c }, Noisy("a"), Noisy("b"), 3);
same_drops!(a_parameter_that_is_moved, (ret), fn(a => Noisy, b => Noisy) -> u8 { drop(b); note("note"); 1 }, Noisy("a"), Noisy("b"));
same_drops!(parameters_that_may_be_moved, (err), fn(go => bool, a => Noisy, b => Noisy, c => Noisy) -> Result<Noisy, u8> {
    let local = Noisy("local");
    if go { return Err(1); }
    drop(b);
    Ok(a)
}, true, Noisy("a"), Noisy("b"), Noisy("c"));
same_drops!(a_part_that_is_moved, (ret), fn(pair => (Noisy, Noisy), b => Noisy) -> Noisy { let _c = &b; pair.1 }, (Noisy("0"), Noisy("1")), Noisy("b"));
same_drops!(patterns, (ret), fn((x, y) => (Noisy, Noisy), [first, ..] => [Noisy; 1]) -> u8 { 1 }, (Noisy("x"), Noisy("y")), [Noisy("first")]);
same_drops!(a_temporary_of_the_tail, (ret), fn(a => Noisy) -> usize { let local = Noisy("local"); Noisy("temporary").0.len() }, Noisy("a"));
same_drops!(a_temporary_of_the_tail_plainly, (), fn(a => Noisy) -> usize { let local = Noisy("local"); Noisy("temporary").0.len() }, Noisy("a"));
same_drops!(without_options, (), fn((x, _) => (Noisy, Noisy), _ => Noisy, z => Noisy) { let l = Noisy("l"); }, (Noisy("x"), Noisy("y")), Noisy("_"), Noisy("z"));

#[test]
fn a_temporary_of_the_tail_may_borrow_a_parameter() {
    #[trace_fn(crate = fake, category = "c", ret)]
    fn length(text: std::cell::RefCell<String>) -> usize {
        text.borrow().len()
    }
    assert_eq!(recorded(|| length(String::from("abc").into())).0, 3);
}

fn lines(of: &[&str]) -> Vec<String> {
    of.iter().map(ToString::to_string).collect()
}

/// The closure is inside the unsafe function, so its unsafe operations are allowed.
#[test]
fn unsafe_functions_and_generics() {
    /// # Safety
    ///
    /// `number` can be read.
    #[allow(
        unsafe_op_in_unsafe_fn,
        reason = "the test shows that the body may use unsafe operations"
    )]
    #[trace_fn(crate = fake, category = "c", ret)]
    unsafe extern "C" fn read(number: *const u8) -> u8 {
        *number
    }
    #[trace_fn(crate = fake, category = "c", ret, args(n = N))]
    fn sum<'a, T, const N: usize>(
        items: &'a [T; N],
        mut add: impl FnMut(&'a T),
    ) -> impl Iterator<Item = &'a T>
    where
        T: fmt::Debug,
        std::slice::Iter<'a, T>: fmt::Debug,
    {
        items.iter().for_each(&mut add);
        items.iter()
    }
    let number = 7;
    // SAFETY: the number is there.
    assert_eq!(recorded(|| unsafe { read(&raw const number) }).0, 7);
    let mut total = 0;
    let (items, lines) = recorded(|| sum(&[1, 2], |item| total += item).count());
    assert_eq!((items, total), (2, 3));
    assert_eq!(lines, ["begin c sum n=2", "instant c return value=\"Iter([1, 2])\"", "end sum"]);
}

/// Types without a name are inferred from the body.
#[test]
fn results_without_a_name_are_recorded() {
    #[trace_fn(crate = fake, category = "c", ret)]
    fn items(list: &[u32]) -> impl Iterator<Item = &u32> + Clone + fmt::Debug {
        list.iter()
    }
    #[trace_fn(crate = fake, category = "c", ret, err)]
    fn within(fail: bool) -> Result<impl Iterator<Item = u8> + fmt::Debug, String> {
        if fail {
            return Err("failed".to_string());
        }
        Ok([1].into_iter())
    }
    let ((), lines) = recorded(|| assert_eq!(items(&[1]).count(), 1));
    assert_eq!(lines[1], r#"instant c return value="Iter([1])""#);
    assert_eq!(recorded(|| within(true).is_ok()).1[1], r#"instant c error error="failed""#);
    assert_eq!(
        recorded(|| within(false).is_ok()).1[1],
        r#"instant c return value="IntoIter([1])""#
    );
}
