//! A plot drawn by plotters.

use std::fmt::Write as _;
use std::sync::Once;

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::{DrawingArea, IntoDrawingArea as _};
use plotters::element::{Circle, EmptyElement, ErrorBar, PathElement, Rectangle, Text};
use plotters::prelude::{BitMapBackend, DrawingBackend, LineSeries, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color as _, FontStyle, IntoTextStyle as _, RGBColor, ShapeStyle, TextStyle, register_font,
};

use super::scale::{Scale, label, ticks};
use super::{Bar, COLORS, Color, Guide, Interval, Plot, Series, Shape, Theme, Values};
use crate::chart::palette::{Palette, Rgb};
use crate::chart::{png as pixels, text};
use crate::escape::{shortened, visible, xml};

/// Viewers of SVG have it by this name, and PNG has the embedded font.
const FAMILY: &str = "sans-serif";
const TITLE_SIZE: u32 = 17;
const SIZE: u32 = 12;
const LINE: u32 = 17;
const MARGIN: u32 = 12;
const TITLE_BOTTOM: u32 = MARGIN + TITLE_SIZE + 8;
const SWATCH: i32 = 11;
/// Columns of an entry of the legend.
const LEGEND_WIDTH: usize = 40;

/// Fills of [`Color::Number`], light and dark: each with a contrast of 3 to 1 against its
/// background, and apart for the color-blind in neighboring pairs.
const NUMBERED: [(Rgb, Rgb); COLORS] = [
    (Rgb(0x00, 0x5f, 0xa8), Rgb(0x6c, 0xb6, 0xff)),
    (Rgb(0xc4, 0x41, 0x00), Rgb(0xff, 0x9a, 0x62)),
    (Rgb(0x00, 0x7a, 0x5e), Rgb(0x4f, 0xd1, 0xa5)),
    (Rgb(0x8a, 0x4f, 0xbe), Rgb(0xc9, 0xa0, 0xf0)),
    (Rgb(0x8f, 0x60, 0x00), Rgb(0xe3, 0xb3, 0x41)),
    (Rgb(0xbf, 0x20, 0x70), Rgb(0xff, 0x85, 0xb6)),
    (Rgb(0x00, 0x72, 0x80), Rgb(0x4d, 0xd0, 0xe1)),
    (Rgb(0x6b, 0x4a, 0x3a), Rgb(0xd7, 0xb0, 0x9c)),
];
const OTHER: (Rgb, Rgb) = (Rgb(0x76, 0x7c, 0x85), Rgb(0x9a, 0xa2, 0xad));

/// The color that means this, in light and dark surroundings.
pub(super) fn pair(color: Color) -> (Rgb, Rgb) {
    match color {
        Color::Number(n) => NUMBERED[n % COLORS],
        Color::Other | Color::Idle => OTHER,
        Color::Running | Color::Better => NUMBERED[0],
        Color::Interrupt | Color::Worse => NUMBERED[1],
    }
}

struct Look {
    theme: Theme,
    palette: &'static Palette,
}

impl Look {
    fn of(theme: Theme) -> Self {
        static LIGHT: Palette = Palette::LIGHT;
        static DARK: Palette = Palette::DARK;
        let palette = if theme == Theme::Light { &LIGHT } else { &DARK };
        Self { theme, palette }
    }

    fn color(&self, color: Color) -> RGBColor {
        let (light, dark) = pair(color);
        rgb(if self.theme == Theme::Light { light } else { dark })
    }
}

fn words(size: u32, color: Rgb) -> TextStyle<'static> {
    (FAMILY, size).with_color(rgb(color)).into_text_style(&(0, 0))
}

fn rgb(Rgb(red, green, blue): Rgb) -> RGBColor {
    RGBColor(red, green, blue)
}

