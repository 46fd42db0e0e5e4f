//! `trace doctor`

mod instructions;
mod kernel;
mod places;

use anyhow::Result;
use serde_json::{json, Value};
use trace_convert::visible;

use crate::cli::DoctorArgs;
use crate::daemon_client::print_json;
use crate::message::describe_text;
use crate::{exit, table};

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    /// It works.
    Ok,
    /// Something optional is missing, or slower.
    Limited,
    /// Programs cannot be recorded.
    Missing,
}

/// A finding about this machine.
#[derive(Debug, Clone)]
struct Finding {
    subject: &'static str,
    status: Status,
    detail: String,
    /// What does not work without it, and what to do.
    remedy: Option<(&'static str, String)>,
}

impl Finding {
    fn ok(subject: &'static str, detail: impl Into<String>) -> Self {
        let detail = describe_text(&detail.into());
        Self { subject, status: Status::Ok, detail, remedy: None }
    }

    fn limited(
        subject: &'static str,
        detail: impl Into<String>,
        without: &'static str,
        remedy: impl Into<String>,
    ) -> Self {
        let (detail, remedy) = (describe_text(&detail.into()), Some((without, remedy.into())));
        Self { subject, status: Status::Limited, detail, remedy }
    }

    fn missing(
        subject: &'static str,
        detail: impl Into<String>,
        without: &'static str,
        remedy: impl Into<String>,
    ) -> Self {
        Self { status: Status::Missing, ..Self::limited(subject, detail, without, remedy) }
    }
}

pub(crate) fn run(args: &DoctorArgs) -> Result<u8> {
    let socket = args.client.socket.as_deref();
    let findings: Vec<Finding> = kernel::findings()
        .chain(instructions::findings())
        .chain(places::findings(socket))
        .collect();
    match args.json {
        true => print_json(&as_json(&findings))?,
        false => table::print(&as_text(&findings))?,
    }
    Ok(code(&findings))
}

fn code(findings: &[Finding]) -> u8 {
    match findings.iter().any(|finding| finding.status == Status::Missing) {
        true => exit::FAILURE,
        false => exit::OK,
    }
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Limited => "limited",
            Self::Missing => "missing",
        }
    }
}

fn as_text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { subject, status, detail, remedy } in findings {
        let detail = visible(detail);
        text += &format!("{:<8} {subject:<16} {detail}\n", status.as_str());
        if let Some((without, remedy)) = remedy {
            text += &format!("{:<25} without it: {without}\n", "");
            text += &format!("{:<25} hint: {}\n", "", visible(remedy));
        }
    }
    text
}

fn as_json(findings: &[Finding]) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "subject": finding.subject,
            "status": finding.status.as_str(),
            "detail": finding.detail,
            "without": finding.remedy.as_ref().map(|(without, _)| without),
            "hint": finding.remedy.as_ref().map(|(_, remedy)| remedy),
        })
    };
    findings.iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_missing_parts_are_failures() {
        let ok = Finding::ok("clock", "works");
        let limited = Finding::limited("tracefs", "is not readable", "no kernel", "mount it");
        let missing = Finding::missing("memory", "does not work", "no buffers", "use Linux");
        assert_eq!(code(&[ok.clone(), limited.clone()]), exit::OK);
        assert_eq!(code(&[ok.clone(), missing.clone()]), exit::FAILURE);
        let text = as_text(&[ok, limited]);
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        let expected = [
            "ok       clock            works",
            "limited  tracefs          is not readable",
            "without it: no kernel",
            "hint: mount it",
        ];
        assert_eq!(lines, expected);
        assert_eq!(as_json(&[missing])[0]["status"], "missing");
        let full = Finding::ok("output", "a: No space left on device (os error 28)");
        assert_eq!(as_json(&[full])[0]["detail"], "a: no space left on device");
    }
}
