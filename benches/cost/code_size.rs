//! Measures the machine code that one `trace_duration!` adds to a function: the sizes of the same
//! function with and without it, from the symbol table of this program.

use std::hint::black_box;

use object::{Object, ObjectSymbol};
use trace_runtime::trace_duration;

#[no_mangle]
#[inline(never)]
extern "C" fn code_size_without(value: u64) -> u64 {
    black_box(work(value))
}

#[no_mangle]
#[inline(never)]
extern "C" fn code_size_with_scope(value: u64) -> u64 {
    trace_duration!("bench", "scope");
    black_box(work(value))
}

#[no_mangle]
#[inline(never)]
extern "C" fn code_size_with_arguments(value: u64) -> u64 {
    trace_duration!("bench", "scope", "number" => value as i64, "text" => "short");
    black_box(work(value))
}

#[inline(never)]
fn work(value: u64) -> u64 {
    black_box(value) + 1
}

/// Prints the sizes.
pub(crate) fn print() {
    black_box(code_size_without(1) + code_size_with_scope(1) + code_size_with_arguments(1));
    let program = std::env::current_exe().and_then(std::fs::read).unwrap_or_default();
    let Ok(program) = object::File::parse(program.as_slice()) else { return };
    let size = |name: &str| {
        program.symbols().find(|symbol| symbol.name() == Ok(name)).map_or(0, |symbol| symbol.size())
    };
    let without = size("code_size_without");
    println!("| machine code that a `trace_duration!` adds | bytes |\n|---|---|");
    println!("| without arguments | {} |", size("code_size_with_scope").saturating_sub(without));
    println!(
        "| one i64 and one short &str | {} |",
        size("code_size_with_arguments").saturating_sub(without)
    );
}