/// The plot as SVG. Without a theme it follows that of its viewer.
pub fn svg(plot: &Plot, size: (u32, u32), theme: Option<Theme>) -> Result<String, String> {
    let mut text = String::new();
    draw(SVGBackend::with_string(&mut text, size), plot, &Look::of(theme.unwrap_or(Theme::Light)))?;
    let Some(head) = text.find('>').map(|at| at + 1) else { return Ok(text) };
    let mut about = format!("\n<title>{}</title>\n", xml(&visible(&plot.title)));
    if theme.is_none() {
        let dark = dark("");
        let _ = write!(about, "<style>@media (prefers-color-scheme: dark) {{\n{dark}}}</style>\n");
    }
    text.insert_str(head, &about);
    Ok(text)
}

/// The plot as a part of a page whose style has [`style`].
pub fn inline(plot: &Plot, size: (u32, u32)) -> Result<String, String> {
    let text = svg(plot, size, Some(Theme::Light))?;
    Ok(text.replacen("<svg ", "<svg class=\"plot\" role=\"img\" ", 1))
}

/// What makes plots in a page follow its color scheme.
pub fn style() -> String {
    format!(
        "@media screen and (prefers-color-scheme: dark) {{\n{}}}\n@media screen {{\n{}}}\n",
        dark(":root:not([data-theme=light]) .plot "),
        dark(":root[data-theme=dark] .plot ")
    )
}

/// The dark colors in place of the light ones, within `scope`.
fn dark(scope: &str) -> String {
    let (light, dark) = (Palette::LIGHT, Palette::DARK);
    let plain = [
        (light.background, dark.background),
        (light.ink, dark.ink),
        (light.muted, dark.muted),
        (light.grid, dark.grid),
    ];
    let mut rules = String::new();
    for (light, dark) in plain.into_iter().chain(NUMBERED).chain([OTHER]) {
        let was = light.to_string().to_uppercase();
        let _ = writeln!(
            rules,
            "{scope}[fill=\"{was}\"] {{ fill: {dark} }} {scope}[stroke=\"{was}\"] {{ stroke: {dark} }}"
        );
    }
    rules
}

/// The plot as PNG. Fails, saying why, if it is too large for one.
pub fn png(plot: &Plot, size: (u32, u32), theme: Theme) -> Result<Vec<u8>, String> {
    let mut buffer = pixels::blank(size.0, size.1)?;
    draw(BitMapBackend::with_buffer(&mut buffer, size), plot, &Look::of(theme))?;
    Ok(pixels::encode(&buffer, size.0, size.1))
}

type Chart<'a, 'b, B> = ChartContext<'a, B, Cartesian2d<Scale<'b>, Scale<'b>>>;

fn draw<B: DrawingBackend>(backend: B, plot: &Plot, look: &Look) -> Result<(), String> {
    static FONT: Once = Once::new();
    FONT.call_once(|| {
        for style in [FontStyle::Normal, FontStyle::Bold] {
            let registered = register_font(FAMILY, style, pixels::FONT_FILE);
            assert!(registered.is_ok(), "the embedded font is a font");
        }
    });
    let root = backend.into_drawing_area();
    let ground = root.fill(&rgb(look.palette.background));
    let drawn = ground.and_then(|()| {
        let (width, height) = root.dim_in_pixel();
        let below = plot.caption.len() as u32 * LINE + 2 * MARGIN;
        let (upper, lower) = root.split_vertically(height.saturating_sub(below).max(1));
        caption(&lower, plot, look)?;
        let title = words(TITLE_SIZE, look.palette.ink);
        let title_width = (width.saturating_sub(2 * MARGIN) / (TITLE_SIZE / 2)) as usize;
        upper.draw(&Text::new(
            shortened(&visible(&plot.title), title_width).into_owned(),
            (MARGIN as i32, MARGIN as i32),
            title,
        ))?;
        let rows = legend(&upper, plot, look)?;
        let above = TITLE_BOTTOM + rows * LINE + MARGIN;
        let body = upper.margin(above, 0, MARGIN, 2 * MARGIN);
        body_of(&body, plot, look)
    });
    let finished = drawn.and_then(|()| root.present());
    finished.map_err(|error| format!("the plot cannot be drawn: {error}"))
}

