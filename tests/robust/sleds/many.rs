//! A program with more functions than a provider has strings.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use super::Recorded;
use crate::harness::building::products;
use crate::harness::{trace, Run};

const FUNCTIONS: usize = 40_000;

/// Strings have 15 bits in the trace format.
const STRINGS: usize = 32_767;

/// Each function has a trace point. Those without a string are counted.
#[test]
#[ignore = "requires clang: run .ci/xray"]
fn functions_beyond_the_string_table_are_counted() {
    products();
    let directory = tempfile::tempdir().unwrap();
    let [source, program] = ["many.c", "many"].map(|name| directory.path().join(name));
    let mut text = String::new();
    let mut main = "int main(void) { int sum = 0;\n".to_owned();
    for number in 0..FUNCTIONS {
        writeln!(text, "__attribute__((noinline)) int f{number}(int a) {{ return a + {number}; }}")
            .unwrap();
        writeln!(main, "sum += f{number}(sum);").unwrap();
    }
    fs::write(&source, text + &main + "return sum == 1; }\n").unwrap();
    let mut clang = Command::new("clang-19");
    clang.args(["-fxray-instrument", "-fxray-instruction-threshold=1", "-fno-xray-link-deps"]);
    assert_eq!(Run::of(clang.arg(&source).arg("-o").arg(&program)).code(), 0);
    let recorded = Recorded::of(&program, &["-b", "64M", "--functions", "f*"], &[]);
    let (_, after) = recorded.messages.split_once("not recorded: ").expect(&recorded.messages);
    let (number, what) = after.split_once(' ').unwrap();
    assert!(what.starts_with("trace points"), "{}", recorded.messages);
    let disabled: usize = number.replace(',', "").parse().unwrap();
    let named = FUNCTIONS - disabled;
    assert!((STRINGS - 100..STRINGS).contains(&named), "{}", recorded.messages);
    let path = recorded.directory.path().join("app.fxt");
    let check = Run::of(trace(&["check"]).arg(path)).stdout();
    let report = format!("trace points disabled: no space for their strings: {disabled}\n");
    assert!(check.contains(&report), "{check}");
}
