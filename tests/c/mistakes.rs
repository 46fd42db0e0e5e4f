//! Mistakes that the compiler reports in plain words.

use crate::harness::Run;
use crate::workshop::Workshop;

#[test]
fn compilers_report_mistakes_in_plain_words() {
    let workshop = Workshop::new(&[]);
    for (mistake, said) in [
        ("TOO_MANY", "there are too many arguments"),
        ("FAR_TOO_MANY", "there are too many arguments"),
        ("KEY_ALONE", "each key requires a value"),
        ("NO_VALUE", "a counter has at least one value"),
        ("LONG_ALERT", "the name of an alert has 1 to 14 bytes"),
        ("NAME_AT_RUN_TIME", "category and name of a trace point are string literals"),
        ("NAME_OF_DURATION", "category and name of a trace point are string literals"),
        ("CATEGORY_AT_RUN_TIME", "category and name of a trace point are string literals"),
        ("KEY_AT_RUN_TIME", "the keys of a trace point are string literals"),
        ("ONLY_CATEGORY", "TRACE_DURATION(category, name, key, value, ...): an argument is missing"),
        ("NOTHING", "TRACE_DURATION(category, name, key, value, ...): an argument is missing"),
        ("NO_SCOPE", "TRACE_INSTANT(category, name, scope, key, value, ...): an argument is missing"),
        ("NO_ID", "TRACE_ASYNC_BEGIN(category, name, id, key, value, ...): an argument is missing"),
        ("NO_FLOW_ID", "step_name, id, key, value, ...): an argument is missing"),
        ("NO_TICKS", "vthread_id, ticks, key, value, ...): an argument is missing"),
        ("NO_SIZE", "TRACE_BLOB_EVENT(category, name, bytes, size, key, value, ...): an argument is missing"),
        ("PAIRS_14", "there are too many arguments"),
        ("NO_NAME", "TRACE_USERSPACE_OBJECT(pointer, name, key, value, ...): an argument is missing"),
        ("NO_TYPE", "TRACE_KERNEL_OBJECT(koid, type, name, key, value, ...): an argument is missing"),
        ("NO_VALUE_ON_VTHREAD", "a counter has at least one value"),
        ("VTHREAD_AT_RUN_TIME", "category and name of a trace point are string literals"),
        ("TEXT_OF_COUNTER", "the values of a counter are numbers"),
        ("POINTER_OF_COUNTER", "the values of a counter are numbers"),
        ("WRONG_VALUE", "error"),
    ] {
        for source in ["mistakes.c", "mistakes.cc"] {
            let run = Run::of(workshop.compile(source).0.arg(format!("-D{mistake}")));
            assert!(!run.0.status.success(), "{mistake} in {source}");
            let first = run.stderr().lines().find(|line| line.contains("error")).map(str::to_owned);
            assert!(first.unwrap_or_default().contains(said), "{mistake} in {source}: {}", run.stderr());
            let ntrace =
                Run::of(workshop.compile(source).0.arg(format!("-D{mistake}")).arg("-DNTRACE"));
            assert!(!ntrace.0.status.success(), "{mistake} in {source} with NTRACE");
        }
    }
    let correct = Run::of(&mut workshop.compile("mistakes.c").0);
    assert!(correct.0.status.success(), "{}", correct.stderr());
}
