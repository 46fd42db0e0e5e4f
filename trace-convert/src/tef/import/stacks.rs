//! Stacks of events and samples, as profiler records.
//!
//! A frame whose name is an address has this address. Any other frame gets an artificial address,
//! and a userspace object with its name. The archive carries the document's form as well.

use std::collections::HashSet;

use serde_json::Value as Json;
use trace_analyze::carried::ADDED;
use trace_format::layout::{cut_str, MAX_STRING_BYTES};
use trace_format::{
    Argument, Backtrace, Process, Thread, ThreadKoids, UserspaceObject, Value as Fxt, WriteError,
};

use super::frames::{json_id, Frame, Frames, Table, MAX_FRAMES};
use super::{Archive, MAX_NAMED};
use crate::tef::event::Event;
use crate::tef::reader::Member;
use crate::tef::value::{Number, Value};

/// The maximum number of stacks that wait for the table of frames, which may be the document's last
/// member.
const MAX_WAITING: usize = 1 << 18;

/// The maximum bytes of addresses and names for each byte of the document's stacks. An event of 64
/// bytes may have the longest stack.
const MAX_GROWTH: u64 = 32;

/// The stacks of a document.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    frames: Frames,
    /// Time, thread and innermost frame.
    waiting: Vec<(u64, ThreadKoids, String)>,
    /// The addresses that have a name, by process.
    named: HashSet<(u64, u64)>,
    /// The size of the document's stacks, in bytes.
    read: u64,
    /// The size of the addresses and names in the archive, in bytes.
    written: u64,
    /// Stacks that have no backtrace.
    pub(super) omitted: u64,
}

/// A sample of a thread.
#[derive(Debug)]
struct Sample {
    nanos: i128,
    thread: u64,
    frame: String,
}

impl Stacks {
    /// Adds the stack of an event. A stack that needs no table of frames is written at once.
    #[inline]
    pub(super) fn event(
        &mut self,
        writer: &mut Archive,
        event: &Event<'_>,
        place: (u64, ThreadKoids),
    ) -> Result<(), WriteError> {
        match event.other_keys().any(|key| matches!(key.plain(), Some("sf" | "stack"))) {
            true => self.add(writer, event, place),
            false => Ok(()),
        }
    }

    #[cold]
    fn add(
        &mut self,
        writer: &mut Archive,
        event: &Event<'_>,
        (ticks, koids): (u64, ThreadKoids),
    ) -> Result<(), WriteError> {
        // The event's size is added once, even if a key is repeated.
        let mut size = event.text().len() as u64;
        for (key, value) in event.others() {
            match (key.plain(), value) {
                (Some("sf"), value) => {
                    let Some(id) = id(value) else { continue };
                    self.read += std::mem::take(&mut size);
                    self.wait((ticks, koids), id);
                }
                (Some("stack"), Value::Nested(json)) => {
                    self.read += std::mem::take(&mut size);
                    let frames =
                        frames(&serde_json::from_str::<Vec<Json>>(json).unwrap_or_default());
                    self.write(writer, (ticks, koids), &frames.iter().collect::<Vec<_>>())?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds the frames or samples of a document. `process` returns the process of a thread.
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
        self.read += member.written.len() as u64;
        match serde_json::from_str(member.written) {
            Ok(Json::Object(frames)) if key == "stackFrames" => {
                self.frames.extend(frames);
            }
            Ok(Json::Array(samples)) if key == "samples" => {
                for Sample { nanos, thread, frame } in samples.iter().filter_map(Sample::of) {
                    let Ok(ticks) = u64::try_from(nanos + i128::from(shift)) else { continue };
                    let koids = ThreadKoids::new(process(thread).unwrap_or(0), thread);
                    self.wait((ticks, koids), frame);
                }
            }
            _ => {}
        }
    }

    /// Keeps the innermost frame of a stack until the table of frames is complete.
    fn wait(&mut self, (ticks, koids): (u64, ThreadKoids), frame: String) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push((ticks, koids, frame));
        } else {
            self.omitted += 1;
        }
    }

    /// Writes the stacks that wait for the table of frames.
    pub(super) fn finish(&mut self, writer: &mut Archive) -> Result<(), WriteError> {
        let frames = std::mem::take(&mut self.frames);
        let mut table = Table::new(&frames);
        for (ticks, koids, id) in std::mem::take(&mut self.waiting) {
            self.write(writer, (ticks, koids), &table.stack(&id))?;
        }
        Ok(())
    }

    /// Writes a stack, from the innermost frame on, unless the limit is reached.
    fn write(
        &mut self,
        writer: &mut Archive,
        (ticks, koids): (u64, ThreadKoids),
        frames: &[&Frame],
    ) -> Result<(), WriteError> {
        if frames.is_empty() {
            return Ok(());
        }
        if self.written >= self.read.saturating_mul(MAX_GROWTH) {
            self.omitted += 1;
            return Ok(());
        }
        for frame in frames {
            self.name(writer, koids.process, frame)?;
        }
        self.written += 8 * frames.len() as u64;
        let addresses: Vec<u64> = frames.iter().map(|frame| frame.address).collect();
        let (thread, frames) = (Thread::Inline(koids), (&addresses[..]).into());
        writer.record(&Backtrace { ticks, thread, frames }.into())
    }

    /// Writes the name of an artificial address, once for each process.
    fn name(
        &mut self,
        writer: &mut Archive,
        process: u64,
        frame: &Frame,
    ) -> Result<(), WriteError> {
        let (pointer, Some(name)) = (frame.address, &frame.symbol) else { return Ok(()) };
        if self.named.len() == MAX_NAMED || !self.named.insert((process, pointer)) {
            return Ok(());
        }
        let arguments = [Argument::new(ADDED, Fxt::Bool(true))];
        let (process, arguments) = (Process::Inline(process), (&arguments).into());
        let name = cut_str(name, MAX_STRING_BYTES);
        self.written += name.len() as u64;
        let name = name.into();
        writer.record(&UserspaceObject { process, pointer, name, arguments }.into())
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

/// Returns the id of a frame: a string, or the text of a number.
fn id(value: Value<'_>) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_str().into_owned()),
        Value::Number(number) => Some(number.written().to_owned()),
        _ => None,
    }
}

/// Returns the frames of a list of names, which starts with the outermost one.
fn frames(names: &[Json]) -> Vec<Frame> {
    names.iter().rev().filter_map(Json::as_str).take(MAX_FRAMES).map(Frame::new).collect()
}
