//! The notes for the packets of a buffer that stay as they are.

use std::collections::BTreeSet;

use trace_kernel::perf_data::AuxQueue;

use super::mapped::MappedCode;
use super::timeline::Timeline;
use crate::pt::{Packet, PacketClock, PacketDecoder, Timing};
use crate::recording::{Note, SpaceId, TraceId};

/// Returns the thread or the CPU of a buffer, the code that it executes, and where in `packets` it
/// executes which.
pub(crate) fn notes_of_buffer(
    trace: TraceId,
    queue: AuxQueue,
    packets: &[u8],
    timeline: &Timeline,
    timing: Timing,
) -> Vec<Note> {
    let clock = PacketClock::new(timing);
    let places = Places { queue, timeline, clock, found: Vec::new() }.find(packets);
    let spaces: BTreeSet<SpaceId> = places.iter().map(|(_, space)| *space).collect();
    let (mut code, mut missing) = (MappedCode::new(), Vec::new());
    let mut notes = vec![owner(trace, queue, timeline)];
    for space in spaces {
        for mapping in timeline.mappings(space) {
            notes.extend(code.notes(space, mapping, &mut missing));
        }
    }
    let position = |(offset, space)| Note::Position { trace, offset, space };
    notes.extend(places.into_iter().map(position));
    notes
}

fn owner(trace: TraceId, queue: AuxQueue, timeline: &Timeline) -> Note {
    match (queue.thread, queue.cpu) {
        (Some(thread), _) => {
            let (pid, name) = (timeline.task(thread).process, timeline.name(thread).to_owned());
            Note::Thread { trace, pid, tid: thread, name }
        }
        (None, cpu) => {
            let cpu = cpu.unwrap_or(queue.index);
            Note::Thread { trace, pid: 0, tid: cpu, name: format!("CPU {cpu}") }
        }
    }
}

/// The places where the code of another space begins. Tracing is off there.
struct Places<'a> {
    queue: AuxQueue,
    timeline: &'a Timeline,
    clock: PacketClock,
    found: Vec<(u64, SpaceId)>,
}

impl Places<'_> {
    fn find(mut self, packets: &[u8]) -> Vec<(u64, SpaceId)> {
        let mut decoder = PacketDecoder::new();
        decoder.push(packets);
        decoder.end();
        let (mut is_on, mut is_behind_gap) = (false, false);
        // The place of the last PSB and whether it has a FUP, up to its end.
        let mut boundary = None;
        while let Some(found) = decoder.next_packet() {
            let Ok(found) = found else {
                (is_on, is_behind_gap, boundary) = (false, false, None);
                self.clock.reset();
                continue;
            };
            self.clock.packet(&found.packet);
            match found.packet {
                Packet::Psb => boundary = Some((found.offset, false)),
                Packet::PsbEnd => {
                    let Some((offset, has_ip)) = boundary.take() else { continue };
                    if has_ip && !is_on {
                        self.begins(offset);
                    }
                    (is_on, is_behind_gap) = (has_ip, false);
                }
                Packet::Fup(_) if boundary.is_some() => {
                    boundary = boundary.map(|(offset, _)| (offset, true));
                }
                _ if boundary.is_some() => {}
                Packet::TipPge(_) => {
                    self.begins(found.offset);
                    (is_on, is_behind_gap) = (true, false);
                }
                Packet::Fup(_) if is_behind_gap => {
                    self.begins(found.offset);
                    (is_on, is_behind_gap) = (true, false);
                }
                Packet::TipPgd(_) => is_on = false,
                Packet::Ovf => (is_on, is_behind_gap) = (false, true),
                _ => {}
            }
        }
        self.found
    }

    fn begins(&mut self, offset: u64) {
        let now = self.clock.now().unwrap_or(0);
        let task = match (self.queue.thread, self.queue.cpu) {
            (Some(thread), _) => Some(self.timeline.task(thread)),
            (None, cpu) => cpu.and_then(|cpu| self.timeline.on_cpu(cpu, now)),
        };
        let space = task.and_then(|task| self.timeline.space(task.process, now));
        let space = space.unwrap_or_else(|| self.timeline.without_code());
        if self.found.last().is_none_or(|(_, last)| *last != space) {
            self.found.push((offset, space));
        }
    }
}

#[cfg(test)]
mod tests;
