//! Mistakes that the compiler finds, with words that say what is wrong.

use crate::harness::Run;
use crate::workshop::Workshop;

#[test]
fn compilers_say_what_is_wrong() {
    let workshop = Workshop::new(&[]);
    for (mistake, said) in [
        ("TOO_MANY", "a_trace_point_has_at_most_15_arguments"),
        ("FAR_TOO_MANY", "a_trace_point_has_at_most_15_arguments"),
        ("KEY_ALONE", "each_argument_of_a_trace_point_is_a_key_and_a_value"),
        ("NO_VALUE", "a_counter_has_at_least_one_value"),
        ("LONG_ALERT", "the name of an alert has 1 to 14 bytes"),
        ("NAME_AT_RUN_TIME", "category and name of a trace point are string literals"),
        ("NAME_OF_DURATION", "category and name of a trace point are string literals"),
        ("CATEGORY_AT_RUN_TIME", "category and name of a trace point are string literals"),
        ("KEY_AT_RUN_TIME", "the keys of a trace point are string literals"),
        ("NO_SCOPE", "behind_the_name_comes_the_scope_of_an_instant_or_else_the_id"),
        ("NO_ID", "behind_the_name_comes_the_scope_of_an_instant_or_else_the_id"),
        ("TEXT_OF_COUNTER", "the values of a counter are numbers"),
        ("POINTER_OF_COUNTER", "the values of a counter are numbers"),
        ("WRONG_VALUE", "error"),
    ] {
        for source in ["mistakes.c", "mistakes.cc"] {
            let run = Run::of(workshop.compile(source).0.arg(format!("-D{mistake}")));
            assert!(!run.0.status.success(), "{mistake} in {source}");
            assert!(run.stderr().contains(said), "{mistake} in {source}: {}", run.stderr());
            let ntrace =
                Run::of(workshop.compile(source).0.arg(format!("-D{mistake}")).arg("-DNTRACE"));
            assert!(!ntrace.0.status.success(), "{mistake} in {source} with NTRACE");
        }
    }
    let correct = Run::of(&mut workshop.compile("mistakes.c").0);
    assert!(correct.0.status.success(), "{}", correct.stderr());
}
