//! Plots as SVG files that a README can show: light ground, units on the axes, a legend, logarithmic where values span
//! orders of magnitude.

use std::ops::Range;
use std::path::Path;

use anyhow::anyhow;
use plotters::prelude::*;

use super::ticks::ticks;
use crate::contender::Contender;

/// Pixels.
const SIZE: (u32, u32) = (760, 420);
const FONT: &str = "sans-serif";

/// One contender's line.
pub(crate) struct Line {
    pub contender: Contender,
    pub points: Vec<(f64, f64)>,
}

/// Axes of a plot of lines; both are logarithmic.
pub(crate) struct Axes<'a> {
    pub title: &'a str,
    pub x: &'a str,
    pub y: &'a str,
    /// The ticks of the y axis are round numbers of this.
    pub unit: f64,
    /// The label of a tick of the y axis.
    pub shown: fn(f64) -> String,
}

/// Colours that are told apart by people who see fewer of them, too (Okabe and Ito).
fn colour(contender: Contender) -> RGBColor {
    match contender {
        Contender::Informant => RGBColor(0xd5, 0x5e, 0x00),
        Contender::ClientGoProtobuf => RGBColor(0x00, 0x72, 0xb2),
        Contender::ClientGoJson => RGBColor(0x56, 0xb4, 0xe9),
        Contender::KubeRs => RGBColor(0x00, 0x9e, 0x73),
        Contender::KubeRsPages => RGBColor(0xcc, 0x79, 0xa7),
        Contender::Process => RGBColor(0x7f, 0x7f, 0x7f),
    }
}

/// Writes a plot of lines; nothing where there is nothing to show.
pub(crate) fn lines(path: &Path, axes: &Axes<'_>, lines: &[Line]) -> anyhow::Result<()> {
    let values = lines.iter().flat_map(|line| line.points.iter().copied());
    let (xs, ys): (Vec<f64>, Vec<f64>) = values.filter(|(x, y)| *x > 0.0 && *y > 0.0).unzip();
    let (Some(xs), Some(ys)) = (span(&xs), span(&ys)) else { return Ok(()) };
    let (x_ticks, y_ticks) = (ticks(&xs, 1.0), ticks(&ys, axes.unit));
    let corner = emptiest_corner(lines, &xs, &ys);
    let (xs, ys) =
        (xs.log_scale().with_key_points(x_ticks), ys.log_scale().with_key_points(y_ticks));
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(failed)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(axes.title, (FONT, 18))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(78)
        .build_cartesian_2d(xs, ys)
        .map_err(failed)?;
    chart
        .configure_mesh()
        .x_desc(axes.x)
        .y_desc(axes.y)
        .label_style((FONT, 13))
        .bold_line_style(BLACK.mix(0.12))
        .x_label_formatter(&|x| grouped(*x))
        .y_label_formatter(&|y| (axes.shown)(*y))
        .draw()
        .map_err(failed)?;
    for line in lines {
        let colour = colour(line.contender);
        let style = colour.stroke_width(if line.contender == Contender::Informant { 3 } else { 2 });
        chart
            .draw_series(LineSeries::new(line.points.iter().copied(), style).point_size(3))
            .map_err(failed)?
            .label(line.contender.title())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
    }
    chart
        .configure_series_labels()
        .position(corner)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.2))
        .label_font((FONT, 13))
        .draw()
        .map_err(failed)?;
    root.present().map_err(failed)
}

/// The corner in which the names of the lines cover least of them.
fn emptiest_corner(lines: &[Line], xs: &Range<f64>, ys: &Range<f64>) -> SeriesLabelPosition {
    let share = |value: f64, of: &Range<f64>| (value / of.start).ln() / (of.end / of.start).ln();
    let place = |(x, y): (f64, f64)| (share(x, xs), share(y, ys));
    let between = |ends: &[(f64, f64)]| {
        let (from, to) = (place(ends[0]), place(ends[1]));
        let at = move |step: u8| {
            let part = f64::from(step) / f64::from(STEPS);
            (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part)
        };
        (0..=STEPS).map(at)
    };
    let places: Vec<(f64, f64)> =
        lines.iter().flat_map(|line| line.points.windows(2).flat_map(between)).collect();
    let covered = |right: bool, upper: bool| {
        let from = |at: f64, is_far: bool| if is_far { 1.0 - at } else { at };
        let is_covered =
            |(x, y): &&(f64, f64)| from(*x, right) < NAMES.0 && from(*y, upper) < NAMES.1;
        places.iter().filter(is_covered).count()
    };
    let mut corners = [
        (SeriesLabelPosition::UpperLeft, covered(false, true)),
        (SeriesLabelPosition::UpperRight, covered(true, true)),
        (SeriesLabelPosition::LowerRight, covered(true, false)),
        (SeriesLabelPosition::LowerLeft, covered(false, false)),
    ];
    corners.sort_by_key(|(_, covered)| *covered);
    let [(emptiest, _), ..] = corners;
    emptiest
}

