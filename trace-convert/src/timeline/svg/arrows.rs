//! Arrows of flows.

use std::io::{self, Write};

use super::{Picture, LANE, LEFT, WIDTH};
use crate::timeline::encode::tooltip;
use crate::timeline::flows::{Arrow, Tip};
use crate::timeline::html::escaped;

/// The maximum number of arrows: one for each four pixels, as on the page.
const MOST: usize = (WIDTH - LEFT) as usize / 4;

impl<W: Write> Picture<'_, W> {
    /// Draws all arrows, or none if there are too many.
    pub(super) fn arrows(&mut self) -> io::Result<()> {
        let timeline = self.timeline;
        let places = || timeline.arrows.iter().filter_map(|arrow| Some((arrow, self.ends(arrow)?)));
        let number = places().count();
        if number > MOST {
            self.drawn.arrows_left_out = number as u64;
            return Ok(());
        }
        let places: Vec<_> = places().collect();
        for (arrow, [(x, y), (to_x, to_y)]) in places {
            let tooltip = escaped(&tooltip(timeline, arrow.label, 0));
            writeln!(
                self.output,
                "<path class=\"arrow\" d=\"M{x:.1} {y}C{:.1} {y} {:.1} {to_y} {to_x:.1} {to_y}\"><title>{tooltip}, flow {:#x}</title></path>",
                x + 20.0, to_x - 20.0, arrow.id
            )?;
        }
        Ok(())
    }

    /// Returns the coordinates of an arrow's tips, unless they are the same.
    fn ends(&self, arrow: &Arrow) -> Option<[(f64, f64); 2]> {
        let at = |tip: &Tip| {
            let (y, lanes) = self.places.get(tip.row as usize)?;
            let lane = (tip.lane as usize).min(lanes.saturating_sub(1)) as f64;
            Some((self.timeline.x(tip.at), y + lane * LANE + LANE / 2.0))
        };
        let ends @ [(x, y), (to_x, to_y)] = [at(&arrow.from)?, at(&arrow.to)?];
        ((to_x - x).abs() >= 2.0 || (to_y - y).abs() >= 2.0).then_some(ends)
    }
}
