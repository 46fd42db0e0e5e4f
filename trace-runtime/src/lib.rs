//! Trace points for applications: macros, thread writers and the trace provider
