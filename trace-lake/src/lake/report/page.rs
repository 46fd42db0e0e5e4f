//! The web page of a report. It needs no network, and text of archives cannot become markup.

use std::fmt::Write;

use trace_analyze::diff::{Change, Verdict};

use super::changes::{Step, RUNS};
use super::data::{Dimension, Name, Spread};
use crate::store::state::ArchiveEntry;

const HEAD: &str = include_str!("page.html");

/// The width of a bar in pixels.
const WIDTH: f64 = 240.0;

/// Returns the page.
pub(super) fn page(
    store: &str,
    archives: &[&ArchiveEntry],
    names: &[Name],
    spreads: &[Spread],
    steps: &[Step],
) -> String {
    let mut html = HEAD.replace("{store}", &escaped(store));
    let days = archives.iter().map(|archive| &archive.partition.day);
    let (first, last) = (days.clone().min(), days.max());
    if let (Some(first), Some(last)) = (first, last) {
        _ = writeln!(html, "<p>{} archives, from {first} to {last}.</p>", archives.len());
    }
    add_steps(&mut html, steps);
    for name in names {
        let of_name: Vec<&Spread> = spreads.iter().filter(|spread| spread.name == *name).collect();
        add_name(&mut html, name, &of_name);
    }
    html.push_str("</main></body></html>\n");
    html
}

fn add_steps(html: &mut String, steps: &[Step]) {
    if steps.is_empty() {
        html.push_str("<p>No service has two versions to compare.</p>\n");
        return;
    }
    html.push_str("<h2>Changes between versions</h2>\n");
    for Step { service, from, to, runs, changes } in steps {
        let [service, from, to] = [service, from, to].map(|text| escaped(text));
        _ = writeln!(html, "<h3>{service} {from} → {to}</h3>");
        let certain = |it: &&Change| matches!(it.verdict, Verdict::Slower | Verdict::Faster);
        let certain: Vec<&Change> = changes.iter().filter(certain).collect();
        let unclear = changes.iter().filter(|it| it.verdict == Verdict::Unclear).count();
        _ = writeln!(
            html,
            "<p>{} and {} archives (at most the newest {RUNS}): {} of {} names changed, {unclear} \
             are unclear. A verdict needs 3 archives a version.</p>",
            runs.0,
            runs.1,
            certain.len(),
            changes.len()
        );
        add_changes(html, &certain);
    }
}

fn add_changes(html: &mut String, changes: &[&Change]) {
    if changes.is_empty() {
        return;
    }
    html.push_str(
        "<table><tr><th>name<th>kind<th>verdict<th>median<th>interval<th>before<th>after</tr>\n",
    );
    for change in changes {
        let percent = |share: f64| format!("{:+.1} %", share * 100.0);
        let (median, interval) = change.median.map_or_else(Default::default, |it| {
            (percent(it.change), format!("{} … {}", percent(it.low), percent(it.high)))
        });
        let [before, after] =
            [&change.before, &change.after].map(|lengths| time(lengths.quantile(0.5) as f64));
        _ = writeln!(
            html,
            "<tr><td>{}<td>{}<td class={2}>{2}<td>{median}<td>{interval}<td>{before}<td>{after}</tr>",
            escaped(&label(&change.category, &change.name)),
            change.kind.as_str(),
            change.verdict.as_str(),
        );
    }
    html.push_str("</table>\n");
}

fn add_name(html: &mut String, name: &Name, spreads: &[&Spread]) {
    let title = escaped(&label(&name.category, &name.name));
    _ = writeln!(html, "<h2>{title} <small>{}</small></h2>", escaped(&name.kind));
    let least = spreads.iter().map(|it| it.median).fold(f64::INFINITY, f64::min).max(1.0);
    let most = spreads.iter().map(|it| it.longest).fold(1.0, f64::max);
    for dimension in Dimension::ALL {
        _ = writeln!(
            html,
            "<table><tr><th>{}<th>count<th>median<th>90 %<th>99 %<th>longest<th>from the median to \
             the longest</tr>",
            dimension.column()
        );
        for spread in spreads.iter().filter(|spread| spread.dimension == dimension) {
            let value = if spread.value.is_empty() { "unknown" } else { &spread.value };
            let times = [spread.median, spread.p90, spread.p99, spread.longest];
            let cells: String = times.iter().map(|it| format!("<td>{}", time(*it))).collect();
            let bar = bar(times.map(|time| place(time, least, most)));
            _ = writeln!(
                html,
                "<tr><td>{}<td>{}{cells}<td>{bar}</tr>",
                escaped(value),
                spread.count
            );
        }
        html.push_str("</table>\n");
    }
}

/// Returns the place of a time on a logarithmic scale, in pixels.
fn place(time: f64, least: f64, most: f64) -> f64 {
    let share = (time.max(1.0) / least).ln() / (most / least).ln().max(f64::MIN_POSITIVE);
    share.clamp(0.0, 1.0) * WIDTH
}

/// Returns the picture of a spread: a line to the longest, a bar to 99 %, a darker one to 90 %.
fn bar([median, p90, p99, longest]: [f64; 4]) -> String {
    let part = |class: &str, to: f64, height: u32| {
        let (y, width) = ((14 - height) / 2, (to - median).max(1.0));
        format!("<rect class={class} x={median:.1} y={y} width={width:.1} height={height} />")
    };
    let parts = [part("longest", longest, 2), part("p99", p99, 8), part("p90", p90, 14)];
    format!("<svg width={} height=14>{}</svg>", WIDTH + 2.0, parts.concat())
}

fn label(category: &str, name: &str) -> String {
    if category.is_empty() {
        name.to_owned()
    } else {
        format!("{category}:{name}")
    }
}

/// Returns nanoseconds with three digits and a unit.
fn time(nanos: f64) -> String {
    let (value, unit) = match nanos {
        ..1e3 => return format!("{nanos:.0} ns"),
        ..1e6 => (nanos / 1e3, "µs"),
        ..1e9 => (nanos / 1e6, "ms"),
        _ => (nanos / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

/// Returns a text that is no markup.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_text_is_no_markup() {
        let times = [7.0, 1234.0, 45_600_000.0, 789e9].map(time);
        assert_eq!(times, ["7 ns", "1.23 µs", "45.6 ms", "789 s"]);
        assert_eq!(escaped("<b a='\"'>&"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;");
        assert_eq!([1.0, 10.0, 100.0].map(|time| place(time, 1.0, 100.0)), [0.0, 120.0, 240.0]);
        assert_eq!(place(5.0, 5.0, 5.0), 0.0);
    }
}
