//! Packets as lines of text.

use std::collections::HashMap;

use prost::Message;

use crate::perfetto::message::{
    AnnotationValue, DebugAnnotation, Frame, FtraceEventBundle, InternedData, InternedString,
    PerfSample, TracePacket, TrackDescriptor, TrackEvent,
};

/// `Trace`
#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

/// The interned strings by id.
#[derive(Debug, Default)]
struct Strings([HashMap<u64, String>; 7], Stacks);

/// The interned data of samples, by id.
#[derive(Debug, Default)]
struct Stacks {
    /// The path and build id of each mapping.
    mappings: HashMap<u64, String>,
    frames: HashMap<u64, Frame>,
    stacks: HashMap<u64, Vec<u64>>,
}

/// Returns each packet of a trace as a line.
pub(super) fn lines(bytes: &[u8]) -> Vec<String> {
    let mut strings = Strings::default();
    let trace = Trace::decode(bytes).unwrap();
    trace.packet.iter().map(|packet| strings.line(packet)).collect()
}

impl Strings {
    fn line(&mut self, packet: &TracePacket) -> String {
        if packet.perf_sample.is_some() && packet.sequence_flags() & 1 != 0 {
            let defaults = packet.trace_packet_defaults.as_ref().unwrap();
            let timebase = defaults.perf_sample_defaults.as_ref().unwrap().timebase.as_ref();
            assert_eq!(timebase.unwrap().name(), "samples");
            *self = Self(std::mem::take(&mut self.0), Stacks::default());
            self.0[4..].iter_mut().for_each(HashMap::clear);
        }
        if let Some(data) = &packet.interned_data {
            self.intern(data);
        }
        if let Some(descriptor) = &packet.track_descriptor {
            return track(descriptor);
        }
        if let Some(bundle) = &packet.ftrace_events {
            return scheduled(bundle);
        }
        if let Some(snapshot) = &packet.clock_snapshot {
            let clocks = snapshot.clocks.iter();
            let clocks = clocks.map(|clock| (clock.clock_id(), clock.timestamp()));
            return format!("clocks {:?}", clocks.collect::<Vec<_>>());
        }
        if let Some(sample) = &packet.perf_sample {
            return format!("{} {}", packet.timestamp(), self.sample(sample));
        }
        let event = packet.track_event.as_ref().unwrap();
        format!("{} {}", packet.timestamp(), self.event(event))
    }

    fn intern(&mut self, data: &InternedData) {
        let lists: [&[InternedString]; 7] = [
            &data.event_categories,
            &data.event_names,
            &data.debug_annotation_names,
            &data.log_message_body,
            &data.function_names,
            &data.source_paths,
            &data.mapping_paths,
        ];
        for (known, list) in self.0.iter_mut().zip(lists) {
            known.extend(list.iter().map(|entry| (entry.iid(), entry.text().to_owned())));
        }
        self.intern_stacks(data);
    }

    fn intern_stacks(&mut self, data: &InternedData) {
        for mapping in &data.mappings {
            let parts = mapping.path_string_ids.iter().map(|id| format!("/{}", self.0[6][id]));
            let build_id = |id| data.build_ids.iter().find(|one| one.iid() == id).unwrap().bytes();
            let build_id = mapping.build_id.map(build_id).unwrap_or_default();
            let text = format!("{}{build_id:x?}", parts.collect::<String>());
            self.1.mappings.insert(mapping.iid(), text);
        }
        self.1.frames.extend(data.frames.iter().map(|frame| (frame.iid(), frame.clone())));
        let stacks = data.callstacks.iter().map(|stack| (stack.iid(), stack.frame_ids.clone()));
        self.1.stacks.extend(stacks);
    }

    fn sample(&self, sample: &PerfSample) -> String {
        let (count, pid, tid) = (sample.timebase_count(), sample.pid(), sample.tid());
        let mut line = format!("sample {count} {pid}/{tid}");
        for frame in sample.callstack_iid.iter().flat_map(|stack| &self.1.stacks[stack]) {
            let frame = &self.1.frames[frame];
            let (mapping, pc) = (&self.1.mappings[&frame.mapping_id()], frame.rel_pc());
            line += &format!(" {}@{mapping}+{pc:#x}", self.0[4][&frame.function_name_id()]);
            if let Some(source) = &frame.source_path_iid {
                line += &format!("({}:{})", self.0[5][source], frame.line_number());
            }
        }
        line
    }

