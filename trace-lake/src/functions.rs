//! Functions of traces, beside those of DataFusion.

mod arg;
mod clock;
mod critical_path;
mod extent;
mod extract_arg;
mod glob;
mod overlap;

use std::sync::Arc;

use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use datafusion::prelude::SessionContext;

use clock::ToClock;
use extent::{Bound, Extent};
use extract_arg::ExtractArg;
use overlap::Overlap;

use crate::directory::Clock;
use crate::subject::Subject;

/// A function.
#[derive(Debug)]
pub struct Function {
    /// Its call.
    pub call: &'static str,
    /// What it returns.
    pub about: &'static str,
}

/// All functions.
pub const FUNCTIONS: &[Function] = &[
    Function { call: "arg(args, 'key')", about: "the value of an argument as text, or NULL" },
    Function {
        call: "extract_arg(arg_set_id, 'key')",
        about: "the same, by the id of a slice; keys can start with `args.` or `debug.`",
    },
    Function {
        call: "overlap_ns(start1, dur1, start2, dur2)",
        about: "the nanoseconds that two intervals share; one of duration NULL or -1 lasts until \
            trace_end(), or gives NULL in a store",
    },
    Function {
        call: "overlaps(start1, dur1, start2, dur2)",
        about: "whether two intervals share time, for joins",
    },
    Function {
        call: "to_realtime(ns)",
        about: "a time of the archive as nanoseconds since 1970, or NULL without clock anchors",
    },
    Function { call: "to_monotonic(ns)", about: "the same for the monotonic clock" },
    Function { call: "to_boottime(ns)", about: "the same for the boot-time clock" },
    Function {
        call: "glob('pattern', text)",
        about: "whether a text matches; `*`, `?` and `[a-z]`",
    },
    Function { call: "trace_start()", about: "the time of the first record in nanoseconds" },
    Function { call: "trace_end()", about: "the time of the last record in nanoseconds" },
    Function { call: "trace_dur()", about: "the nanoseconds between them" },
    Function {
        call: "percentile(x, 99)",
        about: "an aggregate: the percentile, interpolated between values",
    },
    Function { call: "FROM ancestors(id)", about: "the spans around a span, at any depth" },
    Function { call: "FROM descendants(id)", about: "the spans in a span, at any depth" },
    Function { call: "FROM ancestor_slice(id)", about: "the same of the view slice" },
    Function { call: "FROM descendant_slice(id)", about: "the same of the view slice" },
    Function {
        call: "FROM critical_path(operation_id)",
        about: "the critical path of an async operation",
    },
    Function { call: "FROM critical_path_of_flow(flow_id)", about: "the critical path of a flow" },
];

/// Adds the functions to a session.
pub(crate) fn register(context: &SessionContext, subject: &Subject) {
    let pool = context.runtime_env().memory_pool.clone();
    for function in plain().into_iter().chain(of_subject(subject, &pool)) {
        context.register_udf(function);
    }
    for is_flow in [false, true] {
        let function = critical_path::CriticalPath::new(subject.clone(), is_flow);
        context.register_udtf(function.name(), Arc::new(function));
    }
}

/// Returns the functions whose results depend only on their arguments.
pub(crate) fn plain() -> [ScalarUDF; 2] {
    [ScalarUDF::new_from_impl(arg::Arg::new()), ScalarUDF::new_from_impl(glob::Glob::new())]
}

/// Returns the functions whose results depend on what the queries read. Values that they keep are
/// counted in the pool.
pub(crate) fn of_subject(subject: &Subject, pool: &Arc<dyn MemoryPool>) -> Vec<ScalarUDF> {
    let own = || subject.clone();
    let clock = |name, clock| ScalarUDF::new_from_impl(ToClock::new(name, clock, own()));
    let extent = |bound| ScalarUDF::new_from_impl(Extent::new(bound, own()));
    let mut functions = vec![
        ScalarUDF::new_from_impl(ExtractArg::new(own(), pool.clone())),
        ScalarUDF::new_from_impl(Overlap::nanos(own())),
        ScalarUDF::new_from_impl(Overlap::is_any(own())),
        clock("to_realtime", Clock::Realtime),
        clock("to_monotonic", Clock::Monotonic),
        clock("to_boottime", Clock::Boottime),
    ];
    functions.extend(Bound::ALL.map(extent));
    functions
}

/// Returns what a function of [`of_subject`] reads, or `None` for another function.
#[cfg(feature = "cluster")]
pub(crate) fn subject_of(function: &ScalarUDF) -> Option<&Subject> {
    let function = function.inner();
    let extract_arg = || function.downcast_ref::<ExtractArg>().map(ExtractArg::subject);
    let overlap = || function.downcast_ref::<Overlap>().map(Overlap::subject);
    let clock = || function.downcast_ref::<ToClock>().map(ToClock::subject);
    let extent = || function.downcast_ref::<Extent>().map(Extent::subject);
    extract_arg().or_else(overlap).or_else(clock).or_else(extent)
}