/// One horizontal bar.
pub(crate) struct Bar {
    pub label: String,
    pub colour: RGBAColor,
    pub value: f64,
}

impl Bar {
    /// A contender's, in its colour; paler where it is not the first of several.
    pub fn of(contender: Contender, what: &str, place: usize, value: f64) -> Self {
        let strength = 1.0 / (1.0 + place as f64 * 0.7);
        let label = match what {
            "" => contender.title().to_owned(),
            what => format!("{}, {what}", contender.title()),
        };
        Self { label, colour: colour(contender).mix(strength), value }
    }

    /// The host's own.
    pub fn own(label: &str, place: usize, value: f64) -> Self {
        let bar = Self::of(Contender::Informant, "", place, value);
        Self { label: label.to_owned(), ..bar }
    }
}

/// The part of a plot's width and height that the names of its lines take, about.
const NAMES: (f64, f64) = (0.28, 0.34);
/// Places between two points that are looked at.
const STEPS: u8 = 20;

/// Pixels of a letter of a label, about.
const LETTER: f64 = 7.2;

/// Writes horizontal bars with their values beside them.
pub(crate) fn bars(
    path: &Path,
    title: &str,
    values: &[Bar],
    shown: fn(f64) -> String,
) -> anyhow::Result<()> {
    let Some(most) = values.iter().map(|bar| bar.value).max_by(f64::total_cmp) else {
        return Ok(());
    };
    let height = 64 + 34 * values.len() as u32;
    let longest = values.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0);
    let root = SVGBackend::new(path, (SIZE.0, height)).into_drawing_area();
    root.fill(&WHITE).map_err(failed)?;
    let rows = 0.0..values.len() as f64;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, (FONT, 18))
        .margin(10)
        .margin_left((longest as f64 * LETTER) as u32 + 24)
        .margin_right(90)
        .build_cartesian_2d(0.0..most.max(f64::MIN_POSITIVE), rows)
        .map_err(failed)?;
    chart.draw_series(rectangles(values)).map_err(failed)?;
    let place = |row: usize, value: f64| {
        chart.backend_coord(&(value, values.len() as f64 - 0.5 - row as f64))
    };
    for (row, bar) in values.iter().enumerate() {
        let (right, middle) = place(row, bar.value.max(0.0));
        let (left, _) = place(row, 0.0);
        let style = (FONT, 14).into_font().color(&BLACK);
        let name = style.pos(text_position(plotters::style::text_anchor::HPos::Right));
        let value_style = style.pos(text_position(plotters::style::text_anchor::HPos::Left));
        root.draw_text(&bar.label, &name, (left - 8, middle)).map_err(failed)?;
        root.draw_text(&shown(bar.value), &value_style, (right + 6, middle)).map_err(failed)?;
    }
    root.present().map_err(failed)
}

fn rectangles(values: &[Bar]) -> impl Iterator<Item = Rectangle<(f64, f64)>> + use<'_> {
    let rows = values.len() as f64;
    values.iter().enumerate().map(move |(row, bar)| {
        let middle = rows - 0.5 - row as f64;
        let corners = [(0.0, middle - 0.36), (bar.value.max(0.0), middle + 0.36)];
        Rectangle::new(corners, bar.colour.filled())
    })
}

