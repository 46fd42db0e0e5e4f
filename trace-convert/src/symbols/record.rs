//! The records of an archive with the names of functions. `docs/format.md` describes them.

use std::collections::HashMap;
use std::fmt::{self, Write};
use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde_json::Value as Json;
use trace_format::layout::{cut_str, MAX_BLOB_BYTES};
use trace_symbols::Frame;

use super::table::Table;
use crate::images::CodeModule;

/// The most bytes of a payload. A blob of the maximum size would continue in the next record.
const MAX_PAYLOAD_BYTES: usize = MAX_BLOB_BYTES - 1;

/// The most bytes of the frames at an address, as JSON: the rest is for the module's name and
/// build id, each of which has 255 bytes.
const MAX_ADDRESS_BYTES: usize = 16_000;

/// The longest name or path, as JSON.
const MAX_TEXT_BYTES: usize = 4096;

/// The names of addresses of a module.
#[derive(Debug)]
pub(crate) struct Names {
    module: CodeModule,
    addresses: Vec<(u64, Vec<Frame>)>,
}

impl Names {
    pub(super) fn add_to(&self, table: &mut Table) {
        for (address, frames) in &self.addresses {
            table.add(&self.module, *address, frames);
        }
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CodeModule { name, build_id } = &self.module;
        write!(f, "module {name:?} build id {} ", HEXLOWER.encode_display(build_id))?;
        write!(f, "addresses {}", self.addresses.len())
    }
}

/// Returns the names in a payload, or `None` if it is malformed.
pub(crate) fn decode(payload: &[u8]) -> Option<Names> {
    let json: Json = serde_json::from_slice(payload).ok()?;
    let name = json.get("module")?.as_str()?.to_owned();
    let build_id = HEXLOWER.decode(json.get("build id")?.as_str()?.as_bytes()).ok()?.into();
    let strings = json.get("strings")?.as_array()?.iter();
    let strings: Vec<Arc<str>> =
        strings.map(|text| Some(text.as_str()?.into())).collect::<Option<_>>()?;
    let address = |(address, frames): (&String, &Json)| {
        let address = u64::from_str_radix(address.strip_prefix("0x")?, 16).ok()?;
        let frames = frames.as_array()?.iter().map(|json| frame(json, &strings));
        Some((address, frames.collect::<Option<_>>()?))
    };
    let addresses = json.get("addresses")?.as_object()?.iter().map(address);
    let addresses = addresses.collect::<Option<_>>()?;
    Some(Names { module: CodeModule { name, build_id }, addresses })
}

/// Returns a frame: the numbers of its function and file among `strings`, and the line.
fn frame(json: &Json, strings: &[Arc<str>]) -> Option<Frame> {
    let string = |json: &Json| strings.get(usize::try_from(json.as_u64()?).ok()?).cloned();
    let file = match json.get(1) {
        Some(file) if !file.is_null() => Some(string(file)?),
        _ => None,
    };
    let line = match json.get(2) {
        Some(line) => Some(u32::try_from(line.as_u64()?).ok()?),
        None => None,
    };
    Some(Frame { function: string(json.get(0)?)?, file, line, column: None })
}

/// A payload with the names of addresses of a module.
#[derive(Debug)]
pub(crate) struct Payload {
    /// The members before the strings.
    head: String,
    /// The strings as JSON, separated by commas.
    strings: String,
    numbers: HashMap<String, usize>,
    /// The addresses as JSON, separated by commas.
    addresses: String,
}

impl Payload {
    pub(crate) fn new(module: &CodeModule) -> Self {
        let build_id = HEXLOWER.encode(&module.build_id);
        let name = json_of(&module.name);
        let head = format!("{{\"module\":{name},\"build id\":\"{build_id}\"");
        let (strings, addresses) = (String::new(), String::new());
        Self { head, strings, numbers: HashMap::new(), addresses }
    }

    /// Returns whether it has no address.
    pub(crate) fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// Returns whether an address with `frames` may not fit.
    pub(crate) fn is_full(&self) -> bool {
        /// The bytes between the parts.
        const BETWEEN: usize = 64;
        let bytes = self.head.len() + self.strings.len() + self.addresses.len() + BETWEEN;
        bytes + MAX_ADDRESS_BYTES > MAX_PAYLOAD_BYTES
    }

    /// Adds the frames of an address, if there are any. Long names are cut.
    pub(crate) fn add(&mut self, address: u64, frames: &[Frame]) {
        /// The bytes of a frame besides its strings: three numbers, brackets and commas.
        const NUMBERS_BYTES: usize = 32;
        let share = MAX_ADDRESS_BYTES / frames.len().max(1);
        let limit = (share.saturating_sub(NUMBERS_BYTES) / 2).min(MAX_TEXT_BYTES);
        let comma = if self.is_empty() { "" } else { "," };
        let mut json = format!("{comma}\"{address:#x}\":[");
        for (place, frame) in frames.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            let function = self.string(&frame.function, limit);
            let file = frame.file.as_deref().map(|file| self.string(file, limit).to_string());
            let line = frame.line.map(|line| format!(",{line}")).unwrap_or_default();
            let file = file.as_deref().unwrap_or("null");
            // Writing to a string cannot fail.
            let _ = write!(json, "{comma}[{function},{file}{line}]");
        }
        self.addresses += &json;
        self.addresses.push(']');
    }

    /// Returns the number of a string, of which at most `limit` bytes of JSON are written.
    fn string(&mut self, text: &str, limit: usize) -> usize {
        /// The bytes of JSON for a byte of text: few bytes are escaped, as `\u0001` at most.
        const ESCAPED: [usize; 2] = [1, 6];
        let mut json = json_of(text);
        for bytes in ESCAPED {
            if json.len() > limit {
                json = json_of(cut_str(text, limit.saturating_sub(2) / bytes));
            }
        }
        if let Some(number) = self.numbers.get(&json) {
            return *number;
        }
        let number = self.numbers.len();
        self.strings += if number == 0 { "" } else { "," };
        self.strings += &json;
        self.numbers.insert(json, number);
        number
    }

    /// Returns the payload, and starts another one of the module.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let (strings, addresses) =
            (std::mem::take(&mut self.strings), std::mem::take(&mut self.addresses));
        self.numbers.clear();
        format!("{},\"strings\":[{strings}],\"addresses\":{{{addresses}}}}}", self.head)
            .into_bytes()
    }
}

/// Returns a text as JSON, with quotes.
fn json_of(text: &str) -> String {
    Json::from(text).to_string()
}
