//! The arguments and the AUX areas of Intel PT in hardware, with a sysfs and rings of the test, and
//! the side events of this machine's kernel.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod arguments;
mod controlled;
mod recorded;
#[path = "../common/replayed.rs"]
mod replayed;
#[path = "../common/required.rs"]
mod required;
mod rings;
mod side;
#[path = "../common/stepped.rs"]
mod stepped;
#[path = "../common/sysfs.rs"]
mod sysfs;
#[path = "../common/target.rs"]
mod target;
