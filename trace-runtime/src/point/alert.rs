//! Alerts: one static for each place in the program, and names that are known at run time only.

use trace_provider::AlertCount;

use crate::alert_name::check_alert_name;
use crate::ENGINE;

/// The static of an alert. All of a program lie side by side in one section.
#[derive(Debug)]
#[repr(C)]
pub struct Alert {
    count: AlertCount,
    name: &'static str,
}

impl Alert {
    /// An alert of this name, which has 1 to 14 bytes and no zero byte.
    pub const fn new(name: &'static str) -> Self {
        check_alert_name(name);
        Self { count: AlertCount::new(), name }
    }

    /// Raises the alert.
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

/// Raises an alert whose name is known at run time only, while anything is recorded.
/// [`trace_alert!`](crate::trace_alert) is for the others.
///
/// Returns whether it is going to be sent: not while no manager records, not with a name that does
/// not have 1 to 14 bytes without a zero byte, and not with more than 64 different names in one
/// process, which the trace then tells. Alerts that are to be sent when the session ends are sent
/// before that, or, where they are thousands, counted in the trace.
///
/// Works in signal handlers, takes no lock and allocates nothing. Costs one system call while
/// recorded, and one load while not.
pub fn raise_alert(name: &str) -> bool {
    ENGINE.raise_alert(name)
}
