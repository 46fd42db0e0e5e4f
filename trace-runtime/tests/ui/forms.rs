use trace_runtime::*;

fn main() {
    trace_duration!("app");
    trace_duration!("app", "name", "key", 1);
    trace_duration_begin!("app", "name", 1);
    trace_instant!("app", "name", "key", 1);
    trace_async_begin!("app", "name");
    trace_flow_step!("app", "name", "key" => 1);
    trace_counter!("app", "name", "value" => 1);
    trace_counter!("app", "name", 0);
    let _ = trace_async_enter!("app", "name");
    trace_instaflow_begin!("app", "flow", 7);
    trace_blob_event!("app", "name");
    trace_blob_attachment!("app", "name");
    trace_log!("text");
    trace_alert!(7 + 7);
    let _ = trace_future_args!("app", "name", "key", 1);
}
