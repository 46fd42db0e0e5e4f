//! The application's trace points, as the service thread uses them.

use std::collections::BTreeMap;

use trace_protocol::buffer::omission::Omission;
use trace_protocol::clock;
use trace_protocol::message::{CategoryInfo, ClockSource};
use trace_protocol::packet::AlertName;
use trace_protocol::thread_id::{agree, Candidates};
use trace_provider::{AlertCount, Client, RecordClock, Table};

use crate::forbidden::set_silent;
use crate::point::registry;
use crate::point::sections::categories;
use crate::{foreign, names, sites, timestamp, value, Clock, ENGINE};

/// Bytes of the durable buffer for strings of trace points that are created at run time.
const AT_RUN_TIME: usize = 48 << 10;

/// The trace points of this process, and its names.
#[derive(Debug)]
pub(super) struct Application {
    pub(super) clock: Clock,
    /// The candidates for the thread id of the thread that called `init`.
    pub(super) candidates: Candidates,
}

impl Client for Application {
    fn prepare(&self) -> RecordClock {
        clock::choose(self.clock.source());
        // A thread under strict seccomp is killed for a system call.
        set_silent(clock::is_coarse());
        timestamp::prepare();
        agree(self.candidates);
        let source = match clock::is_counter() {
            true => ClockSource::CpuCounter,
            false => ClockSource::Boottime,
        };
        RecordClock { source, ticks: clock::ticks }
    }

    /// Returns the categories of trace points, with the descriptions of declared ones.
    fn categories(&self) -> Vec<CategoryInfo> {
        let mut known: BTreeMap<String, &str> =
            sites::categories().into_iter().map(|name| (name, "")).collect();
        known.extend(
            categories()
                .iter()
                .map(|category| (category.name().to_owned(), category.description())),
        );
        known
            .into_iter()
            .map(|(name, description)| CategoryInfo { name, description: description.to_owned() })
            .collect()
    }

    /// Counts the strings of all trace points, also of those that are created at run time, and the
    /// names of tracks.
    fn durable_bytes(&self) -> usize {
        let strings: usize =
            sites::texts().into_iter().map(|text| 8 + text.len().next_multiple_of(8)).sum();
        strings + strings / 4 + names::hint() + AT_RUN_TIME
    }

    fn forget(&self) {
        registry::forget_alerts();
        let _earlier = (value::take_cut(), foreign::take_missed());
    }

    fn turn(&self, table: &mut Table) {
        sites::turn_all(table);
    }

    fn begin(&self) {
        names::begin();
    }

    fn serve(&self) {
        sites::turn_new();
        names::serve();
    }

    fn end(&self) {
        names::end();
        if let Some(table) = ENGINE.table().as_mut() {
            table.report_omission(Omission::Strings, value::take_cut());
            for (omission, number) in foreign::take_missed() {
                table.report_omission(omission, number);
            }
        }
    }

    fn name_thread(&self, thread: u32, kernel: &mut dyn FnMut() -> bool) -> bool {
        names::name_recording_thread(thread, kernel)
    }

    fn alerts(&self) -> Box<dyn Iterator<Item = (AlertName, &'static AlertCount)>> {
        Box::new(registry::raised())
    }
}
