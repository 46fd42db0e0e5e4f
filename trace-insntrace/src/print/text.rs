//! Lines for packets, instructions and calls.

use std::io::{Read, Write};
use std::sync::Arc;

use super::{ticks, visit, Decoder, Format, PrintError, Summary, Visitor, INLINED};
use crate::calls::{Calls, Change};
use crate::flow::{
    disassemble, is_far_return, Event, FlowError, Instruction, InstructionKind, Item,
};
use crate::pt::PacketDecoder;
use crate::recording::{Recording, SpaceId, Trace};
use crate::symbols::{Function, Symbols};

pub(super) fn write(
    recording: &Recording,
    chosen: &[Trace],
    format: Format,
    symbols: &mut Symbols<'_>,
    mut out: impl Write,
) -> Result<Summary, PrintError> {
    let mut summary = Summary::default();
    for trace in chosen {
        let Trace { id, pid, tid, name } = trace;
        writeln!(out, "# trace {}: process {pid}, thread {tid}, {name}", id.0)
            .map_err(PrintError::Output)?;
        match format {
            Format::Packets => packets(recording, trace, &mut summary, &mut out)?,
            Format::Calls => {
                let calls = Calls::new(symbols);
                let mut lines = CallLines { calls, depth: 0, number: 0, out: &mut out };
                visit(recording, trace, &mut summary, &mut lines)?;
            }
            _ => {
                let is_raw = format == Format::Raw;
                let mut lines = Lines { symbols, is_raw, function: None, out: &mut out };
                visit(recording, trace, &mut summary, &mut lines)?;
            }
        }
    }
    out.flush().map_err(PrintError::Output)?;
    Ok(summary)
}

fn packets(
    recording: &Recording,
    trace: &Trace,
    summary: &mut Summary,
    out: &mut impl Write,
) -> Result<(), PrintError> {
    let mut file = recording.packets(trace.id).map_err(PrintError::Recording)?;
    let mut packets = PacketDecoder::new();
    summary.traces += 1;
    let mut piece = vec![0; 1 << 16];
    loop {
        let size = file.read(&mut piece).map_err(PrintError::Packets)?;
        packets.push(piece.get(..size).unwrap_or_default());
        if size == 0 {
            packets.end();
        }
        while let Some(packet) = packets.next_packet() {
            match packet {
                Ok(at) => writeln!(out, "{:08x} {}", at.offset, at.packet),
                Err(error) => {
                    summary.errors += 1;
                    writeln!(out, "error: {error}")
                }
            }
            .map_err(PrintError::Output)?;
        }
        if size == 0 {
            return Ok(());
        }
    }
}

/// An address space, and how many of its mappings had been replaced.
type CodeTime = (SpaceId, usize);

/// Lines of instructions and events.
struct Lines<'s, 'a, W> {
    symbols: &'s mut Symbols<'a>,
    is_raw: bool,
    /// The function of the last instruction.
    function: Option<(CodeTime, Arc<Function>)>,
    out: W,
}

impl<W: Write> Lines<'_, '_, W> {
    /// Returns the function at `ip`, and whether it is not that of the last instruction.
    fn function(&mut self, decoder: &Decoder<'_>, ip: u64) -> (Arc<Function>, bool) {
        let (space, notes) = (decoder.space().unwrap_or(SpaceId(0)), decoder.notes());
        let time = (space, self.symbols.replaced(space, notes));
        match &self.function {
            Some((of, last)) if *of == time && (last.start..last.end).contains(&ip) => {
                (Arc::clone(last), false)
            }
            _ => {
                let function = Arc::new(self.symbols.function(space, notes, ip));
                self.function = Some((time, Arc::clone(&function)));
                (function, true)
            }
        }
    }

    fn instruction(
        &mut self,
        decoder: &Decoder<'_>,
        instruction: &Instruction,
    ) -> std::io::Result<()> {
        let (ip, flow) = (instruction.ip, decoder.flow());
        let (function, is_new) = self.function(decoder, ip);
        if self.is_raw {
            if is_new {
                writeln!(self.out, "# function {}", function.name)?;
            }
            let kind = match instruction.kind {
                InstructionKind::Far if is_far_return(ip, flow.bitness(), flow.image()) => {
                    "freturn"
                }
                kind => kind_name(kind),
            };
            return writeln!(self.out, "{} {ip:016x} {kind}", ticks(decoder));
        }
        let text = disassemble(ip, flow.bitness(), flow.image());
        let offset = ip.saturating_sub(function.start);
        writeln!(self.out, "{} {ip:016x} {}+0x{offset:x} {text}", ticks(decoder), function.name)
    }
}

