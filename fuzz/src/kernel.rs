//! Formats and pages of the Linux kernel.

use std::io::{Cursor, Read};

use trace_analyze::input::InputFormat;
use trace_format::{Reader, Writer};
use trace_kernel::format::{check_event_header, page_layout, EventFormat};
use trace_kernel::fxt::Translator;
use trace_kernel::page::{Page, PageLayout};
use trace_kernel::perf_data::PerfData;
use trace_kernel::trace_dat::TraceDat;
use trace_kernel::{ByteOrder, Decoder, Event};

/// Takes bytes up to the first zero for a format, and the rest for a page: events are within the
/// page and in its order, and values are within their payload.
pub fn kernel(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let text = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let page = parts.next().unwrap_or_default();
    if let Err(error) = check_event_header(&text) {
        assert!(!error.to_string().is_empty());
    }
    let format = EventFormat::parse(system(&text), &text).ok();
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let usual = PageLayout {
            order,
            commit_offset: 8,
            commit_size: 8,
            data_offset: 16,
            page_size: 4096,
        };
        let decoder = Decoder::new(order, format.clone());
        let layouts = [Some(usual), page_layout(&text, order).ok()];
        let pages = layouts.iter().flatten().filter_map(|layout| layout.parse(page).ok());
        pages.for_each(|page| events(&page, format.as_ref(), &decoder));
    }
}

fn events(page: &Page<'_>, format: Option<&EventFormat>, decoder: &Decoder) {
    let mut last = None;
    for event in page.events() {
        let event = match event {
            Ok(event) => event,
            Err(error) => return assert!(!error.to_string().is_empty()),
        };
        assert!(last < Some(event.offset));
        last = Some(event.offset);
        let is_known = format.is_some_and(|format| format.id == event.id);
        let decoded = decoder.decode(0, &event).event;
        assert_eq!(is_known, !matches!(decoded, Event::Unknown { .. }));
        if let Some(format) = format {
            let order = decoder.order();
            let fields = format.common.iter().chain(&format.fields);
            let data = fields.filter_map(|field| field.bytes(event.payload, order));
            assert!(data.map(<[u8]>::len).all(|length| length <= event.payload.len()));
            assert!(format.values(event.payload, order).count() <= format.fields.len());
        }
    }
}

/// Returns the system of the events that the decoder has a value for.
fn system(text: &str) -> &'static str {
    let systems = ["sched", "task", "irq", "raw_syscalls"];
    let is_it = |system: &&&str| text.contains(&format!("name: {system}"));
    match text.contains("name: sys_") {
        true => "raw_syscalls",
        false => systems.iter().find(is_it).unwrap_or(&"ftrace"),
    }
}

/// Takes bytes for a file of trace-cmd. Its records can be written.
pub fn trace_dat(bytes: &[u8]) {
    let mut file = match TraceDat::open(Cursor::new(bytes)) {
        Ok(file) => file,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut translator = Translator::default();
    let mut writer = Writer::new(Vec::new()).expect("memory");
    loop {
        match file.next() {
            Ok(Some(item)) => {
                let (entry, times) = (item.entry, (item.since, item.entry.ticks));
                translator.missed(&mut writer, entry.cpu, item.missed, times).expect("a record");
                translator.entry(&mut writer, &entry).expect("a record");
            }
            Ok(None) => break,
            Err(error) => return assert!(!error.to_string().is_empty()),
        }
    }
    for (cpu, missed, times) in file.missed_at_end() {
        translator.missed(&mut writer, cpu, missed, times).expect("a record");
    }
    translator.finish(&mut writer).expect("a record");
}

/// Takes bytes for a file of perf. Its archive is well-formed, and not much larger.
pub fn perf_data(bytes: &[u8]) {
    let mut archive = Vec::new();
    let read = PerfData.open(Box::new(bytes)).and_then(|mut it| it.read_to_end(&mut archive));
    if let Err(error) = read {
        assert!(!error.to_string().is_empty());
    }
    assert!(archive.len() <= 65_536 + 64 * bytes.len());
    if archive.is_empty() {
        return;
    }
    let mut reader = Reader::new(&*archive);
    while reader.next().expect("an archive").is_some() {}
}
