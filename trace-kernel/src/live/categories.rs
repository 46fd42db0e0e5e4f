//! The categories of the kernel's events.

/// A category with its description and its events, as system and name.
#[derive(Clone, Copy, Debug)]
pub struct Category {
    /// Its name, such as `kernel:sched`.
    pub name: &'static str,
    /// What it records.
    pub description: &'static str,
    pub(super) events: &'static [(&'static str, &'static str)],
}

/// The prefix of categories of one event: `kernel:event:SYSTEM/NAME`.
pub const EVENT_PREFIX: &str = "kernel:event:";

/// The category of texts that programs write to `trace_marker`.
pub(super) const MARKERS: &str = "atrace";

/// The category of samples of call stacks.
pub const SAMPLES: &str = "cpu:perf";

/// The prefix of categories of one counter: `cpu:counter:NAME`.
pub const COUNTER_PREFIX: &str = "cpu:counter:";

/// The events that name threads and their processes. They are always enabled.
pub(super) const TASKS: &[(&str, &str)] = &[
    ("sched", "sched_process_exec"),
    ("sched", "sched_process_exit"),
    ("sched", "sched_process_fork"),
    ("task", "task_newtask"),
    ("task", "task_rename"),
];

/// The categories, except those of one event.
pub const CATEGORIES: &[Category] = &[
    Category {
        name: "kernel:sched",
        description: "context switches, wake-ups and migrations of threads",
        events: &[
            ("sched", "sched_migrate_task"),
            ("sched", "sched_switch"),
            ("sched", "sched_wakeup_new"),
            ("sched", "sched_waking"),
        ],
    },
    Category {
        name: "kernel:tasks",
        description: "starts, ends and names of processes and threads",
        events: TASKS,
    },
    Category {
        name: "kernel:syscall",
        description: "system calls",
        events: &[("raw_syscalls", "sys_enter"), ("raw_syscalls", "sys_exit")],
    },
    Category {
        name: "kernel:irq",
        description: "interrupts and deferred work",
        events: &[
            ("irq", "irq_handler_entry"),
            ("irq", "irq_handler_exit"),
            ("irq", "softirq_entry"),
            ("irq", "softirq_exit"),
        ],
    },
    Category {
        name: "kernel:memory",
        description:
            "page faults, resident memory, reclaim, and processes killed because memory is full",
        events: &[
            ("exceptions", "page_fault_kernel"),
            ("exceptions", "page_fault_user"),
            ("kmem", "rss_stat"),
            ("oom", "mark_victim"),
            ("vmscan", "mm_vmscan_direct_reclaim_begin"),
            ("vmscan", "mm_vmscan_direct_reclaim_end"),
            ("vmscan", "mm_vmscan_kswapd_sleep"),
            ("vmscan", "mm_vmscan_kswapd_wake"),
        ],
    },
    Category {
        name: "kernel:block",
        description: "requests to disks",
        events: &[
            ("block", "block_rq_complete"),
            ("block", "block_rq_insert"),
            ("block", "block_rq_issue"),
        ],
    },
    Category {
        name: "kernel:net",
        description: "packets and states of connections",
        events: &[
            ("net", "net_dev_queue"),
            ("net", "netif_receive_skb"),
            ("sock", "inet_sock_set_state"),
            ("tcp", "tcp_retransmit_skb"),
        ],
    },
    Category {
        name: "kernel:power",
        description: "idle states and frequencies of CPUs",
        events: &[("power", "cpu_frequency"), ("power", "cpu_idle"), ("power", "suspend_resume")],
    },
    Category {
        name: "kernel:log",
        description: "lines of the kernel's log",
        events: &[("printk", "console")],
    },
    Category {
        name: MARKERS,
        description: "texts that programs write to trace_marker",
        events: &[],
    },
    Category { name: SAMPLES, description: "samples of call stacks", events: &[] },
];

/// Returns whether a category pattern selects events of the kernel, samples or counters. Patterns
/// that select all categories, and exclusions, do not.
#[must_use]
pub fn is_kernel_category(pattern: &str) -> bool {
    let is_kernel = pattern.starts_with("kernel:") || pattern == "kernel*" || pattern == MARKERS;
    is_kernel || is_of_cpu(pattern)
}

/// Returns whether a category pattern selects samples or counters by their names, which are no
/// events of the kernel.
pub(super) fn is_of_cpu(pattern: &str) -> bool {
    pattern == SAMPLES || pattern == "cpu:*" || pattern.starts_with(COUNTER_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_kernel_categories() {
        let selecting = ["kernel*", "kernel:*", "kernel:sched", "kernel:event:sched/x", "atrace"];
        for pattern in selecting.into_iter().chain(["cpu:perf", "cpu:*", "cpu:counter:cycles"]) {
            assert!(is_kernel_category(pattern), "{pattern}");
        }
        for pattern in ["", "*", "kernels", "-kernel:sched", "app", "atrace2", "cpu", "-cpu:perf"] {
            assert!(!is_kernel_category(pattern), "{pattern}");
        }
    }

    #[test]
    fn each_category_has_events_of_its_own() {
        let events = CATEGORIES.iter().flat_map(|category| category.events);
        let mut events: Vec<_> = events.collect();
        let number = events.len();
        events.sort();
        events.dedup();
        assert_eq!(events.len(), number);
        assert!(CATEGORIES.iter().all(|it| is_kernel_category(it.name)));
    }
}
