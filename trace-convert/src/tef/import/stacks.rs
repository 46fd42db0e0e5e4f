//! Stacks of events and samples, as records of a profiler.
//!
//! A frame that is named by an address has this address. Any other frame gets an artificial
//! address, and a userspace object with its name. The document's own form is carried as well.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::iter;

use serde_json::Value as Json;
use trace_analyze::carried::ADDED;
use trace_format::layout::{cut_str, ARTIFICIAL_KOID_BIT, MAX_STRING_BYTES};
use trace_format::{
    Argument, Backtrace, Process, Thread, ThreadKoids, UserspaceObject, Value as Fxt, WriteError,
    Writer,
};

use super::ids::hash;
use super::MAX_NAMED;
use crate::tef::event::Event;
use crate::tef::reader::Member;
use crate::tef::value::{Number, Value};

/// The most events that wait for the table of frames, which may be the document's last member.
const MAX_WAITING: usize = 1 << 18;

/// The most frames of a record.
const MAX_FRAMES: usize = 255;

/// The stacks of a document.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    /// By id.
    frames: HashMap<String, Frame>,
    /// Time, thread and innermost frame.
    waiting: Vec<(u64, ThreadKoids, String)>,
    /// The addresses that have a name, by process.
    named: HashSet<(u64, u64)>,
}

#[derive(Debug)]
struct Frame {
    name: String,
    parent: Option<String>,
}

/// A sample of the document, of a thread.
#[derive(Debug)]
struct Sample {
    nanos: i128,
    thread: u64,
    frame: String,
}

impl Stacks {
    /// Takes the stack of an event; writes one that needs no table of frames.
    #[inline]
    pub(super) fn event<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        event: &Event<'_>,
        (ticks, koids): (u64, ThreadKoids),
    ) -> Result<(), WriteError> {
        for (key, value) in event.others() {
            match (key.plain(), value) {
                (Some("sf"), value) if self.waiting.len() < MAX_WAITING => {
                    self.waiting.extend(id(value).map(|id| (ticks, koids, id)));
                }
                (Some("stack"), Value::Nested(json)) => {
                    let names = serde_json::from_str(json).unwrap_or_default();
                    self.write(writer, (ticks, koids), &strings(names))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes the frames or the samples of a document, of threads of these processes.
    pub(super) fn member(
        &mut self,
        member: &Member<'_>,
        shift: u64,
        process: impl Fn(u64) -> Option<u64>,
    ) {
        let key = member.key.to_str();
        if !matches!(&*key, "stackFrames" | "samples") {
            return;
        }
        match serde_json::from_str(member.written) {
            Ok(Json::Object(frames)) if key == "stackFrames" => {
                self.frames.extend(frames.into_iter().filter_map(|(id, frame)| {
                    let name = frame.get("name")?.as_str()?.to_owned();
                    Some((id, Frame { name, parent: frame.get("parent").and_then(json_id) }))
                }));
            }
            Ok(Json::Array(samples)) if key == "samples" => {
                let room = MAX_WAITING - self.waiting.len();
                let samples = samples.iter().filter_map(Sample::of).filter_map(|sample| {
                    let ticks = u64::try_from(sample.nanos + i128::from(shift)).ok()?;
                    let koids =
                        ThreadKoids::new(process(sample.thread).unwrap_or(0), sample.thread);
                    Some((ticks, koids, sample.frame))
                });
                self.waiting.extend(samples.take(room));
            }
            _ => {}
        }
    }

    /// Writes the stacks that waited for the table of frames.
    pub(super) fn finish<W: Write>(&mut self, writer: &mut Writer<W>) -> Result<(), WriteError> {
        for (ticks, koids, id) in std::mem::take(&mut self.waiting) {
            let frames = iter::successors(self.frames.get(&id), |frame| {
                self.frames.get(frame.parent.as_ref()?)
            });
            // A table may be a circle.
            let names: Vec<String> =
                frames.take(MAX_FRAMES).map(|frame| frame.name.clone()).collect();
            self.write(writer, (ticks, koids), &names)?;
        }
        Ok(())
    }

    /// Writes a stack, from the innermost frame on.
    fn write<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        (ticks, koids): (u64, ThreadKoids),
        names: &[String],
    ) -> Result<(), WriteError> {
        let names = names.get(..MAX_FRAMES).unwrap_or(names);
        let mut addresses = Vec::with_capacity(names.len());
        for name in names {
            let address = match address(name) {
                Some(address) => address,
                None => self.symbol(writer, koids.process, name)?,
            };
            addresses.push(address);
        }
        if addresses.is_empty() {
            return Ok(());
        }
        let (thread, frames) = (Thread::Inline(koids), (&addresses[..]).into());
        writer.record(&Backtrace { ticks, thread, frames }.into())
    }

    /// Returns the address that stands for a name.
    fn symbol<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        process: u64,
        name: &str,
    ) -> Result<u64, WriteError> {
        let pointer = hash(&[name.as_bytes()]) | ARTIFICIAL_KOID_BIT;
        if self.named.len() < MAX_NAMED && self.named.insert((process, pointer)) {
            let arguments = [Argument::new(ADDED, Fxt::Bool(true))];
            let (process, arguments) = (Process::Inline(process), (&arguments).into());
            let name = cut_str(name, MAX_STRING_BYTES).into();
            writer.record(&UserspaceObject { process, pointer, name, arguments }.into())?;
        }
        Ok(pointer)
    }
}

impl Sample {
    fn of(json: &Json) -> Option<Self> {
        let time = json.get("ts")?.to_string();
        let (nanos, _) = Number::quoted(&time)?.to_signed_nanos()?;
        let thread = json.get("tid")?.as_u64()?;
        Some(Self { nanos, thread, frame: json_id(json.get("sf")?)? })
    }
}

/// Returns an address as a stack has it.
fn address(name: &str) -> Option<u64> {
    u64::from_str_radix(name.strip_prefix("0x")?, 16).ok()
}

/// Returns the key of a frame: a string, or a number as it is written.
fn id(value: Value<'_>) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_str().into_owned()),
        Value::Number(number) => Some(number.written().to_owned()),
        _ => None,
    }
}

fn json_id(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the names of a stack, which has the outermost first.
fn strings(names: Vec<Json>) -> Vec<String> {
    names.iter().rev().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}
