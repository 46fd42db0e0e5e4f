//! The events that category patterns select.

use foldhash::HashMap;
use trace_protocol::categories::CategorySet;

use super::categories::{is_kernel_category, CATEGORIES, EVENT_PREFIX, MARKERS, TASKS};
use super::error::LiveError;
use super::frequent::Frequent;
use super::instance::Instance;
use super::uprobes::{ProbeUse, Uprobes};
use crate::byte_order::ByteOrder;
use crate::decode::Decoder;
use crate::format::EventFormat;

/// The categories whose events have records of their own kind, not instants with their fields.
const DECODED: [&str; 3] = ["kernel:sched", "kernel:syscall", "kernel:irq"];

/// Events of other categories that have records of their own kind.
const DECODED_EVENTS: [&str; 3] = ["kmem/rss_stat", "power/cpu_frequency", "printk/console"];

/// The event of texts that programs write to `trace_marker`.
const PRINT: &str = "ftrace/print";

/// A decoder, and the records of each event by its id.
pub(super) type Decoding = (Decoder, UsesById);

/// The records of each event by its id.
#[derive(Debug, Default)]
pub(super) struct UsesById(Vec<Option<Uses>>);

impl UsesById {
    pub(super) fn insert(&mut self, id: u16, uses: Uses) {
        let place = usize::from(id);
        if self.0.len() <= place {
            self.0.resize_with(place + 1, || None);
        }
        if let Some(known) = self.0.get_mut(place) {
            *known = Some(uses);
        }
    }

    #[inline]
    pub(super) fn get(&self, id: u16) -> Option<&Uses> {
        self.0.get(usize::from(id))?.as_ref()
    }

    /// Returns the ids of the events.
    pub(super) fn ids(&self) -> impl Iterator<Item = u16> + '_ {
        (0..).zip(&self.0).filter_map(|(id, uses)| uses.as_ref().map(|_| id))
    }
}

/// The selected events of a kernel.
#[derive(Debug, Default)]
pub(super) struct Selection {
    /// The names of the events, as `SYSTEM/NAME`, with their records.
    events: HashMap<String, Uses>,
    has_markers: bool,
}

/// The records of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Uses {
    /// A record of its own kind, such as a context switch.
    pub(super) is_decoded: bool,
    /// Instants with the event's fields, in these categories.
    pub(super) categories: Vec<Box<str>>,
    /// The call of a function, or its return.
    pub(super) probe: Option<ProbeUse>,
    /// If these are its only records and it is a frequent event, its fields.
    pub(super) frequent: Option<Box<Frequent>>,
}

impl Selection {
    /// Adds the events of functions.
    pub(super) fn add_probes(&mut self, probes: &Uprobes) {
        for event in probes.events() {
            self.uses(&event.name).probe = Some(event.used.clone());
        }
    }

    /// Returns the events that `patterns` select of those that `available` lists, as
    /// `SYSTEM:NAME` on each line.
    pub(super) fn new(patterns: &[String], available: &str) -> Result<Self, LiveError> {
        let set = CategorySet::new(patterns);
        let available = available.lines().map(|line| line.replacen(':', "/", 1));
        let mut selection = Self::default();
        let available: Vec<String> = available.collect();
        let has = |event: &str| available.iter().any(|it| it == event);
        for (system, name) in TASKS {
            let event = format!("{system}/{name}");
            if has(&event) {
                selection.uses(&event).is_decoded = true;
            }
        }
        for category in CATEGORIES.iter().filter(|category| set.matches(category.name)) {
            let names = category.events.iter().map(|(system, name)| format!("{system}/{name}"));
            let names: Vec<String> = names.filter(|name| has(name)).collect();
            let is_named = patterns.iter().any(|pattern| pattern == category.name);
            if names.is_empty() && is_named && category.name != MARKERS {
                return Err(LiveError::NoEvents(category.name.to_owned()));
            }
            selection.has_markers |= category.name == MARKERS;
            let is_decoded = DECODED.contains(&category.name) || category.events == TASKS;
            for name in &names {
                let is_decoded = is_decoded || DECODED_EVENTS.contains(&name.as_str());
                let uses = selection.uses(name);
                uses.is_decoded |= is_decoded;
                uses.categories.extend((!is_decoded).then(|| category.name.into()));
            }
        }
        selection.add_single(patterns, &set, &available)?;
        Ok(selection)
    }

    /// Adds the events of the patterns `kernel:event:…`.
    fn add_single(
        &mut self,
        patterns: &[String],
        set: &CategorySet,
        available: &[String],
    ) -> Result<(), LiveError> {
        let single = patterns.iter().filter(|pattern| pattern.starts_with(EVENT_PREFIX));
        let single: Vec<&String> = single.collect();
        let own = CategorySet::new(&single);
        if single.is_empty() {
            return Ok(());
        }
        let category = |event: &String| format!("{EVENT_PREFIX}{event}");
        for event in available {
            let category = category(event);
            if own.matches(&category) && set.matches(&category) {
                self.uses(event).categories.push(category.into());
            }
        }
        let categories: Vec<String> = available.iter().map(category).collect();
        match own.unmatched(&categories).first() {
            Some(pattern) => {
                Err(LiveError::NoEvent(pattern.trim_start_matches(EVENT_PREFIX).to_owned()))
            }
            None => Ok(()),
        }
    }