/// Writes the maximum latency over the seconds of a run.
pub(crate) fn gap(
    path: &Path,
    title: &str,
    points: &[(f64, f64)],
    shown: fn(f64) -> String,
) -> anyhow::Result<()> {
    let (times, waits): (Vec<f64>, Vec<f64>) =
        points.iter().copied().filter(|(_, wait)| *wait > 0.0).unzip();
    let (Some(last), Some(waits)) = (times.iter().copied().reduce(f64::max), span(&waits)) else {
        return Ok(());
    };
    let wait_ticks = ticks(&waits, 1.0);
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(failed)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, (FONT, 18))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(78)
        .build_cartesian_2d(0.0..last, waits.log_scale().with_key_points(wait_ticks))
        .map_err(failed)?;
    chart
        .configure_mesh()
        .x_desc("seconds")
        .y_desc("maximum latency")
        .label_style((FONT, 13))
        .light_line_style(WHITE)
        .bold_line_style(BLACK.mix(0.12))
        .x_label_formatter(&|seconds| format!("{seconds:.1}"))
        .y_label_formatter(&|wait| shown(*wait))
        .draw()
        .map_err(failed)?;
    let style = colour(Contender::Informant).stroke_width(2);
    let points = points.iter().copied().filter(|(_, wait)| *wait > 0.0);
    chart.draw_series(LineSeries::new(points, style)).map_err(failed)?;
    root.present().map_err(failed)
}

fn text_position(
    horizontal: plotters::style::text_anchor::HPos,
) -> plotters::style::text_anchor::Pos {
    use plotters::style::text_anchor::{Pos, VPos};
    Pos::new(horizontal, VPos::Center)
}

/// From somewhat below the least to somewhat above the most.
fn span(values: &[f64]) -> Option<Range<f64>> {
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    let most = values.iter().copied().max_by(f64::total_cmp)?;
    Some(least / 1.4..most * 1.8)
}

/// `20,000`
pub(super) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("a plot cannot be drawn: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_corner(points: &[(f64, f64)], is_expected: fn(&SeriesLabelPosition) -> bool) {
        let lines = [Line { contender: Contender::Informant, points: points.to_vec() }];
        let corner = emptiest_corner(&lines, &(1.0..1000.0), &(1.0..1000.0));
        assert!(is_expected(&corner), "{points:?}");
    }

    #[test]
    fn names_cover_no_line_where_a_corner_is_empty() {
        let (low, high) = (1.5, 900.0);
        check_corner(&[(low, low), (high, high)], |it| {
            matches!(it, SeriesLabelPosition::UpperLeft)
        });
        check_corner(&[(low, high), (high, low)], |it| {
            matches!(it, SeriesLabelPosition::UpperRight)
        });
        check_corner(&[(low, high), (high, high)], |it| {
            matches!(it, SeriesLabelPosition::LowerRight)
        });
        check_corner(&[(low, high), (high, high), (high, low)], |it| {
            matches!(it, SeriesLabelPosition::LowerLeft)
        });
    }

    #[test]
    fn thousands_are_grouped() {
        let check = |number: f64, expect: &str| assert_eq!(grouped(number), expect);
        check(100.0, "100");
        check(1_000.0, "1,000");
        check(1_234_567.0, "1,234,567");
    }

    #[test]
    fn bars_and_gaps_say_what_they_show() {
        let directory = tempfile::tempdir().expect("a directory");
        let read = |name: &str| {
            std::fs::read_to_string(directory.path().join(name)).expect("it was written")
        };
        let shown = |value: f64| format!("{value} MiB");
        let bars = [
            Bar::of(Contender::KubeRs, "first list", 0, 4.5),
            // What is left of something may be less than nothing.
            Bar::own("in C", 1, -0.5),
        ];
        super::bars(&directory.path().join("bars.svg"), "Peaks", &bars, shown).expect("bars");
        let text = read("bars.svg");
        for word in ["Peaks", "kube-rs, first list", "in C", "4.5 MiB", "-0.5 MiB"] {
            assert!(text.contains(word), "{word} in {text}");
        }
        let points = [(0.5, 1e-4), (1.0, 2e-3), (1.5, 0.0)];
        gap(&directory.path().join("gap.svg"), "Reload", &points, shown).expect("a gap");
        assert!(read("gap.svg").contains("Reload"));
    }

    #[test]
    fn plot_has_title_and_legend() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("plot.svg");
        let line = Line { contender: Contender::KubeRs, points: vec![(1e3, 2e6), (1e5, 3e8)] };
        let shown = |value: f64| format!("{value}");
        let axes = Axes { title: "Memory", x: "pods", y: "bytes", unit: 1.0, shown };
        lines(&file, &axes, &[line]).expect("it can be drawn");
        let text = std::fs::read_to_string(&file).expect("it was written");
        assert!(text.contains("Memory") && text.contains("kube-rs"), "{text}");
    }
}
