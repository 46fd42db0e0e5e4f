//! Stacks of events and samples, as records of a profiler.
//!
//! A frame that is named by an address has this address. Any other frame gets an artificial
//! address, and a userspace object with its name. The document's own form is carried as well.

use std::collections::HashSet;
use std::io::Write;

use serde_json::Value as Json;
use trace_analyze::carried::ADDED;
use trace_format::layout::{cut_str, MAX_STRING_BYTES};
use trace_format::{
    Argument, Backtrace, Process, Thread, ThreadKoids, UserspaceObject, Value as Fxt, WriteError,
    Writer,
};

use super::frames::{json_id, Frame, Frames, Table, MAX_FRAMES};
use super::MAX_NAMED;
use crate::tef::event::Event;
use crate::tef::reader::Member;
use crate::tef::value::{Number, Value};

/// The most events that wait for the table of frames, which may be the document's last member.
const MAX_WAITING: usize = 1 << 18;

/// The stacks of a document.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    frames: Frames,
    /// Time, thread and innermost frame.
    waiting: Vec<(u64, ThreadKoids, String)>,
    /// The addresses that have a name, by process.
    named: HashSet<(u64, u64)>,
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
                    let frames =
                        frames(&serde_json::from_str::<Vec<Json>>(json).unwrap_or_default());
                    self.write(writer, (ticks, koids), &frames.iter().collect::<Vec<_>>())?;
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
                self.frames.extend(frames);
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
        let frames = std::mem::take(&mut self.frames);
        let mut table = Table::new(&frames);
        for (ticks, koids, id) in std::mem::take(&mut self.waiting) {
            self.write(writer, (ticks, koids), &table.stack(&id))?;
        }
        Ok(())
    }

    /// Writes a stack, from the innermost frame on.
    fn write<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        (ticks, koids): (u64, ThreadKoids),
        frames: &[&Frame],
    ) -> Result<(), WriteError> {
        for frame in frames {
            self.name(writer, koids.process, frame)?;
        }
        if frames.is_empty() {
            return Ok(());
        }
        let addresses: Vec<u64> = frames.iter().map(|frame| frame.address).collect();
        let (thread, frames) = (Thread::Inline(koids), (&addresses[..]).into());
        writer.record(&Backtrace { ticks, thread, frames }.into())
    }

    /// Writes the name of an address that is made up, once for each process.
    fn name<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        process: u64,
        frame: &Frame,
    ) -> Result<(), WriteError> {
        let (pointer, Some(name)) = (frame.address, &frame.symbol) else { return Ok(()) };
        if self.named.len() == MAX_NAMED || !self.named.insert((process, pointer)) {
            return Ok(());
        }
        let arguments = [Argument::new(ADDED, Fxt::Bool(true))];
        let (process, arguments) = (Process::Inline(process), (&arguments).into());
        let name = cut_str(name, MAX_STRING_BYTES).into();
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

/// Returns the key of a frame: a string, or a number as it is written.
fn id(value: Value<'_>) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_str().into_owned()),
        Value::Number(number) => Some(number.written().to_owned()),
        _ => None,
    }
}

/// Returns the frames of a stack, which has the names of the outermost ones first.
fn frames(names: &[Json]) -> Vec<Frame> {
    names.iter().rev().filter_map(Json::as_str).take(MAX_FRAMES).map(Frame::new).collect()
}
