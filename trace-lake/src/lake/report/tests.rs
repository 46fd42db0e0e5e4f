use super::super::cli::{Command, LakeCli};
use super::super::tests::{run, Place};
use super::*;
use clap::Parser;

use crate::testing::{complete, event};
use trace_format::EventKind;

fn arguments(options: &[&str]) -> ReportArgs {
    let fixed = ["trace lake", "report", "store"];
    match LakeCli::parse_from(fixed.iter().chain(options)).command {
        Command::Report(args) => args,
        other => panic!("{other:?}"),
    }
}

/// Adds runs of a version in which `steady` takes 1 ms and `request` this long.
async fn add_version(place: &Place, version: &str, hour: u32, request: u64) {
    for run in 0..4_u64 {
        let mut records = Vec::new();
        for number in 0..60_u64 {
            let (at, noise) = (number * 100_000_000, (number * 7 + run * 3) % 11 * 1000);
            records.push(complete("steady", at, at + 1_000_000 + noise));
            let id = number;
            records.push(event("request", at, EventKind::AsyncBegin { id }, &[]));
            records.push(event("request", at + request + noise, EventKind::AsyncEnd { id }, &[]));
        }
        let time = format!("2026-11-2{run}T{hour:02}:00:00Z");
        let options =
            ["--version", version, "--time", &time, "--host", ["a", "<b>"][run as usize % 2]];
        place.add(&records, &options).await.unwrap();
    }
}

async fn page(place: &Place, options: &[&str]) -> Result<String> {
    let snapshot = Arc::new(Snapshot::newest(place.store.clone()).await?);
    html(&snapshot, &arguments(options)).await
}

#[test]
fn a_report_has_spreads_and_the_changes_between_versions() {
    run(async {
        let place = Place::new();
        // The older version is added last.
        add_version(&place, "2.0", 12, 8_000_000).await;
        add_version(&place, "1.0", 10, 2_000_000).await;
        let html = page(&place, &[]).await.unwrap();
        assert!(html.contains("8 archives, from 2026-11-20 to 2026-11-23."), "{html}");
        assert!(html.contains("<h3>app 1.0 → 2.0</h3>"), "{html}");
        assert!(html.contains("1 of 2 names changed, 0 are unclear"), "{html}");
        let change = "<tr><td>cat:request<td>async<td class=slower>slower<td>+29";
        assert!(html.contains(change), "{html}");
        let rows = |start: &str| html.matches(start).count();
        assert_eq!(rows("<tr><td>2026-11-2"), 8, "two names on four days: {html}");
        assert_eq!(rows("<tr><td>app 1.0<td>240<td>"), 2, "{html}");
        assert_eq!(rows("<tr><td>&lt;b&gt;<td>240<td>"), 2, "{html}");
        assert!(
            !html.contains("<b>") && !html.contains("src=") && !html.contains("href="),
            "{html}"
        );
        let one = page(&place, &["-n", "steady"]).await.unwrap();
        assert!(one.contains("<h2>cat:steady ") && !one.contains("<h2>cat:request "), "{one}");
        let error = page(&place, &["-n", "it's"]).await.unwrap_err().to_string();
        assert!(error.contains("no complete span or operation named it's\nhint: "), "{error}");
    });
}

#[test]
fn versions_of_a_program_are_not_compared_with_those_of_another() {
    run(async {
        let place = Place::new();
        for (service, version, hour) in [("a", "1", 1), ("b", "1", 2), ("a", "2", 3), ("b", "9", 4)]
        {
            let time = format!("2026-11-29T{hour:02}:00:00Z");
            let options = ["--service", service, "--version", version, "--time", &time];
            place.add(&[complete("work", hour, 9 + hour)], &options).await.unwrap();
        }
        let all = page(&place, &[]).await.unwrap();
        let steps: Vec<&str> = all.lines().filter(|line| line.starts_with("<h3>")).collect();
        assert_eq!(steps, ["<h3>a 1 → 2</h3>", "<h3>b 1 → 9</h3>"]);
        for row in ["a 1", "a 2", "b 1", "b 9"] {
            assert!(all.contains(&format!("<tr><td>{row}<td>1<td>")), "{row}: {all}");
        }
        let one = page(&place, &["--service", "b"]).await.unwrap();
        assert!(one.contains("<p>2 archives, ") && one.contains("<h3>b 1 → 9</h3>"), "{one}");
        assert!(!one.contains("<h3>a") && !one.contains("<td>a 1<td>"), "{one}");
        let error = page(&place, &["--service", "c"]).await.unwrap_err().to_string();
        assert!(error.contains("no complete span or operation of the service c"), "{error}");
    });
}