type Drawn<B> =
    Result<(), plotters::drawing::DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

fn caption<B: DrawingBackend>(
    area: &DrawingArea<B, plotters::coord::Shift>,
    plot: &Plot,
    look: &Look,
) -> Drawn<B> {
    let style = words(SIZE, look.palette.muted);
    let width = (area.dim_in_pixel().0.saturating_sub(2 * MARGIN) / (SIZE / 2)) as usize;
    for (n, line) in plot.caption.iter().enumerate() {
        let line = shortened(&visible(line), width).into_owned();
        let at = (MARGIN as i32, (MARGIN + n as u32 * LINE) as i32);
        area.draw(&Text::new(line, at, style.clone()))?;
    }
    Ok(())
}

/// Names and colors of the series, in as many lines as they need: above the plot they cover nothing.
fn legend<B: DrawingBackend>(
    area: &DrawingArea<B, plotters::coord::Shift>,
    plot: &Plot,
    look: &Look,
) -> Result<u32, plotters::drawing::DrawingAreaErrorKind<B::ErrorType>> {
    let right = area.dim_in_pixel().0.saturating_sub(MARGIN) as i32;
    let (mut x, mut rows) = (MARGIN as i32, 0);
    for series in plot.series.iter().filter(|series| !series.name.is_empty()) {
        let name = shortened(&visible(&series.name), LEGEND_WIDTH).into_owned();
        let width = text::width(&name, SIZE) / crate::chart::timeline::PIXEL;
        let width = i32::try_from(width).unwrap_or(0) + SWATCH + 24;
        if rows == 0 || x + width > right {
            (x, rows) = (MARGIN as i32, rows + 1);
        }
        let top = (TITLE_BOTTOM + (rows - 1) * LINE) as i32;
        let corners = [(x, top + 2), (x + SWATCH, top + 2 + SWATCH)];
        area.draw(&Rectangle::new(corners, look.color(series.color).filled()))?;
        let at = (x + SWATCH + 6, top);
        area.draw(&Text::new(name, at, words(SIZE, look.palette.ink)))?;
        x += width;
    }
    Ok(rows)
}

fn body_of<B: DrawingBackend>(
    area: &DrawingArea<B, plotters::coord::Shift>,
    plot: &Plot,
    look: &Look,
) -> Drawn<B> {
    let (width, height) = area.dim_in_pixel();
    let (n_x, n_y) = (wanted(&plot.x.values, width, 110), wanted(&plot.y.values, height, 45));
    // As much space for labels as the widest takes.
    let widest = ticks(&plot.y, n_y)
        .into_iter()
        .map(|value| text::width(&label(value, &plot.y), SIZE) / crate::chart::timeline::PIXEL)
        .max();
    let left = u32::try_from(widest.unwrap_or(0)).unwrap_or(0).min(width / 2) + 34;
    let mut chart = ChartBuilder::on(area)
        .x_label_area_size(42)
        .y_label_area_size(left)
        .build_cartesian_2d(Scale::new(&plot.x), Scale::new(&plot.y))?;
    let ink = words(SIZE, look.palette.ink);
    chart
        .configure_mesh()
        .x_labels(n_x)
        .y_labels(n_y)
        .x_desc(&plot.x.label)
        .y_desc(&plot.y.label)
        .label_style(ink.clone())
        .axis_desc_style(ink.clone())
        .axis_style(rgb(look.palette.muted))
        .bold_line_style(rgb(look.palette.grid))
        .light_line_style(plotters::style::TRANSPARENT)
        .draw()?;
    for guide in &plot.guides {
        draw_guide(&mut chart, plot, guide, look)?;
    }
    for series in &plot.series {
        draw_series(&mut chart, series, look)?;
    }
    Ok(())
}

