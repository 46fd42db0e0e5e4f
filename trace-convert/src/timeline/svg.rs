//! A static picture.

mod arrows;
mod colours;
mod ruler;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};

use super::encode::tooltip;
use super::html::escaped;
use super::rows::{Group, Lane, Row, RowKind, Series, Slice};
use super::visible::visible;
use super::Timeline;

const WIDTH: f64 = 1600.0;
/// The x coordinate of the first time. Names are on its left.
const LEFT: f64 = 220.0;
const LANE: f64 = 16.0;
const GRAPH: f64 = 40.0;
const CHARACTER: f64 = 6.1;
/// The maximum number of lanes of all rows, and of one row.
const MAX_LANES: usize = 1000;
const MAX_LANES_OF_ROW: usize = 100;
/// The maximum number of boxes and marks.
const MAX_SHAPES: u64 = 100_000;

const STYLE: &str = "text{font:10px ui-monospace,monospace;fill:#222}.name{pointer-events:none}\
.bg{fill:#fff}.grid{stroke:#e3e6ec}.group{fill:#e8eaf0}.loss{fill:#d32f2f;fill-opacity:.35}.point{fill:#1565c0}\
.graph{fill:#5c6bc0;fill-opacity:.3;stroke:#5c6bc0}.arrow{fill:none;stroke:#555;stroke-opacity:.4}\
.open{stroke:#d32f2f;stroke-dasharray:3 2}\
@media(prefers-color-scheme:dark){text{fill:#ddd}.bg{fill:#16181d}.grid{stroke:#2a2f39}.group{fill:#262a33}.arrow{stroke:#aaa}}";

/// The parts of a timeline that a picture omits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drawn {
    /// Rows that are omitted, or drawn without all of their lanes.
    pub rows_cut: u64,
    /// Boxes and marks beyond the limit.
    pub shapes_left_out: u64,
    /// Arrows. If there are too many to be legible, none is drawn.
    pub arrows_left_out: u64,
}

/// A picture in progress.
struct Picture<'t, W> {
    timeline: &'t Timeline,
    output: W,
    shapes: u64,
    drawn: Drawn,
    /// The y coordinate of the next row.
    y: f64,
    /// The y coordinate of each row so far, and the number of its lanes that are drawn.
    places: Vec<(f64, usize)>,
    lanes: usize,
    /// The names of slices, which are drawn above the arrows.
    names: String,
    hues: BTreeSet<u16>,
}

impl Timeline {
    /// Draws the timeline as an SVG, 1600 pixels wide. Adjacent slices of less than half a pixel
    /// are merged.
    ///
    /// # Errors
    ///
    /// Only what `output` returns.
    pub fn svg(&self, title: &str, output: &mut impl Write) -> io::Result<Drawn> {
        let mut body = Vec::new();
        let mut picture = Picture {
            timeline: self,
            output: &mut body,
            shapes: 0,
            drawn: Drawn::default(),
            y: 44.0,
            places: Vec::new(),
            lanes: 0,
            names: String::new(),
            hues: BTreeSet::new(),
        };
        self.groups.iter().try_for_each(|group| picture.group(group))?;
        picture.arrows()?;
        picture.output.write_all(picture.names.as_bytes())?;
        let bottom = picture.y;
        picture.notes()?;
        let colours = colours::rules(&picture.hues);
        let (drawn, height) = (picture.drawn, picture.y + 8.0);
        let title = escaped(&visible(title));
        writeln!(
            output,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{title}\"><title>{title}</title><style>{STYLE}{colours}</style>\
             <rect class=\"bg\" width=\"100%\" height=\"100%\"/><text x=\"8\" y=\"16\">{title}</text>"
        )?;
        self.ruler(bottom, output)?;
        output.write_all(&body)?;
        writeln!(output, "</svg>")?;
        Ok(drawn)
    }

    /// Returns the x coordinate of a time.
    fn x(&self, at: u64) -> f64 {
        let (first, last) = self.view;
        let length = (last - first).max(1) as f64;
        let since = at as f64 - first as f64;
        LEFT + (since / length * (WIDTH - LEFT - 8.0)).clamp(0.0, WIDTH - LEFT - 8.0)
    }

