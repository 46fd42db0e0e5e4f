//! Logs and provider events.

use trace_format::layout::{InstantScope, ProviderEvent};
use trace_format::{Item, Log, ThreadKoids};

use super::exporter::{Head, JsonExporter};

impl JsonExporter {
    pub(super) fn log(&mut self, item: &Item<'_>, log: &Log<'_>) {
        self.begin(&Head {
            phase: "i",
            category: "log",
            name: "log",
            nanos: item.nanos(log.ticks),
            thread: item.thread(log.thread),
        });
        self.scope(InstantScope::Thread);
        self.begin_arguments();
        self.json.key("message").string(&String::from_utf8_lossy(log.message));
        self.end_with_arguments();
    }

    pub(super) fn provider_event(&mut self, id: u32, event: ProviderEvent) {
        let is_full = event == ProviderEvent::BUFFER_FULL;
        self.begin_at_last(&Head {
            phase: "i",
            category: "trace",
            name: if is_full { "buffer full" } else { "provider event" },
            nanos: self.nanos,
            // A provider event has no process: a provider may cover several.
            thread: ThreadKoids::UNKNOWN,
        });
        self.scope(InstantScope::Global);
        self.begin_arguments();
        self.json.key("provider").safe_unsigned(id.into());
        if !is_full {
            self.json.key("event").safe_unsigned(event.bits());
        }
        self.end_with_arguments();
    }
}
