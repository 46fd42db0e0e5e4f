#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]

pub mod calls;
pub mod fxt;
pub mod layout;
pub mod map;
pub mod read;
pub mod record;
pub mod report;
pub mod write;
pub mod yaml;
mod yaml_parser;

pub use record::{
    CustomEvent, EventTime, Format, FunctionId, FunctionRecord, Header, Record, TypedEvent,
    WallClock,
};
