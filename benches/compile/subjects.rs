//! The compiled programs: the tracer of each, and its trace points.

/// A tracer, or none.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    /// Lines of `[dependencies]`; `{root}` is this repository.
    pub(crate) dependencies: &'static str,
    pub(crate) functions: usize,
    /// The attribute of each function; `{n}` is its number.
    pub(crate) attribute: &'static str,
    /// The first statement of each function.
    pub(crate) statement: &'static str,
}

const OURS: &str = r#"trace-runtime = { path = "{root}/trace-runtime" }"#;
const OURS_PLAIN: &str =
    r#"trace-runtime = { path = "{root}/trace-runtime", default-features = false }"#;
const NTRACE: &str = r#"trace-runtime = { path = "{root}/trace-runtime", features = ["ntrace"] }"#;
const TRACING: &str = r#"tracing = "0.1""#;
const FASTRACE: &str = r#"fastrace = { version = "0.7", features = ["enable"] }"#;
const PUFFIN: &str = r#"puffin = "0.20""#;

/// One scope in each of 1,000 functions.
pub(crate) const SCOPES: &[Subject] = &[
    scope("none", "", ""),
    scope("trace-runtime", OURS_PLAIN, r#"trace_runtime::trace_duration!("bench", "scope {n}");"#),
    scope(
        "trace-runtime, one argument",
        OURS_PLAIN,
        r#"trace_runtime::trace_duration!("bench", "scope {n}", "x" => x);"#,
    ),
    scope(
        "trace-runtime, ntrace",
        NTRACE,
        r#"trace_runtime::trace_duration!("bench", "scope {n}", "x" => x);"#,
    ),
    scope("tracing", TRACING, r#"let _span = tracing::info_span!("scope {n}").entered();"#),
    scope(
        "tracing, one field",
        TRACING,
        r#"let _span = tracing::info_span!("scope {n}", x).entered();"#,
    ),
    scope(
        "fastrace",
        FASTRACE,
        r#"let _span = fastrace::local::LocalSpan::enter_with_local_parent("scope {n}");"#,
    ),
    scope("puffin", PUFFIN, r#"puffin::profile_scope!("scope {n}");"#),
];

/// One attribute on each of 500 functions.
pub(crate) const ATTRIBUTES: &[Subject] = &[
    attribute("none", "", ""),
    attribute("trace-runtime", OURS, "#[trace_runtime::trace_fn]"),
    attribute("trace-runtime, one argument", OURS, "#[trace_runtime::trace_fn(args(x))]"),
    attribute("trace-runtime, ntrace", NTRACE, "#[trace_runtime::trace_fn(args(x))]"),
    attribute("tracing", TRACING, "#[tracing::instrument(skip_all)]"),
    attribute("tracing, one field", TRACING, "#[tracing::instrument]"),
    attribute("fastrace", FASTRACE, "#[fastrace::trace]"),
];

const fn scope(name: &'static str, dependencies: &'static str, statement: &'static str) -> Subject {
    Subject { name, dependencies, functions: 1000, attribute: "", statement }
}

const fn attribute(
    name: &'static str,
    dependencies: &'static str,
    attribute: &'static str,
) -> Subject {
    Subject { name, dependencies, functions: 500, attribute, statement: "" }
}
