//! Events of the scheduler.

use super::line::Line;
use crate::event::{Entry, Event, Task};
use crate::state::thread_state;

/// Returns the scheduler's event of a line, with `ticks` as its time.
pub(super) fn entry<'a>(line: &Line<'a>, ticks: u64) -> Option<Entry<'a>> {
    let event = match line.event {
        "sched_switch" => switch(line.details)?,
        "sched_waking" => woken(line).map(|(task, cpu)| Event::Waking { task, cpu })?,
        "sched_wakeup" | "sched_wakeup_new" => {
            woken(line).map(|(task, cpu)| Event::Wakeup { task, cpu })?
        }
        _ => return None,
    };
    let Line { cpu, thread, context, .. } = *line;
    Some(Entry { ticks, cpu, thread, context, event })
}

/// `prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120`
fn switch(details: &str) -> Option<Event<'_>> {
    let Some((before, after)) = details.split_once("==> next_comm=") else {
        return reported_switch(details);
    };
    let (outgoing, rest) = task(before, ["prev_comm=", " prev_pid=", "prev_prio="])?;
    let (incoming, _) = task(after, ["", " next_pid=", "next_prio="])?;
    let state = thread_state(field(rest, "prev_state=")?)?;
    Some(Event::Switch { outgoing, state, incoming })
}

/// `comm=a pid=1 prio=120 success=1 target_cpu=000`. Kernels since 4.3 do not print `success`.
fn woken<'a>(line: &Line<'a>) -> Option<(Task<'a>, u16)> {
    let (task, rest) =
        task(line.details, ["comm=", " pid=", "prio="]).or_else(|| reported_task(line.details))?;
    let cpu = match field(rest, "target_cpu=").or_else(|| field(rest, "CPU:")) {
        Some(cpu) => cpu.parse().ok()?,
        None => line.cpu,
    };
    (field(rest, "success=") != Some("0")).then_some((task, cpu))
}

/// `a:1 [120] S ==> b:2 [120]`, as `trace-cmd report` prints it.
fn reported_switch(details: &str) -> Option<Event<'_>> {
    let (before, after) = details.split_once(" ==> ")?;
    let (outgoing, rest) = reported_task(before)?;
    let (incoming, _) = reported_task(after)?;
    let state = thread_state(rest.trim_start())?;
    Some(Event::Switch { outgoing, state, incoming })
}

/// `a:1 [120]`; also returns the text after it.
fn reported_task(text: &str) -> Option<(Task<'_>, &str)> {
    let (name, rest) = text.rsplit_once(" [")?;
    let (name, thread) = name.rsplit_once(':')?;
    let (priority, rest) = rest.split_once(']')?;
    let (thread, priority) = (thread.parse().ok()?, Some(priority.parse().ok()?));
    Some((Task { name, thread, priority }, rest))
}

/// Returns the thread at the start of `details`, and the text after its name. The name may contain
/// blanks and text like a field.
fn task<'a>(details: &'a str, keys: [&str; 3]) -> Option<(Task<'a>, &'a str)> {
    let [name, thread, priority] = keys;
    let (name, rest) = details.strip_prefix(name)?.rsplit_once(thread)?;
    let thread = rest.split(' ').next()?.parse().ok()?;
    let priority = Some(field(rest, priority)?.parse().ok()?);
    Some((Task { name, thread, priority }, rest))
}

/// Returns the value of a key.
fn field<'a>(fields: &'a str, key: &str) -> Option<&'a str> {
    fields.split_ascii_whitespace().find_map(|field| field.strip_prefix(key))
}

#[cfg(test)]
mod tests {
    use trace_format::layout::ThreadState;

    use super::*;
    use crate::event::Context;

    fn of<'a>(event: &'a str, details: &'a str) -> Option<Event<'a>> {
        let (task, thread, process, cpu, nanos) = ("a", 1, None, 3, 0);
        let context = Context::Thread;
        let line = Line { task, thread, process, cpu, context, nanos, event, details };
        entry(&line, 0).map(|entry| entry.event)
    }

