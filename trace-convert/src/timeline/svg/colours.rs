//! Colours of boxes, as on the page.

use std::collections::BTreeSet;
use std::fmt::Write;

/// Saturation and lightness of boxes, in light and in dark, as in `draw.js`.
const BOXES: [(f64, f64); 2] = [(0.62, 0.80), (0.38, 0.34)];

/// Returns the hue of a name on the page, in degrees.
pub(super) fn hue_of(name: &str) -> u16 {
    let step = |hash: u32, unit: u16| hash.wrapping_mul(31).wrapping_add(unit.into());
    let hash = name.encode_utf16().fold(7, step);
    (u64::from(hash) * 47 % 360) as u16
}

/// Returns the rules for boxes of these hues.
pub(super) fn rules(hues: &BTreeSet<u16>) -> String {
    let [light, dark] = BOXES.map(|shade| {
        hues.iter().fold(String::new(), |mut rules, hue| {
            let [red, green, blue] = rgb(*hue, shade);
            let _ = write!(rules, ".h{hue}{{fill:#{red:02x}{green:02x}{blue:02x}}}");
            rules
        })
    });
    format!("{light}@media(prefers-color-scheme:dark){{{dark}}}")
}

fn rgb(hue: u16, (saturation, lightness): (f64, f64)) -> [u8; 3] {
    let reach = saturation * f64::min(lightness, 1.0 - lightness);
    [0.0, 8.0, 4.0].map(|turn| {
        let place = (turn + f64::from(hue) / 30.0) % 12.0;
        let part = f64::min(place - 3.0, 9.0 - place).clamp(-1.0, 1.0);
        ((lightness - reach * part) * 255.0).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those of Chromium for the page's `hsl()`.
    #[test]
    fn hues_are_colours() {
        let table = [
            (0, [[236, 172, 172], [120, 54, 54]]),
            (120, [[172, 236, 172], [54, 120, 54]]),
            (210, [[172, 204, 236], [54, 87, 120]]),
        ];
        for (hue, colours) in table {
            assert_eq!(BOXES.map(|shade| rgb(hue, shade)), colours, "{hue}");
        }
    }
}