    fn event(&self, event: &TrackEvent) -> String {
        let kind = match (event.kind(), &event.legacy_event) {
            (0, Some(flow)) => {
                let binding = if flow.bind_to_enclosing() { "" } else { " to the next" };
                format!("flow {}#{:x}{binding}", flow.phase() as u8 as char, flow.unscoped_id())
            }
            (kind, _) => ["?", "begin", "end", "instant", "counter"][kind as usize].to_owned(),
        };
        let mut line = format!("{kind} @{}", uuid(event.track_uuid()));
        let category = event.category_iid.map(|category| format!("{}:", self.0[0][&category]));
        let name = event.name_iid.map_or(event.name(), |name| &self.0[1][&name]);
        if category.is_some() || !name.is_empty() {
            line += &format!(" {}{name}", category.unwrap_or_default());
        }
        for annotation in &event.debug_annotations {
            line += &format!(" {}", self.annotation(annotation));
        }
        if let Some(log) = &event.log_message {
            line += &format!(" log {:?}", self.0[3][&log.body_iid()]);
        }
        line += &event.counter_value.map_or(String::new(), |value| format!(" {value}"));
        line + &event.double_counter_value.map_or(String::new(), |value| format!(" {value:?}"))
    }

    fn annotation(&self, annotation: &DebugAnnotation) -> String {
        let name = annotation.name_iid.map_or(annotation.name(), |name| &self.0[2][&name]);
        let list: Vec<String> = annotation.array_values.iter().map(value).collect();
        match list.is_empty() {
            true => format!("{name}={}", value(annotation)),
            false => format!("{name}=[{}]", list.join(" ")),
        }
    }
}

fn value(annotation: &DebugAnnotation) -> String {
    match annotation.value.as_ref().unwrap() {
        AnnotationValue::Bool(value) => value.to_string(),
        AnnotationValue::Uint(value) => format!("{value}u"),
        AnnotationValue::Int(value) => format!("{value}"),
        AnnotationValue::Double(value) => format!("{value:?}"),
        AnnotationValue::String(value) => format!("{value:?}"),
        AnnotationValue::Pointer(value) => format!("{value:#x}"),
    }
}

/// The UUIDs of operations are hashes, which are not shown.
fn uuid(uuid: u64) -> String {
    match uuid >> 63 {
        0 => uuid.to_string(),
        _ => "op".to_owned(),
    }
}

fn track(descriptor: &TrackDescriptor) -> String {
    let mut line = format!("track {}", uuid(descriptor.uuid()));
    line += &descriptor.parent_uuid.map_or(String::new(), |parent| format!(" < {}", uuid(parent)));
    if let Some(process) = &descriptor.process {
        line += &format!(" process {} {:?}", process.pid(), process.process_name());
        let labels = &process.process_labels;
        line += &if labels.is_empty() { String::new() } else { format!(" labels {labels:?}") };
        line += &process.legacy_sort_index.map_or(String::new(), |place| format!(" at {place}"));
    }
    if let Some(thread) = &descriptor.thread {
        line += &format!(" thread {}/{} {:?}", thread.pid(), thread.tid(), thread.thread_name());
        line += &thread.legacy_sort_index.map_or(String::new(), |place| format!(" at {place}"));
    }
    line += if descriptor.counter.is_some() { " counter" } else { "" };
    line += &descriptor.name.as_ref().map_or(String::new(), |name| format!(" {name:?}"));
    line + if descriptor.sibling_merge_behavior == Some(2) { " apart" } else { "" }
}

fn scheduled(bundle: &FtraceEventBundle) -> String {
    let event = bundle.event.as_ref().unwrap();
    let mut line = format!("{} cpu {} by {}:", event.timestamp(), bundle.cpu(), event.pid());
    if let Some(switch) = &event.sched_switch {
        let (out, into) = (switch.prev_pid(), switch.next_pid());
        line += &format!(" {out} {:?} {:?}", switch.prev_comm(), switch.prev_prio);
        line += &format!(" {:x} to {into}", switch.prev_state());
        line += &format!(" {:?} {:?}", switch.next_comm(), switch.next_prio);
    }
    if let Some(waking) = &event.sched_waking {
        line += &format!(" wakes {} {:?} {:?}", waking.pid(), waking.comm(), waking.prio);
        if let Some(flags) = event.common_flags {
            line = format!("{line} flags {flags:#x}");
        }
        line += &format!(" on {}", waking.target_cpu());
    }
    line
}
