#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]

mod byte_order;
pub mod format;
pub mod page;

pub use byte_order::ByteOrder;
