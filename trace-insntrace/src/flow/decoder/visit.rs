//! Many instructions at once.

use super::{FlowDecoder, Step};
use crate::flow::blocks::Exit;
use crate::flow::code::End;
use crate::flow::item::Part;
use crate::flow::FlowError;

impl FlowDecoder {
    /// Calls `visit` with each part of the bytes pushed so far and its [`tsc`](Self::tsc), faster
    /// than [`next_part`](Self::next_part) returns them.
    ///
    /// # Errors
    ///
    /// See [`next_item`](Self::next_item).
    ///
    /// # Examples
    ///
    /// ```
    /// use trace_insntrace::flow::{FlowDecoder, Image, Part};
    /// use trace_insntrace::pt::{ExecMode, PsbState, Writer};
    ///
    /// // dec ecx; jnz -4; syscall
    /// let mut image = Image::new();
    /// image.insert(0x1000, &[0xff, 0xc9, 0x75, 0xfc, 0x0f, 0x05]);
    ///
    /// let mut writer = Writer::new();
    /// writer.psb(PsbState { tsc: None, cbr: None, mode: ExecMode::LONG, ip: Some(0x1000) });
    /// writer.conditional(true);
    /// writer.conditional(false);
    /// writer.disable(None);
    ///
    /// let mut flow = FlowDecoder::new(image);
    /// flow.push(&writer.take());
    /// let mut sizes = Vec::new();
    /// flow.visit(|part, _| {
    ///     if let Part::Instructions(instructions) = part {
    ///         sizes.push(instructions.len());
    ///     }
    /// })?;
    /// assert_eq!(sizes, [2, 2, 1]);
    /// # Ok::<(), trace_insntrace::flow::FlowError>(())
    /// ```
    #[inline]
    pub fn visit(&mut self, mut visit: impl FnMut(Part<'_>, Option<u64>)) -> Result<(), FlowError> {
        loop {
            while !self.run.is_empty() {
                let part = self.take_run();
                visit(Part::Instructions(self.blocks.instructions(part)), self.tsc);
            }
            self.visit_known(&mut visit);
            match self.advance() {
                Ok(Step::Again) => {}
                Ok(Step::Event(event)) => visit(Part::Event(event), self.tsc),
                Ok(Step::Starved) => return Ok(()),
                Err(kind) => return Err(self.lose(kind)),
            }
        }
    }

    /// Executes blocks up to the last branch of the packet, while the cache knows the next one:
    /// most blocks. The state is in local variables, so that it stays in registers.
    #[inline]
    fn visit_known(&mut self, visit: &mut impl FnMut(Part<'_>, Option<u64>)) {
        let (Some(mut end), true) = (self.end, self.times.is_empty()) else { return };
        let (mut branches, mut exit, mut run) = (self.branches, self.exit, self.run.clone());
        loop {
            let mut rest = branches;
            let (ip, taken) = match end {
                End::Next(next) | End::Jump(next) => (next, false),
                End::Conditional { target, next } => match rest.take() {
                    Some(true) => (target, true),
                    Some(false) => (next, false),
                    None => break,
                },
                _ => break,
            };
            if rest.is_empty() {
                break;
            }
            let Some((index, block)) = self.blocks.known(ip, Exit { taken, ..exit }) else { break };
            if rest != branches {
                self.progress.reset();
            }
            if self.progress.is_loop(ip) {
                break;
            }
            (branches, end, exit) = (rest, block.end, Exit { block: index, taken: false });
            run = block.range();
            visit(Part::Instructions(self.blocks.instructions(run.clone())), self.tsc);
        }
        (self.branches, self.end, self.exit) = (branches, Some(end), exit);
        self.run = run.end..run.end;
    }
}