impl<W: Write> Visitor for Lines<'_, '_, W> {
    fn item(&mut self, decoder: &Decoder<'_>, item: &Item) -> Result<(), PrintError> {
        match item {
            Item::Instruction(instruction) => self.instruction(decoder, instruction),
            Item::Event(event) => write_event(&mut self.out, decoder, event),
        }
        .map_err(PrintError::Output)
    }

    fn error(&mut self, _: &Decoder<'_>, error: &FlowError) -> Result<(), PrintError> {
        writeln!(self.out, "error: {error}").map_err(PrintError::Output)
    }
}

/// Lines of calls and returns.
struct CallLines<'s, 'a, W> {
    calls: Calls<'s, 'a>,
    /// The number of functions that have begun and not ended.
    depth: usize,
    /// The number of the next instruction.
    number: u64,
    out: W,
}

/// Returns the spaces before a call. Deeper ones have no more: a formatted width has 16 bits.
fn indent(depth: usize) -> usize {
    2 * depth.min(1000)
}

impl<W: Write> CallLines<'_, '_, W> {
    fn write(&mut self, changes: &[Change]) -> std::io::Result<()> {
        let number = self.number;
        for Change { ticks, enter, is_inlined } in changes {
            if let Some(name) = enter {
                let (indent, suffix) = (indent(self.depth), if *is_inlined { INLINED } else { "" });
                writeln!(self.out, "[{number}] {ticks} {:indent$}{name}{suffix}", "")?;
                self.depth += 1;
            } else {
                self.depth = self.depth.saturating_sub(1);
                let indent = indent(self.depth);
                writeln!(self.out, "[{number}] {ticks} {:indent$}}}", "")?;
            }
        }
        Ok(())
    }
}

impl<W: Write> Visitor for CallLines<'_, '_, W> {
    fn item(&mut self, decoder: &Decoder<'_>, item: &Item) -> Result<(), PrintError> {
        let now = ticks(decoder);
        let changes = self.calls.item(decoder.space(), decoder.notes(), item, now).to_vec();
        self.write(&changes).map_err(PrintError::Output)?;
        self.number += u64::from(matches!(item, Item::Instruction(_)));
        match item {
            Item::Event(lost @ Event::Overflow { .. }) => write_event(&mut self.out, decoder, lost),
            _ => Ok(()),
        }
        .map_err(PrintError::Output)
    }

    fn error(&mut self, decoder: &Decoder<'_>, error: &FlowError) -> Result<(), PrintError> {
        let changes = self.calls.end(ticks(decoder)).to_vec();
        self.write(&changes).map_err(PrintError::Output)?;
        writeln!(self.out, "error: {error}").map_err(PrintError::Output)
    }
}

fn write_event(out: &mut impl Write, decoder: &Decoder<'_>, event: &Event) -> std::io::Result<()> {
    let at = ticks(decoder);
    match event {
        Event::Synchronized { .. } => writeln!(out, "{at} # synchronized"),
        Event::Enabled { ip } => writeln!(out, "{at} {ip:016x} # tracing on"),
        Event::Disabled { to: Some(to) } => writeln!(out, "{at} {to:016x} # tracing off"),
        Event::Disabled { to: None } => writeln!(out, "{at} # tracing off"),
        Event::Interrupted { from, to, .. } => {
            write!(out, "{at} {from:016x} # interrupted")?;
            to.map_or(Ok(()), |to| write!(out, ", continues at {to:x}"))?;
            writeln!(out)
        }
        Event::Overflow { .. } => writeln!(out, "{at} # packets were lost"),
        Event::Packet { packet, .. } => writeln!(out, "{at} # {packet}"),
    }
}

/// Returns the kind in the words of Fuchsia's printer.
fn kind_name(kind: InstructionKind) -> &'static str {
    match kind {
        InstructionKind::Other => "other",
        InstructionKind::Conditional => "cjump",
        InstructionKind::Jump | InstructionKind::IndirectJump => "jump",
        InstructionKind::Call | InstructionKind::IndirectCall => "call",
        InstructionKind::Return => "return",
        InstructionKind::Far => "fcall",
    }
}

#[cfg(test)]
mod tests {
    use super::indent;

    #[test]
    fn calls_of_any_depth_can_be_printed() {
        let (few, many) = (indent(3), indent(1 << 20));
        assert_eq!(format!("{:few$}|", ""), "      |");
        assert_eq!(format!("{:many$}|", "").len(), 2001);
    }
}