    fn uses(&mut self, event: &str) -> &mut Uses {
        self.events.entry(event.to_owned()).or_default()
    }

    /// Returns the names of the events, as `SYSTEM/NAME`.
    pub(super) fn names(&self) -> Vec<String> {
        self.events.keys().cloned().collect()
    }

    /// Enables the events in an instance. Returns their decoder, and the records of each event by
    /// its id.
    pub(super) fn enable(&self, instance: &Instance) -> Result<Decoding, LiveError> {
        let formats = self.events.keys();
        let formats = formats.map(|event| Ok((event.clone(), instance.enable(event)?)));
        let mut formats: Vec<_> = formats.collect::<Result<_, LiveError>>()?;
        if self.has_markers {
            let format = instance.read(&format!("events/{PRINT}/format"))?;
            formats.push((PRINT.to_owned(), format));
            // Without this option only texts for this instance are in it.
            let _older = instance.write("options/copy_trace_marker", "1");
        }
        self.decoding(&formats)
    }

    /// Returns the decoder of events with these formats, and the records of each event by its id.
    pub(super) fn decoding(&self, formats: &[(String, String)]) -> Result<Decoding, LiveError> {
        let (mut parsed, mut by_id) = (Vec::new(), UsesById::default());
        for (event, text) in formats {
            let (system, _) = event.split_once('/').unwrap_or((event, ""));
            let format = EventFormat::parse(system, text).map_err(|error| {
                LiveError::Format(format!("events/{event}/format").into(), error)
            })?;
            let marker = || Uses { is_decoded: true, ..Uses::default() };
            let mut uses = self.events.get(event).cloned().unwrap_or_else(marker);
            if uses.is_decoded && uses.categories.is_empty() && uses.probe.is_none() {
                uses.frequent = Frequent::of(&format).map(Box::new);
            }
            by_id.insert(format.id, uses);
            parsed.push(format);
        }
        Ok((Decoder::new(ByteOrder::NATIVE, parsed), by_id))
    }
}

/// Returns the patterns that select events of the kernel, with all exclusions.
pub(super) fn kernel_patterns(patterns: &[String]) -> Vec<String> {
    let is_used = |pattern: &&String| pattern.starts_with('-') || is_kernel_category(pattern);
    patterns.iter().filter(is_used).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const AVAILABLE: &str = "sched:sched_switch\nsched:sched_waking\nsched:sched_stat_runtime\n\
        task:task_rename\nblock:block_rq_issue\nprintk:console\nraw_syscalls:sys_enter\n";

    fn selected(patterns: &[&str]) -> Result<Vec<String>, String> {
        let patterns: Vec<String> = patterns.iter().map(|it| (*it).to_owned()).collect();
        let selection = Selection::new(&kernel_patterns(&patterns), AVAILABLE);
        let selection = selection.map_err(|error| error.to_string())?;
        let line = |(event, uses): (&String, &Uses)| {
            let decoded = if uses.is_decoded { " decoded" } else { "" };
            format!("{event}{decoded} {}", uses.categories.join(" ")).trim_end().to_owned()
        };
        let mut lines: Vec<String> = selection.events.iter().map(line).collect();
        lines.sort();
        lines.retain(|line| line != "task/task_rename decoded");
        Ok(lines)
    }

    #[test]
    fn categories_select_events() {
        let sched = ["sched/sched_switch decoded", "sched/sched_waking decoded"];
        assert_eq!(selected(&["kernel:sched", "app"]).unwrap(), sched);
        assert_eq!(selected(&["kernel:s*", "-kernel:syscall"]).unwrap(), sched);
        assert_eq!(selected(&["kernel:block"]).unwrap(), ["block/block_rq_issue kernel:block"]);
        assert_eq!(selected(&["kernel:log"]).unwrap(), ["printk/console decoded"]);
        assert_eq!(selected(&["kernel:tasks"]).unwrap(), [""; 0]);
        let missing = selected(&["kernel:irq"]).unwrap_err();
        assert!(missing.contains("no events of the category kernel:irq"), "{missing}");
    }

    #[test]
    fn single_events_are_instants_with_their_fields() {
        let stat = "kernel:event:sched/sched_stat_runtime";
        assert_eq!(selected(&[stat]).unwrap(), [format!("sched/sched_stat_runtime {stat}")]);
        let both = selected(&["kernel:sched", "kernel:event:sched/sched_s*"]).unwrap();
        let switch = "sched/sched_switch decoded kernel:event:sched/sched_switch";
        assert!(both.contains(&switch.to_owned()) && both.len() == 3, "{both:?}");
        let unknown = selected(&["kernel:event:sched/x"]).unwrap_err();
        assert!(unknown.contains("no event sched/x"), "{unknown}");
    }
}
