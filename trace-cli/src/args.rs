//! The values of options.

mod attach;
mod call_graph;
mod category;
mod condition;
mod format;
mod id;
mod kernel_scope;
mod level;
mod mode;
mod moment;
mod output_name;
mod rotate;
mod share;
mod size;
mod table;
mod time;
mod trigger;

pub(crate) use attach::{parse_attach, Attach};
pub(crate) use call_graph::{call_graph_name, parse_call_graph};
pub(crate) use category::parse_category;
pub(crate) use condition::parse_condition;
pub(crate) use format::Format;
pub(crate) use id::parse_id;
pub(crate) use kernel_scope::{parse_kernel_scope, KernelScope};
pub(crate) use level::Level;
pub(crate) use mode::Mode;
pub(crate) use moment::{parse_moment, Moment, Span};
pub(crate) use output_name::output_name;
pub(crate) use rotate::{parse_part_limit, PartLimit};
pub(crate) use share::parse_share;
pub(crate) use size::{parse_provider_size, parse_size};
pub(crate) use table::{parse_argument_key, parse_stats_by, GroupBy, SortBy, StatsBy};
pub(crate) use time::parse_time;
pub(crate) use trace_manager::parse_duration;
pub(crate) use trigger::parse_trigger;
