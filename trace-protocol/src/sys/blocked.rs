//! Threads that are blocked.

use std::fs;

/// Returns the stack pointer of a blocked thread of this process, as Linux numbers threads.
///
/// `None` if the thread runs, and where the kernel does not tell: see proc(5) on
/// `/proc/PID/syscall`.
pub(crate) fn stack_pointer(thread: u32) -> Option<u64> {
    parse(&fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).ok()?)
}

/// The last two fields are the stack pointer and the instruction pointer.
fn parse(text: &str) -> Option<u64> {
    let stack = text.split_whitespace().rev().nth(1)?;
    u64::from_str_radix(stack.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stack_pointer_is_the_last_but_one_field() {
        assert_eq!(parse("running\n"), None);
        assert_eq!(parse("-1 0x7ffd19194748 0x7f7d918952ad\n"), Some(0x7ffd_1919_4748));
        assert_eq!(
            parse("0 0x3 0x7 0x20000 0x0 0xf 0x0 0x7ffd19194748 0x7f\n"),
            Some(0x7ffd_1919_4748)
        );
        assert_eq!(parse(""), None);
    }
}
