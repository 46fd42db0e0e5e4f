//! Alerts: one static for each call site, and names that are known only at run time.

use trace_provider::AlertCount;

use crate::alert_name::check_alert_name;
use crate::ENGINE;

/// The static of an alert. The linker collects all of a program in one section.
#[derive(Debug)]
#[repr(C)]
pub struct Alert {
    count: AlertCount,
    name: &'static str,
}

impl Alert {
    /// Creates an alert. The name must have 1 to 14 bytes and no zero byte.
    ///
    /// # Panics
    /// If the name is not valid.
    pub const fn new(name: &'static str) -> Self {
        check_alert_name(name);
        Self { count: AlertCount::new(), name }
    }

    /// Raises the alert. Async-signal-safe; costs at most one system call.
    #[cold]
    #[inline(never)]
    pub fn raise(&self) {
        if self.count.raise() {
            ENGINE.notify();
        }
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn count(&self) -> &AlertCount {
        &self.count
    }
}

/// Raises an alert with a name that is known only at run time. Returns whether it will be sent.
///
/// For literal names, use [`trace_alert!`](crate::trace_alert).
///
/// It returns `false` and does nothing if
///
/// - no manager records,
/// - the name does not have 1 to 14 bytes, or has a zero byte, or
/// - the process has raised more than 64 different names, which the trace reports.
///
/// Alerts that are pending when the session ends are sent first. If there are thousands, the trace
/// has their number instead.
///
/// Async-signal-safe: takes no lock and does not allocate. Costs one system call while a manager
/// records, else one load.
pub fn raise_alert(name: &str) -> bool {
    ENGINE.raise_alert(name)
}