    #[test]
    fn switches() {
        let task = |name, thread, priority| Task { name, thread, priority: Some(priority) };
        let switch = |outgoing, state, incoming| Some(Event::Switch { outgoing, state, incoming });
        assert_eq!(
            of("sched_switch", "prev_comm=swapper prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=SurfaceFlinger next_pid=178 next_prio=112"),
            switch(task("swapper", 0, 120), ThreadState::RUNNING, task("SurfaceFlinger", 178, 112)),
        );
        assert_eq!(
            of("sched_switch", "prev_comm=a ==> b #c prev_pid=647 prev_prio=120 prev_state=D  ==> next_comm=a prev_pid=b next_pid=5 next_prio=-1 extra=1"),
            switch(task("a ==> b #c", 647, 120), ThreadState::BLOCKED, task("a prev_pid=b", 5, -1)),
        );
        let states = [
            ("R+", 1),
            ("S", 3),
            ("D|W", 3),
            ("T", 2),
            ("t", 2),
            ("Z", 4),
            ("X", 5),
            ("x", 5),
            ("I", 3),
        ];
        for (letters, state) in states {
            let line = format!("prev_comm=a prev_pid=1 prev_prio=2 prev_state={letters} ==> next_comm=b next_pid=3 next_prio=4");
            assert_eq!(
                of("sched_switch", &line),
                switch(task("a", 1, 2), ThreadState(state), task("b", 3, 4))
            );
        }
    }

    #[test]
    fn wakeups() {
        let task = Task { name: "a b", thread: 7, priority: Some(120) };
        let details = "comm=a b pid=7 prio=120 success=1 target_cpu=001";
        assert_eq!(of("sched_wakeup", details), Some(Event::Wakeup { task, cpu: 1 }));
        assert_eq!(of("sched_wakeup_new", details), Some(Event::Wakeup { task, cpu: 1 }));
        let details = "comm=a b pid=7 prio=120";
        assert_eq!(of("sched_waking", details), Some(Event::Waking { task, cpu: 3 }));
        let details = "comm=a b pid=7 prio=120 success=0 target_cpu=001";
        assert_eq!(of("sched_wakeup", details), None);
    }

    #[test]
    fn lines_of_trace_cmd_report() {
        let task = |name, thread| Task { name, thread, priority: Some(120) };
        let (outgoing, incoming) = (task("a: b [x]", 12), task("swapper/0", 0));
        let state = ThreadState::BLOCKED;
        assert_eq!(
            of("sched_switch", "a: b [x]:12 [120] S ==> swapper/0:0 [120]"),
            Some(Event::Switch { outgoing, state, incoming })
        );
        for details in ["a b:7 [120] success=1 CPU:001", "a b:7 [120]<CANT FAIL> CPU:001"] {
            let woken = Event::Wakeup { task: task("a b", 7), cpu: 1 };
            assert_eq!(of("sched_wakeup", details), Some(woken), "{details}");
        }
        for details in ["a:12 [120] S ==> b", "a [120] S ==> b:1 [120]", "a:1 [120] ==> b:1 [x]"] {
            assert_eq!(of("sched_switch", details), None, "{details}");
        }
    }

    #[test]
    fn malformed_lines() {
        for details in [
            "",
            "prev_comm=a",
            "prev_comm=a prev_pid=1 prev_prio=2 prev_state=S",
            "prev_comm=a prev_pid=1 prev_prio=2 prev_state= ==> next_comm=b next_pid=3 next_prio=4",
            "prev_comm=a prev_pid=1 prev_prio=2 ==> next_comm=b next_pid=3 next_prio=4",
            "prev_comm=a prev_pid=x prev_prio=2 prev_state=S ==> next_comm=b next_pid=3 next_prio=4",
            "prev_comm=a prev_pid=1 prev_prio=2 prev_state=S ==> next_comm=b next_pid=3",
            "prev_comm=a prev_pid=1 prev_prio=2 prev_state=S ==> next_comm=b next_pid=3 next_prio=",
            "comm=a pid=1 prio=2 target_cpu=x",
        ] {
            assert_eq!(of("sched_switch", details), None, "{details}");
            assert_eq!(of("sched_waking", details), None, "{details}");
        }
        assert_eq!(of("sched_process_exit", "comm=a pid=1 prio=120"), None);
    }
}