/// Ticks that fit: all names, else one every so many pixels.
fn wanted(values: &Values, length: u32, apart: u32) -> usize {
    match values {
        Values::Names(names) => names.len().min((length / LINE).max(1) as usize),
        _ => (length / apart).max(2) as usize,
    }
}

fn draw_guide<B: DrawingBackend>(
    chart: &mut Chart<'_, '_, B>,
    plot: &Plot,
    guide: &Guide,
    look: &Look,
) -> Drawn<B> {
    let (x, y) = (&plot.x, &plot.y);
    let corners = |at: f64| {
        if guide.upright { [(at, y.from), (at, y.to)] } else { [(x.from, at), (x.to, at)] }
    };
    let muted = rgb(look.palette.muted);
    let color = guide.color.map_or(muted, |color| look.color(color));
    if guide.to > guide.from {
        let [first, _] = corners(guide.from);
        let [_, last] = corners(guide.to);
        let band = Rectangle::new([first, last], color.mix(0.15).filled());
        chart.draw_series(std::iter::once(band))?;
    } else {
        let line = PathElement::new(corners(guide.from).to_vec(), color.stroke_width(1));
        chart.draw_series(std::iter::once(line))?;
    }
    if guide.label.is_empty() {
        return Ok(());
    }
    // Beside the line, to the left of it where the plot ends on the right.
    let [start, end] = corners(guide.from);
    let is_last = guide.upright && Scale::new(x).share(guide.from) > 0.92;
    let (anchor, shift) = if is_last { (HPos::Right, -3) } else { (HPos::Left, 3) };
    let style: TextStyle<'_> = (FAMILY, SIZE).with_color(color).into_text_style(&(0, 0));
    let style = style.pos(Pos::new(anchor, VPos::Top));
    let below = if guide.upright { 2 + (guide.row as u32 * LINE) as i32 } else { 2 };
    let words = Text::new(visible(&guide.label).into_owned(), (shift, below), style);
    let label = EmptyElement::at(if guide.upright { end } else { start }) + words;
    chart.draw_series(std::iter::once(label)).map(|_| ())
}

fn draw_series<B: DrawingBackend>(
    chart: &mut Chart<'_, '_, B>,
    series: &Series,
    look: &Look,
) -> Drawn<B> {
    let color = look.color(series.color);
    let filled: ShapeStyle = color.filled();
    let line = color.stroke_width(2);
    match &series.shape {
        Shape::Line(points) => chart.draw_series(LineSeries::new(points.iter().copied(), line))?,
        Shape::Dots(points) => {
            let radius = if points.len() > 2_000 { 1 } else { 3 };
            let dots = points.iter().map(|at| Circle::new(*at, radius, filled));
            chart.draw_series(dots)?
        }
        Shape::Bars(bars) => {
            let fill = color.mix(0.65).filled();
            let bar = |&Bar { from, to, base, top }: &Bar| {
                Rectangle::new([(from, base), (to, top)], fill)
            };
            chart.draw_series(bars.iter().map(bar))?
        }
        Shape::Across(intervals) => {
            let bar = |&Interval { at, low, middle, high }: &Interval| {
                ErrorBar::new_horizontal(at, low, middle, high, line, 8)
            };
            chart.draw_series(intervals.iter().map(bar))?;
            let dot = |i: &Interval| Circle::new((i.middle, i.at), 4, filled);
            chart.draw_series(intervals.iter().map(dot))?
        }
        Shape::Upright(intervals) => {
            let bar = |&Interval { at, low, middle, high }: &Interval| {
                ErrorBar::new_vertical(at, low, middle, high, line, 8)
            };
            chart.draw_series(intervals.iter().map(bar))?;
            let dot = |i: &Interval| Circle::new((i.at, i.middle), 4, filled);
            chart.draw_series(intervals.iter().map(dot))?
        }
    };
    Ok(())
}
