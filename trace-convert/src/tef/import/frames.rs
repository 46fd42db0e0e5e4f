//! Frames of stacks, and a document's table of frames.

use std::collections::HashMap;

use serde_json::Value as Json;
use trace_format::layout::ARTIFICIAL_KOID_BIT;

use super::ids::hash;

/// The maximum number of frames of a record.
pub(super) const MAX_FRAMES: usize = 255;

/// A frame of a stack.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) address: u64,
    /// The name, if the address is artificial.
    pub(super) symbol: Option<String>,
}

impl Frame {
    pub(super) fn new(name: &str) -> Self {
        let address = name.strip_prefix("0x").and_then(|it| u64::from_str_radix(it, 16).ok());
        match address {
            Some(address) => Self { address, symbol: None },
            None => Self {
                address: hash(&[name.as_bytes()]) | ARTIFICIAL_KOID_BIT,
                symbol: Some(name.to_owned()),
            },
        }
    }
}

/// The frames of a document by id, each with the id of its parent.
#[derive(Debug, Default)]
pub(super) struct Frames(HashMap<String, (Frame, Option<String>)>);

impl Frames {
    /// Adds the member `stackFrames` of a document.
    pub(super) fn extend(&mut self, frames: serde_json::Map<String, Json>) {
        self.0.extend(frames.into_iter().filter_map(|(id, frame)| {
            let name = frame.get("name")?.as_str()?;
            Some((id, (Frame::new(name), frame.get("parent").and_then(json_id))))
        }));
    }
}

/// A table of frames with resolved parents: each id, which may be long, is hashed once.
#[derive(Debug)]
pub(super) struct Table<'a> {
    places: HashMap<&'a str, usize>,
    rows: Vec<Row<'a>>,
    /// The number of the current walk.
    walk: u64,
}

#[derive(Debug)]
struct Row<'a> {
    frame: &'a Frame,
    parent: Option<usize>,
    /// The last walk that visited it.
    walk: u64,
}

impl<'a> Table<'a> {
    pub(super) fn new(Frames(frames): &'a Frames) -> Self {
        let ids = frames.keys().map(String::as_str);
        let places: HashMap<&str, usize> = ids.zip(0..).collect();
        let row = |(frame, parent): &'a (Frame, Option<String>)| {
            let parent = parent.as_deref().and_then(|id| places.get(id).copied());
            Row { frame, parent, walk: 0 }
        };
        let rows = frames.values().map(row).collect();
        Self { places, rows, walk: 0 }
    }

    /// Returns the stack of a frame, from the innermost one on. A cycle of parents ends it.
    pub(super) fn stack(&mut self, id: &str) -> Vec<&'a Frame> {
        self.walk += 1;
        let mut stack = Vec::new();
        let mut next = self.places.get(id).copied();
        while let (Some(place), 0..MAX_FRAMES) = (next, stack.len()) {
            let row = &mut self.rows[place];
            if row.walk == self.walk {
                break;
            }
            row.walk = self.walk;
            stack.push(row.frame);
            next = row.parent;
        }
        stack
    }
}

/// Returns the id of a frame: a string, or the text of a number.
pub(super) fn json_id(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
