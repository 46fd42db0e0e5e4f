//! Short names of the macros, for use by path: `trace_runtime::duration!` is `trace_duration!`.

#[cfg(not(all(target_os = "linux", not(feature = "ntrace"))))]
pub use crate::ntrace::{
    trace_alert as alert, trace_async_begin as async_begin, trace_async_end as async_end,
    trace_async_enter as async_enter, trace_async_instant as async_instant, trace_at as at,
    trace_blob as blob, trace_blob_attachment as blob_attachment, trace_blob_event as blob_event,
    trace_category as category, trace_category_enabled as category_enabled,
    trace_counter as counter, trace_duration as duration, trace_duration_begin as duration_begin,
    trace_duration_end as duration_end, trace_enabled as enabled, trace_flow_begin as flow_begin,
    trace_flow_end as flow_end, trace_flow_step as flow_step, trace_future_args as future_args,
    trace_instaflow_begin as instaflow_begin, trace_instaflow_end as instaflow_end,
    trace_instaflow_step as instaflow_step, trace_instant as instant,
    trace_kernel_object as kernel_object, trace_log as log, trace_nonce as nonce,
    trace_process_name as process_name, trace_thread_name as thread_name, trace_track as track,
    trace_userspace_object as userspace_object,
};
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
pub use crate::{
    trace_alert as alert, trace_async_begin as async_begin, trace_async_end as async_end,
    trace_async_enter as async_enter, trace_async_instant as async_instant, trace_at as at,
    trace_blob as blob, trace_blob_attachment as blob_attachment, trace_blob_event as blob_event,
    trace_category as category, trace_category_enabled as category_enabled,
    trace_counter as counter, trace_duration as duration, trace_duration_begin as duration_begin,
    trace_duration_end as duration_end, trace_enabled as enabled, trace_flow_begin as flow_begin,
    trace_flow_end as flow_end, trace_flow_step as flow_step, trace_future_args as future_args,
    trace_instaflow_begin as instaflow_begin, trace_instaflow_end as instaflow_end,
    trace_instaflow_step as instaflow_step, trace_instant as instant,
    trace_kernel_object as kernel_object, trace_log as log, trace_nonce as nonce,
    trace_process_name as process_name, trace_thread_name as thread_name, trace_track as track,
    trace_userspace_object as userspace_object,
};
