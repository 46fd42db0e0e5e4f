//! The arguments and the AUX areas of Intel PT in hardware, with a sysfs and rings of the test.

mod arguments;
mod rings;
