//! From raw events to records.

use super::backend::Output;
use super::batch::BatchEvent;
use super::members::Members;
use super::selection::{Uses, UsesById};
use super::uprobes::{stack, stack_of_entry, ProbeUse};
use crate::decode::Decoder;
use crate::event::{Entry, Event};

/// Writes the records of an event, if it is one of these threads.
#[inline]
pub(super) fn translate(
    output: &mut Output<'_, '_>,
    (decoder, uses): (&Decoder, &UsesById),
    members: Option<&mut Members>,
    event: &BatchEvent<'_>,
) -> Result<(), String> {
    if let Some(loss) = event.loss {
        output.missed(event.cpu, loss.missed, (loss.since, event.raw.time))?;
    }
    let Some(uses) = uses.get(event.raw.id) else { return Ok(()) };
    if let (Some(frequent), None) = (&uses.frequent, &members) {
        if let Some(written) = frequent.translate(output, event) {
            return written.map_err(|error| error.to_string());
        }
    }
    translate_any(output, (decoder, uses), members, event)
}

/// Writes the records of any event.
#[inline(never)]
fn translate_any(
    output: &mut Output<'_, '_>,
    (decoder, uses): (&Decoder, &Uses),
    members: Option<&mut Members>,
    event: &BatchEvent<'_>,
) -> Result<(), String> {
    if let Some(members) = members {
        if !members.has(&decoder.decode(event.cpu, &event.raw)) {
            return Ok(());
        }
    }
    let Output { translator, sink, .. } = output;
    if let Some(probe) = &uses.probe {
        return translate_call(output, decoder, probe, event);
    }
    if uses.is_decoded {
        let entry: Entry<'_> = decoder.decode(event.cpu, &event.raw);
        // Without one of its fields, the records of an event cannot be made.
        if !matches!(entry.event, Event::Other { .. }) {
            translator.entry(sink, &entry).map_err(|error| error.to_string())?;
        }
    }
    // The command's `sched_process_exec` is its first event.
    for category in &uses.categories {
        let fields = translator.fields(sink, &decoder.fields(event.cpu, &event.raw), category);
        fields.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Writes the records of a call of a function, or of its return.
fn translate_call(
    output: &mut Output<'_, '_>,
    decoder: &Decoder,
    ProbeUse { probe, is_return }: &ProbeUse,
    event: &BatchEvent<'_>,
) -> Result<(), String> {
    let entry = decoder.fields(event.cpu, &event.raw);
    let labels = (probe.category.as_str(), probe.symbol.as_str());
    let Output { translator, sink, .. } = output;
    let written = match (probe.has_returns, is_return) {
        (false, _) => translator.call(sink, &entry, labels),
        (true, false) => translator.call_begin(sink, &entry, labels, stack(&entry)),
        (true, true) => translator.call_end(sink, &entry, labels, stack_of_entry(&entry)),
    };
    written.map_err(|error| error.to_string())
}
