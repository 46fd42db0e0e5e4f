//! Turns of threads on processors.

use datafusion::error::Result;
use trace_analyze::catalog::Catalog;
use trace_analyze::scheduling::{Switch, Turn, Turns};
use trace_format::layout::ThreadState;
use trace_format::Item;

use super::common::{PROCESS, PROCESS_ID, START, THREAD, THREAD_ID, TID};
use super::Table;
use crate::archive::Archive;
use crate::columns::{column, Kind};
use crate::directory::Directory;
use crate::source::{Output, RecordReader, Source};
use crate::times::signed;

pub(super) static TABLE: Table = Table {
    name: "turns",
    about: "A turn of a thread on a processor",
    columns: &[
        column("id", Kind::Int, "the number of the record of the switch at its begin"),
        column("cpu", Kind::Int, "the processor"),
        column("pid", Kind::Unsigned, "the process, or NULL if unknown"),
        TID,
        PROCESS,
        THREAD,
        PROCESS_ID,
        THREAD_ID,
        START,
        column("dur_ns", Kind::Int, "the duration in nanoseconds, or NULL if its end is unknown"),
        column(
            "end_state",
            Kind::Text,
            "the state after it: `running` (preempted), `blocked`, `suspended`, `dying`, `dead`, \
             `new` or a number, or NULL",
        ),
        column("priority", Kind::Int, "the priority at its begin, or NULL"),
    ],
    time: Some("start_ns"),
    source: Source::Records(reader),
};

struct TurnReader<'a> {
    directory: &'a Directory,
    catalog: Catalog,
    turns: Turns<i64>,
}

fn reader(archive: &Archive) -> Result<Box<dyn RecordReader + '_>> {
    let directory = archive.directory()?;
    Ok(Box::new(TurnReader { directory, catalog: Catalog::default(), turns: Turns::default() }))
}

impl RecordReader for TurnReader<'_> {
    fn record(&mut self, item: &Item<'_>, number: i64, output: &mut Output) -> Result<()> {
        self.catalog.note(item);
        let Some(switch) = Switch::of(item) else { return Ok(()) };
        match self.turns.push(&switch.marked(&self.catalog), number) {
            Some(turn) => self.write(&turn, output),
            None => Ok(()),
        }
    }

    fn finish(&mut self, output: &mut Output) -> Result<()> {
        let open = self.turns.finish();
        open.iter().try_for_each(|turn| self.write(turn, output))
    }
}

impl TurnReader<'_> {
    /// Writes a turn whose begin is known.
    fn write(&self, turn: &Turn<i64>, output: &mut Output) -> Result<()> {
        let Some(from) = turn.from.map(signed).filter(|from| output.range.has(*from)) else {
            return Ok(());
        };
        let directory = self.directory;
        let thread = directory.number_of_thread(turn.task.thread);
        let process = thread.and_then(|number| directory.threads.get(number)?.process);
        let process = turn.process.or(process);
        let process_number = process.and_then(|process| directory.process_number(process));
        let state = turn.to.map(|(_, state)| state_name(state));
        let rows = &mut output.rows;
        rows.int(turn.value);
        rows.int(i64::from(turn.cpu.1));
        rows.unsigned(process);
        rows.unsigned(turn.task.thread);
        rows.text(directory.process_name(process_number));
        rows.text(directory.thread_name(thread));
        rows.int(process_number.map(|number| number as i64));
        rows.int(thread.map(|number| number as i64));
        rows.int(from);
        rows.int(turn.to.map(|(to, _)| signed(to).saturating_sub(from)));
        rows.text(state.as_deref());
        rows.int(turn.task.weight);
        output.end()
    }
}

fn state_name(state: ThreadState) -> String {
    match state {
        ThreadState::NEW => "new".to_owned(),
        ThreadState::RUNNING => "running".to_owned(),
        ThreadState::SUSPENDED => "suspended".to_owned(),
        ThreadState::BLOCKED => "blocked".to_owned(),
        ThreadState::DYING => "dying".to_owned(),
        ThreadState::DEAD => "dead".to_owned(),
        ThreadState(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use trace_format::layout::{ObjectType, ThreadState};
    use trace_format::{Arguments, ContextSwitch, Record, ThreadWakeup};

    use crate::testing::{archive, complete, named, of_process, query};

    fn switch(ticks: u64, from: u64, state: ThreadState, to: u64) -> Record<'static> {
        ContextSwitch {
            ticks,
            cpu: 1,
            outgoing_state: state,
            outgoing_thread: from,
            incoming_thread: to,
            arguments: Arguments::NONE,
        }
        .into()
    }

    fn scheduled() -> Vec<u8> {
        let process = of_process();
        archive(&[
            named(ObjectType::THREAD, 34, "main", &process),
            switch(10, 0, ThreadState::RUNNING, 34),
            complete("work", 10, 60),
            switch(30, 34, ThreadState::BLOCKED, 99),
            ThreadWakeup { ticks: 40, cpu: 1, thread: 34, arguments: Arguments::NONE }.into(),
            switch(50, 99, ThreadState::RUNNING, 34),
            switch(70, 34, ThreadState::BLOCKED, 0),
        ])
    }

    #[test]
    fn turns_have_their_thread_and_the_state_after_them() {
        let sql = "SELECT cpu, pid, tid, thread, start_ns, dur_ns, end_state FROM turns \
            ORDER BY start_ns";
        assert_eq!(
            query(&scheduled(), sql),
            ["1|12|34|main|10|20|blocked", "1||99||30|20|running", "1|12|34|main|50|20|blocked",]
        );
    }

    #[test]
    fn spans_have_their_time_on_a_processor() {
        assert_eq!(query(&scheduled(), "SELECT dur_ns, cpu_ns FROM spans"), ["50|30"]);
    }

    #[test]
    fn states_of_threads_follow_from_turns_and_wakeups() {
        let sql = "SELECT ts, dur, state, cpu FROM thread_state JOIN thread USING (utid) \
            WHERE tid = 34 ORDER BY ts";
        assert_eq!(
            query(&scheduled(), sql),
            ["10|20|Running|1", "30|10|S|", "40|10|W|", "50|20|Running|1", "70|-1|S|",]
        );
    }
}
