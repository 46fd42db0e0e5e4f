//! Many instructions at once.

use super::{FlowDecoder, Step};
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
            if !self.run.is_empty() {
                let part = self.take_run();
                visit(Part::Instructions(self.blocks.instructions(part)), self.tsc);
            }
            // The position is a local variable, so that it stays in registers.
            let mut at = self.at;
            while let Some(run) = self.enter_next(&mut at) {
                self.take_times(&run);
                visit(Part::Instructions(self.blocks.instructions(run.clone())), self.tsc);
            }
            self.at = at;
            match self.take_step() {
                Ok(Step::Again) => {}
                Ok(Step::Event(event)) => visit(Part::Event(event), self.tsc),
                Ok(Step::Starved) => return Ok(()),
                Err(kind) => return Err(self.lose(kind)),
            }
        }
    }
}
