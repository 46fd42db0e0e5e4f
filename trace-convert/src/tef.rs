//! Reads the Trace Event Format, Chrome's JSON.
//!
//! A [`Reader`] reads a document once and returns its [`Item`]s: events and other members.
//! [`to_fxt`] converts a document to an archive, and [`chrome::write`](crate::chrome::write)
//! restores the document.
//!
//! The page `docs/trace-event-format.md` describes the conversion of each event, and how an archive
//! carries what FXT cannot express.
//!
//! # Examples
//!
//! ```
//! use trace_convert::{chrome, tef};
//!
//! let json = r#"[{"ph":"i","name":"started","ts":1.5,"pid":1,"tid":2,"cname":"good"}]"#;
//! let mut archive = Vec::new();
//! let summary = tef::to_fxt(tef::Reader::new(json.as_bytes()), &mut archive)?;
//! assert_eq!(summary.events, 1);
//!
//! let mut again = Vec::new();
//! chrome::write(trace_format::Reader::new(&archive[..]), &mut again)?;
//! assert!(String::from_utf8_lossy(&again).contains(r#""cname":"good""#));
//! # Ok::<(), trace_convert::ConvertError>(())
//! ```

mod event;
mod field;
mod import;
mod input;
mod member;
mod parsed;
mod reader;
pub(crate) mod scan;
mod shift;
mod source;
mod value;

pub use crate::json_error::{JsonError, Position, Problem};
pub use event::Event;
pub use field::Field;
pub use import::{to_fxt, Summary};
pub use input::Document;
pub(crate) use member::is_member;
pub use reader::{Form, Item, Limits, Member, Reader, Skipped};
pub use shift::shift;
pub use value::{Number, Text, Value};