    fn ruler(&self, bottom: f64, output: &mut impl Write) -> io::Result<()> {
        let (first, last) = self.view;
        for (since, label) in ruler::ticks(last - first) {
            let x = self.x(first + since);
            let (at, anchor) = if x > WIDTH - 60.0 { (x - 3.0, "end") } else { (x + 3.0, "start") };
            writeln!(
                output,
                "<path class=\"grid\" d=\"M{x:.1} 24V{bottom}\"/><text x=\"{at:.1}\" y=\"34\" text-anchor=\"{anchor}\">{label}</text>"
            )?;
        }
        Ok(())
    }
}

impl<W: Write> Picture<'_, W> {
    fn group(&mut self, group: &Group) -> io::Result<()> {
        let (y, name) = (self.y, escaped(&visible(&group.name)));
        writeln!(
            self.output,
            "<rect class=\"group\" x=\"0\" y=\"{y}\" width=\"{WIDTH}\" height=\"{LANE}\"/><text x=\"8\" y=\"{}\">{name}</text>",
            y + 12.0
        )?;
        self.y += LANE + 2.0;
        group.rows.iter().try_for_each(|row| self.row(row))
    }

    fn row(&mut self, row: &Row) -> io::Result<()> {
        let max_lanes = MAX_LANES.saturating_sub(self.lanes).min(MAX_LANES_OF_ROW);
        let lanes = row.lanes.len().min(max_lanes);
        self.places.push((self.y, lanes));
        self.drawn.rows_cut += u64::from(lanes < row.lanes.len() || max_lanes == 0);
        if max_lanes == 0 {
            return Ok(());
        }
        self.lanes += lanes.max(1);
        let name: String = visible(&row.name).chars().take(34).collect();
        writeln!(
            self.output,
            "<g><title>{}</title><text x=\"16\" y=\"{}\">{}</text></g>",
            escaped(&visible(&row.name)),
            self.y + 12.0,
            escaped(&name)
        )?;
        for (place, lane) in row.lanes.iter().take(lanes).enumerate() {
            self.lane(lane, self.y + place as f64 * LANE)?;
        }
        if row.kind == RowKind::Counter {
            self.graphs(row)?;
        }
        let height = match row.kind {
            RowKind::Counter => GRAPH,
            _ => lanes.max(1) as f64 * LANE,
        };
        self.marks(row, height)?;
        self.y += height + 4.0;
        Ok(())
    }

    /// Returns whether one more shape may be drawn, and counts it.
    fn shape(&mut self) -> bool {
        let is_drawn = self.shapes < MAX_SHAPES;
        self.shapes += 1;
        self.drawn.shapes_left_out += u64::from(!is_drawn);
        is_drawn
    }

    /// Draws slices. A run of narrow ones is one box.
    fn lane(&mut self, lane: &Lane, y: f64) -> io::Result<()> {
        let mut rest = lane.as_slice();
        while let Some((first, after)) = rest.split_first() {
            let x = self.timeline.x(first.begin);
            let far = |slice: &Slice| self.timeline.x(slice.end) - x < 0.5;
            let run = if far(first) { 1 + after.partition_point(far) } else { 1 };
            let (run, after) = rest.split_at(run);
            if self.shape() {
                self.slices(run, x, y)?;
            }
            rest = after;
        }
        Ok(())
    }

    fn slices(&mut self, run: &[Slice], x: f64, y: f64) -> io::Result<()> {
        let (Some(first), Some(last)) = (run.first().copied(), run.last()) else { return Ok(()) };
        let width = (self.timeline.x(last.end) - x).max(0.5);
        let tooltip = match run.len() {
            1 => {
                let open = if first.is_open { "\nits end is missing" } else { "" };
                let at = length(first.begin.saturating_sub(self.timeline.view.0));
                let took = length(first.end - first.begin);
                format!(
                    "{}\nat {at}, took {took}{open}",
                    tooltip(self.timeline, first.label, first.arguments)
                )
            }
            number => format!("{number} durations, too short to draw"),
        };
        let catalog = &self.timeline.catalog;
        let name = match catalog.name(first.label) {
            "" => visible(catalog.category(first.label)),
            name => visible(name),
        };
        let hue = colours::hue_of(&name);
        self.hues.insert(hue);
        self.caption(&name, (x, y), width);
        let open = if first.is_open { " open" } else { "" };
        writeln!(
            self.output,
            "<g><title>{}</title><rect class=\"h{hue}{open}\" x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{}\"/></g>",
            escaped(&tooltip),
            LANE - 1.0,
        )
    }

    /// Adds the name of a slice, cut to its width.
    fn caption(&mut self, name: &str, (x, y): (f64, f64), width: f64) {
        let characters = ((width - 6.0) / CHARACTER).max(0.0) as usize;
        if characters < 3 {
            return;
        }
        let mut shown: String = name.chars().take(characters).collect();
        if shown.len() < name.len() {
            shown.pop();
            shown.push('…');
        }
        let (x, y) = (x + 3.0, y + 11.0);
        let _ = writeln!(
            self.names,
            "<text class=\"name\" x=\"{x:.2}\" y=\"{y}\">{}</text>",
            escaped(&shown)
        );
    }

    fn graphs(&mut self, row: &Row) -> io::Result<()> {
        let values =
            || row.series.iter().flat_map(|series| &series.samples).map(|(_, value)| *value);
        let most = values().fold(0.0, f64::max);
        let least = values().fold(0.0, f64::min);
        let bottom = self.y + GRAPH;
        for series in &row.series {
            let path = self.steps(series, (least, most));
            let name = escaped(&visible(self.timeline.catalog.string(series.name)));
            writeln!(
                self.output,
                "<g><title>{name}: {least} to {most}</title><path class=\"graph\" d=\"{path}H{:.1}V{bottom:.1}Z\"/></g>",
                WIDTH - 8.0
            )?;
        }
        Ok(())
    }

    /// Returns the steps of a series as a path.
    fn steps(&mut self, series: &Series, (least, most): (f64, f64)) -> String {
        let bottom = self.y + GRAPH;
        let (mut path, mut last) = (String::new(), f64::MIN);
        for (at, value) in &series.samples {
            let x = self.timeline.x(*at);
            // Steps within a pixel are invisible.
            if x - last < 0.5 || !self.shape() {
                continue;
            }
            last = x;
            let part = (value - least) / (most - least);
            let y = bottom - if part.is_finite() { part * (GRAPH - 4.0) } else { 0.0 };
            path += &match path.is_empty() {
                true => format!("M{x:.1} {bottom:.1}V{y:.1}"),
                false => format!("H{x:.1}V{y:.1}"),
            };
        }
        path
    }

    fn marks(&mut self, row: &Row, height: f64) -> io::Result<()> {
        let y = self.y;
        for point in &row.points {
            let is_seen = (self.timeline.view.0..=self.timeline.view.1).contains(&point.at);
            if is_seen && self.shape() {
                let x = self.timeline.x(point.at);
                let tooltip = escaped(&tooltip(self.timeline, point.label, point.arguments));
                writeln!(
                    self.output,
                    "<path class=\"point\" d=\"M{x:.1} {y}l-3 6h6z\"><title>{tooltip}</title></path>"
                )?;
            }
        }
        for loss in &row.losses {
            let x = self.timeline.x(loss.from);
            let width = (self.timeline.x(loss.to) - x).max(2.0);
            let reason = escaped(&visible(self.timeline.catalog.string(loss.reason)));
            writeln!(
                self.output,
                "<rect class=\"loss\" x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{height}\"><title>{} records lost: {reason}</title></rect>",
                loss.number
            )?;
        }
        Ok(())
    }

    fn notes(&mut self) -> io::Result<()> {
        let mut notes = self.timeline.notes.clone();
        let Drawn { rows_cut, shapes_left_out, arrows_left_out } = self.drawn;
        if rows_cut > 0 {
            notes.push(format!("{rows_cut} rows are not drawn, or not with all of their lanes"));
        }
        if shapes_left_out > 0 {
            notes.push(format!("{shapes_left_out} boxes and marks are not drawn"));
        }
        if arrows_left_out > 0 {
            notes.push(format!(
                "{arrows_left_out} arrows are not drawn, because they would hide the rest; a slice has fewer"
            ));
        }
        for note in notes {
            self.y += LANE;
            writeln!(
                self.output,
                "<text x=\"8\" y=\"{}\">{}</text>",
                self.y,
                escaped(&visible(&note))
            )?;
        }
        Ok(())
    }
}

/// Returns a length with a unit.
fn length(nanos: u64) -> String {
    match nanos {
        0..=9_999 => format!("{nanos} ns"),
        10_000..=9_999_999 => format!("{:.3} µs", nanos as f64 / 1e3),
        10_000_000..=9_999_999_999 => format!("{:.3} ms", nanos as f64 / 1e6),
        _ => format!("{:.3} s", nanos as f64 / 1e9),
    }
}
