//! Archives as destinations of records.

use std::io::Write;

use trace_format::{Record, WriteError, Writer};

use super::frequent::{Switch, SystemCall, Wakeup};
use super::scheduling::{write_switch, write_wakeup};
use super::sink::RecordSink;
use super::system_calls::write_call;

impl<W: Write> RecordSink for Writer<W> {
    fn record(&mut self, record: &Record<'_>) -> Result<(), WriteError> {
        Writer::record(self, record)
    }

    fn call(&mut self, call: &SystemCall) -> Result<(), WriteError> {
        write_call(self, call)
    }

    fn switch(&mut self, switch: &Switch) -> Result<(), WriteError> {
        write_switch(self, switch, None)
    }

    fn wakeup(&mut self, wakeup: &Wakeup) -> Result<(), WriteError> {
        write_wakeup(self, wakeup, None)
    }
}
