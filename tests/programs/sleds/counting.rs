//! Calls that are counted in a file, which has their numbers after the program is killed.
//!
//! For each of two threads, the file has the number of begun calls, of inner calls that have ended,
//! and of ended calls.

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;

use crate::loading::wait_until_patched;

/// Calls functions in two threads until the process is killed.
pub fn count(path: &str) {
    wait_until_patched(called as *const u8);
    wait_until_patched(inside as *const u8);
    let file = File::create(path).expect("it can be created");
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let numbers = Numbers { file: &file, first: 24 * thread };
            scope.spawn(move || {
                for number in 1.. {
                    called(&numbers, number);
                    numbers.publish(2, number);
                }
            });
        }
    });
}

/// The numbers of a thread in the file.
struct Numbers<'a> {
    file: &'a File,
    first: u64,
}

impl Numbers<'_> {
    fn publish(&self, index: u64, number: u64) {
        let place = self.first + 8 * index;
        self.file.write_all_at(&number.to_le_bytes(), place).expect("it can be written");
    }
}

/// Publishes when it has begun, and when the inner function has ended.
#[inline(never)]
fn called(numbers: &Numbers<'_>, number: u64) {
    numbers.publish(0, number);
    inside(number);
    numbers.publish(1, number);
}

#[inline(never)]
fn inside(number: u64) {
    black_box(number);
}
