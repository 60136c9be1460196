//! Pictures as PNG: the light theme, drawn in memory with an embedded font.
//!
//! Neither a display nor a font of the system is needed, and the same picture gives the same bytes
//! everywhere.

use ab_glyph::{Font as _, FontRef, ScaleFont as _, point};
use plotters::backend::{BitMapBackend, DrawingBackend as _};
use plotters::style::{Color as _, RGBAColor, RGBColor};

use super::palette::{Paint, Palette, Rgb};
use super::picture::{
    ABOUT_BASE, Area, BAR, Drawn, Edge, Entry, FONT, LINE, MARGIN, PADDING, Picture, SWATCH,
    SWATCH_GAP, Sign, StateLook, TITLE_BASE, TITLE_FONT, UprightKind,
};
use super::text;
use super::timeline::PIXEL;

/// A font with Latin, Greek and Cyrillic letters; other characters are boxes.
pub(crate) static FONT_FILE: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");
/// Three bytes each are held in memory: 300 MB.
const PIXELS_MAX: u64 = 100_000_000;
const HATCH_EVERY: i32 = 5;
const HATCH_OPACITY: f64 = 0.3;
const VEIL_OPACITY: f64 = 0.6;
/// How much paler boxes are under a veil.
const VEIL_OVER_BOXES: f64 = 0.3;
const PALETTE: Palette = Palette::LIGHT;

/// The picture as a file. Fails, saying why, if it is too large for one.
pub fn write(picture: &Picture) -> Result<Vec<u8>, String> {
    let (width, height) = (picture.width.max(1), picture.height.max(1));
    let mut pixels = blank(width, height)?;
    let backend = BitMapBackend::with_buffer(&mut pixels, (width, height));
    let font = FontRef::try_from_slice(FONT_FILE).expect("the embedded font is a font");
    Canvas { backend, font, width, height }.picture(picture);
    Ok(encode(&pixels, width, height))
}

/// Black pixels, three bytes each. Fails, saying why, if they are too many.
pub(crate) fn blank(width: u32, height: u32) -> Result<Vec<u8>, String> {
    if u64::from(width) * u64::from(height) > PIXELS_MAX {
        return Err(format!(
            "a picture of {width} by {height} pixels, expected at most {PIXELS_MAX} in all: make \
             it narrower, take fewer levels or fewer threads, or write SVG"
        ));
    }
    Ok(vec![0; 3 * width as usize * height as usize])
}

/// The pixels as a file.
pub(crate) fn encode(pixels: &[u8], width: u32, height: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(pixels));
    written.expect("memory takes what is written to it");
    file
}

struct Canvas<'a> {
    backend: BitMapBackend<'a>,
    font: FontRef<'static>,
    width: u32,
    height: u32,
}

/// Where the words of a line are from its place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas<'_> {
    fn picture(&mut self, picture: &Picture) {
        self.fill(0, 0, self.width, self.height, PALETTE.background);
        let room = u64::from(self.width.saturating_sub(2 * MARGIN)) * PIXEL;
        self.line_of_text(MARGIN, TITLE_BASE, &picture.title, room, TITLE_FONT, PALETTE.ink);
        self.line_of_text(MARGIN, ABOUT_BASE, &picture.about, room, FONT, PALETTE.muted);
        for entry in &picture.legend {
            self.entry(entry);
        }
        let plot = picture.plot;
        for band in &picture.bands {
            self.fill(plot.left, band.y, plot.width, band.height, PALETTE.lane);
            let room = u64::from(plot.left.saturating_sub(MARGIN + 6)) * PIXEL;
            for (n, (words, ink)) in
                [(&band.label, PALETTE.ink), (&band.detail, PALETTE.muted)].into_iter().enumerate()
            {
                if let Some(words) = words {
                    let y = band.y + 13 + n as u32 * (LINE - 2);
                    self.line_of_text(MARGIN, y, words, room, FONT, ink);
                }
            }
        }
        self.axis(picture);
        for veil in &picture.veils {
            let (x0, x1) = (whole(veil.x0), whole(veil.x1));
            self.stripes((x0, x1), (veil.y, veil.height), plot, PALETTE.off_cpu, true);
        }
        for state in &picture.states {
            let narrowest = state.x1.max(state.x0 + PIXEL);
            self.state(plot.left, (state.x0, narrowest), (state.y, state.height), state.look);
        }
        for drawn in &picture.boxes {
            self.drawn(drawn, plot);
        }
        for veil in &picture.veils {
            let wash = color(PALETTE.background).mix(VEIL_OVER_BOXES);
            for x in plot.left + whole(veil.x0)..plot.left + whole(veil.x1) {
                self.column(x as i32, veil.y, veil.height, wash);
            }
        }
        for upright in &picture.uprights {
            let x = (plot.left + whole(upright.x)).min(plot.left + plot.width.saturating_sub(1));
            self.upright(x, upright.y, upright.height, upright.kind);
        }
        let within = |x: u64| (plot.left + whole(x)).min(plot.left + plot.width.saturating_sub(1));
        for arrow in &picture.arrows {
            self.arrow(within(arrow.x), arrow.y0, arrow.y1);
        }
        for line in &picture.path {
            let corners: Vec<(i32, i32)> = line
                .points
                .iter()
                .map(|&(x, y)| ((plot.left + whole(x)) as i32, y as i32))
                .collect();
            for pair in corners.windows(2) {
                if line.waits {
                    self.broken(pair[0], pair[1]);
                } else {
                    self.thick(pair[0], pair[1]);
                }
            }
        }
        for (n, note) in picture.notes.iter().enumerate() {
            let y = picture.note_base(n);
            self.line_of_text(MARGIN, y, note, room, FONT, PALETTE.muted);
        }
    }

    fn axis(&mut self, picture: &Picture) {
        let plot = picture.plot;
        for tick in &picture.ticks {
            let x = plot.left + whole(tick.x).min(plot.width.saturating_sub(1));
            self.fill(x, plot.top - 4, 1, plot.height + 4, PALETTE.grid);
            let half = text::width(&tick.label, FONT) / 2;
            let anchor = match tick.x {
                at if at < half => Anchor::Start,
                at if at + half > u64::from(plot.width) * PIXEL => Anchor::End,
                _ => Anchor::Middle,
            };
            self.text(f64::from(x), plot.top - 8, &tick.label, FONT, PALETTE.muted, anchor);
        }
    }

    fn entry(&mut self, Entry { x, y, sign, words }: &Entry) {
        let top = y - SWATCH + 1;
        let swatch = |canvas: &mut Self, paint: Paint| {
            canvas.fill(*x, top, SWATCH, SWATCH, PALETTE.fill(paint));
        };
        let area = Area { left: *x, top, width: SWATCH, height: SWATCH };
        match *sign {
            Sign::Fill(paint) => swatch(self, paint),
            Sign::Hatched(paint) => {
                swatch(self, paint);
                self.stripes((0, SWATCH), (top, SWATCH), area, PALETTE.hatch, false);
            }
            Sign::Edged(paint, edge) => {
                swatch(self, paint);
                self.edge((*x, top), (SWATCH, SWATCH), edge);
            }
            Sign::Before => self.fill(*x, y - SWATCH / 2, SWATCH, BAR, PALETTE.muted),
            Sign::After => {
                self.fill(*x, y - SWATCH / 2, SWATCH, BAR, PALETTE.fill(Paint::Change(3)));
            }
            Sign::Veil => {
                self.fill(*x, top, SWATCH, SWATCH, PALETTE.lane);
                self.stripes((0, SWATCH), (top, SWATCH), area, PALETTE.off_cpu, true);
            }
            Sign::Gap => self.upright(x + SWATCH / 2, top, SWATCH, UprightKind::Gap),
            Sign::Mark => self.upright(x + SWATCH / 2, top, SWATCH, UprightKind::Mark),
            Sign::State(look) => {
                self.fill(*x, top, SWATCH, SWATCH, PALETTE.lane);
                let width = u64::from(SWATCH) * PIXEL;
                self.state(*x, (0, width), (top, SWATCH), look);
            }
            Sign::Arrow => self.arrow(x + SWATCH / 2, top, top + SWATCH),
            Sign::Path => {
                let (x, y) = (*x as i32, *y as i32 - 4);
                self.thick((x, y), (x + SWATCH as i32, y));
            }
        }
        self.text(
            f64::from(x + SWATCH + SWATCH_GAP),
            *y,
            words,
            FONT,
            PALETTE.muted,
            Anchor::Start,
        );
    }

    fn drawn(&mut self, drawn: &Drawn, plot: Area) {
        let gap = if drawn.x1 - drawn.x0 > 2 * PIXEL { PIXEL / 2 } else { 0 };
        let (x0, x1) = (drawn.x0, drawn.x1 - gap);
        let fill = PALETTE.fill(drawn.paint);
        self.smooth(plot.left, (x0, x1), (drawn.y, drawn.height), fill);
        if drawn.hatched {
            let places = (whole(x0), whole(x1));
            self.stripes(places, (drawn.y, drawn.height), plot, PALETTE.hatch, false);
        }
        let width = whole(x1).saturating_sub(whole(x0));
        self.edge((plot.left + whole(x0), drawn.y), (width, drawn.height), drawn.edge);
        if let Some(bars) = drawn.bars {
            let below = drawn.y + drawn.height + 1;
            let after = PALETTE.fill(bars.paint);
            self.smooth(plot.left, (x0, x0 + bars.before), (below, BAR), PALETTE.muted);
            self.smooth(plot.left, (x0, x0 + bars.after), (below + BAR, BAR), after);
        }
        if let Some(label) = Picture::fitted(drawn) {
            let x = f64::from(plot.left) + (x0 + PADDING) as f64 / PIXEL as f64;
            let y = drawn.y + drawn.height - 5;
            self.text(x, y, &label, FONT, PALETTE.ink, Anchor::Start);
        }
    }

    /// A box whose left and right edges lie within pixels.
    fn smooth(&mut self, left: u32, (x0, x1): (u64, u64), (y, height): (u32, u32), fill: Rgb) {
        let color = color(fill);
        for x in x0 / PIXEL..x1.div_ceil(PIXEL) {
            let covered = x1.min((x + 1) * PIXEL) - x0.max(x * PIXEL);
            if covered == PIXEL {
                let inner = (x1 / PIXEL - x) as u32;
                self.fill(left + x as u32, y, inner, height, fill);
                let rest = x1 % PIXEL;
                if rest > 0 {
                    let alpha = rest as f64 / PIXEL as f64;
                    self.column((left + x as u32 + inner) as i32, y, height, color.mix(alpha));
                }
                return;
            }
            let alpha = covered as f64 / PIXEL as f64;
            self.column((left + x as u32) as i32, y, height, color.mix(alpha));
        }
    }

    /// A state of a thread: solid if it ran, else dots and stripes.
    fn state(&mut self, left: u32, (x0, x1): (u64, u64), (y, height): (u32, u32), look: StateLook) {
        let (ink, is_drawn): (Rgb, fn(i32, i32) -> bool) = match look {
            StateLook::Running => return self.smooth(left, (x0, x1), (y, height), PALETTE.running),
            StateLook::Runnable => (PALETTE.runnable, |x, y| (x + y).rem_euclid(4) < 2),
            StateLook::Sleeping => (PALETTE.muted, |x, y| (x - y).rem_euclid(6) < 1),
            StateLook::Uninterruptible => (PALETTE.gap, |x, y| (x - y).rem_euclid(5) < 2),
            StateLook::Unknown => {
                (PALETTE.muted, |x, y| x.rem_euclid(6) < 2 && y.rem_euclid(6) < 2)
            }
            StateLook::Mixed => (PALETTE.running, |x, _| x.rem_euclid(2) == 0),
        };
        let color = color(ink).to_rgba();
        for x in left + whole(x0)..(left + whole(x1)).max(left + whole(x0) + 1) {
            for y in y..y + height {
                let (x, y) = (x as i32, y as i32);
                if is_drawn(x, y) {
                    self.dot(x, y, color);
                }
            }
        }
    }

    /// A waking: a thin line with a head.
    fn arrow(&mut self, x: u32, y0: u32, y1: u32) {
        let ink = color(PALETTE.ink);
        self.column(x as i32, y0.min(y1), y0.abs_diff(y1), ink.mix(0.55));
        let away = if y0 < y1 { -1 } else { 1 };
        for n in 0..5_i32 {
            for dx in -n / 2..=n / 2 {
                self.dot(x as i32 + dx, y1 as i32 + away * n, ink.mix(0.8));
            }
        }
    }

    /// A line of the critical path along which no thread runs.
    fn broken(&mut self, (x0, y0): (i32, i32), (x1, y1): (i32, i32)) {
        let ink = color(PALETTE.path).to_rgba();
        for y in y0.min(y1)..=y0.max(y1) {
            if y.rem_euclid(6) < 3 {
                self.dot(x0, y, ink);
                self.dot(x0 + 1, y, ink);
            }
        }
        for x in x0.min(x1)..x0.max(x1) {
            if x.rem_euclid(6) < 3 {
                self.dot(x, y1, ink);
                self.dot(x, y1 + 1, ink);
            }
        }
    }

    fn column(&mut self, x: i32, y: u32, height: u32, color: RGBAColor) {
        for y in y..y + height {
            self.dot(x, y as i32, color);
        }
    }

    fn fill(&mut self, x: u32, y: u32, width: u32, height: u32, fill: Rgb) {
        if width == 0 || height == 0 {
            return;
        }
        // The lower right corner of what is filled is outside of it.
        let corners = ((x as i32, y as i32), ((x + width) as i32, (y + height) as i32));
        let drawn = self.backend.draw_rect(corners.0, corners.1, &color(fill), true);
        drawn.expect("memory takes what is drawn in it");
    }

    fn dot(&mut self, x: i32, y: i32, color: RGBAColor) {
        if (0..self.width as i32).contains(&x) && (0..self.height as i32).contains(&y) {
            let drawn = self.backend.draw_pixel((x, y), color.to_backend_color());
            drawn.expect("memory takes what is drawn in it");
        }
    }

    /// Slanted lines over part of an area; broad ones for a veil.
    fn stripes(
        &mut self,
        (x0, x1): (u32, u32),
        (y, height): (u32, u32),
        area: Area,
        ink: Rgb,
        broad: bool,
    ) {
        let (every, thickness, alpha) =
            if broad { (HATCH_EVERY, 2, VEIL_OPACITY) } else { (HATCH_EVERY, 1, HATCH_OPACITY) };
        let color = color(ink).mix(alpha);
        for x in area.left + x0..area.left + x1 {
            for y in y..y + height {
                let (x, y) = (x as i32, y as i32);
                let slanted = if broad { x - y } else { x + y };
                if slanted.rem_euclid(every) < thickness {
                    self.dot(x, y, color);
                }
            }
        }
    }

    fn edge(&mut self, (x, y): (u32, u32), (width, height): (u32, u32), edge: Edge) {
        let is_drawn = |n: u32| match edge {
            Edge::Plain => false,
            Edge::Solid => true,
            Edge::Dashed => n % 7 < 4,
        };
        if edge == Edge::Plain || width == 0 || height == 0 {
            return;
        }
        let ink = color(PALETTE.hatch).to_rgba();
        for n in 0..width {
            if is_drawn(n) {
                self.dot((x + n) as i32, y as i32, ink);
                self.dot((x + n) as i32, (y + height - 1) as i32, ink);
            }
        }
        for n in 0..height {
            if is_drawn(n) {
                self.dot(x as i32, (y + n) as i32, ink);
                self.dot((x + width - 1) as i32, (y + n) as i32, ink);
            }
        }
    }

    fn upright(&mut self, x: u32, y: u32, height: u32, kind: UprightKind) {
        let ink = match kind {
            UprightKind::Gap => PALETTE.gap,
            UprightKind::Mark => PALETTE.muted,
        };
        for n in (0..height).filter(|n| kind == UprightKind::Mark || n % 5 < 3) {
            self.dot(x as i32, (y + n) as i32, color(ink).to_rgba());
        }
    }

    /// A line of the critical path: level or upright, two pixels thick.
    fn thick(&mut self, (x0, y0): (i32, i32), (x1, y1): (i32, i32)) {
        let (left, right) = (x0.min(x1), x0.max(x1) + 2);
        let (top, bottom) = (y0.min(y1), y0.max(y1) + 2);
        if y0 == y1 {
            self.fill(left as u32, top as u32, (right - left) as u32, 2, PALETTE.path);
        } else {
            // Steps meet at corners: down or up first, then along.
            self.fill(x0.max(0) as u32, top as u32, 2, (bottom - top) as u32, PALETTE.path);
            self.fill(left as u32, y1.max(0) as u32, (right - left) as u32, 2, PALETTE.path);
        }
    }

    fn line_of_text(&mut self, x: u32, y: u32, words: &str, room: u64, size: u32, ink: Rgb) {
        if let Some(words) = text::cut(words, room, size) {
            self.text(f64::from(x), y, &words, size, ink, Anchor::Start);
        }
    }

    /// Words whose baseline is at `y`.
    fn text(&mut self, x: f64, y: u32, words: &str, size: u32, ink: Rgb, anchor: Anchor) {
        let scale = self.font.pt_to_px_scale(size as f32 * POINTS_PER_PIXEL).expect("it has units");
        let font = self.font.as_scaled(scale);
        let advances: Vec<f32> = words.chars().map(|c| font.h_advance(font.glyph_id(c))).collect();
        let length: f32 = advances.iter().sum();
        let mut at = x as f32
            - match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => length / 2.0,
                Anchor::End => length,
            };
        let mut dots = Vec::new();
        for (character, advance) in words.chars().zip(advances) {
            let glyph = font.glyph_id(character);
            let glyph = glyph.with_scale_and_position(scale, point(at, y as f32));
            if let Some(outline) = self.font.outline_glyph(glyph) {
                let corner = outline.px_bounds().min;
                outline.draw(|dx, dy, alpha| {
                    let place = (corner.x as i32 + dx as i32, corner.y as i32 + dy as i32);
                    dots.push((place, f64::from(alpha.min(1.0))));
                });
            }
            at += advance;
        }
        for ((x, y), alpha) in dots {
            self.dot(x, y, color(ink).mix(alpha));
        }
    }
}

/// The font counts 72 points an inch and takes a screen to have 96 pixels an inch.
const POINTS_PER_PIXEL: f32 = 0.75;

fn whole(place: u64) -> u32 {
    u32::try_from(place / PIXEL).unwrap_or(u32::MAX)
}

fn color(Rgb(r, g, b): Rgb) -> RGBColor {
    RGBColor(r, g, b)
}

#[cfg(test)]
mod tests {
    use profctl_model::Trace;

    use super::*;
    use crate::chart::lanes::Lanes;
    use crate::chart::picture::{ChartOptions, chart};
    use crate::chart::testing::trace;
    use crate::number::TimeUnit;

    fn picture(trace: &Trace, upward: bool) -> Picture {
        let options = ChartOptions {
            title: "chart".into(),
            width: 400,
            levels: 8,
            narrowest: PIXEL,
            budget: 1000,
            unit: TimeUnit::Auto,
            upward,
            notes: Vec::new(),
        };
        chart(trace, &Lanes::of(trace), &[], &options)
    }

    /// The size of a file and its pixels.
    fn decoded(file: &[u8]) -> (u32, u32, Vec<u8>) {
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        (info.width, info.height, pixels)
    }

    #[test]
    fn calls_are_where_the_layout_put_them() {
        let trace = trace("0 sys_f( 50 g( 100 ) 100 )");
        for upward in [false, true] {
            let picture = picture(&trace, upward);
            let file = write(&picture).unwrap();
            assert_eq!(file, write(&picture).unwrap(), "the same bytes every time");
            let (width, height, pixels) = decoded(&file);
            assert_eq!((width, height), (picture.width, picture.height));
            let at = |x: u32, y: u32| {
                let place = 3 * (y * width + x) as usize;
                Rgb(pixels[place], pixels[place + 1], pixels[place + 2])
            };
            assert_eq!(at(0, 0), PALETTE.background);
            assert_eq!(at(width - 1, height - 1), PALETTE.background);
            assert_eq!(picture.boxes.len(), 2);
            for drawn in &picture.boxes {
                let fill = PALETTE.fill(drawn.paint);
                let (left, right) = (whole(drawn.x0), whole(drawn.x1));
                let middle = drawn.y + 1;
                assert_eq!(at(picture.plot.left + left + 1, middle), fill);
                assert_eq!(at(picture.plot.left + right - 2, middle), fill);
                assert_eq!(at(picture.plot.left + right - 2, drawn.y + drawn.height - 1), fill);
                assert_ne!(at(picture.plot.left + right - 2, drawn.y + drawn.height), fill);
                // The label: some of it is as dark as the ink.
                let (from, to) = (picture.plot.left + left, picture.plot.left + right);
                let dark = (from..to).flat_map(|x| (drawn.y..drawn.y + 17).map(move |y| (x, y)));
                let is_dark = |&(x, y): &(u32, u32)| at(x, y).1 < 0x60;
                assert!(dark.filter(is_dark).count() > 5, "{} is written", drawn.label);
            }
        }
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let picture = Picture { width: 20_000, height: 20_000, ..Picture::default() };
        assert!(write(&picture).unwrap_err().contains("20000 by 20000 pixels"));
        assert!(write(&Picture::default()).is_ok(), "nothing is a picture of one pixel");
    }

    #[test]
    fn the_embedded_font_has_what_labels_need() {
        let font = FontRef::try_from_slice(FONT_FILE).unwrap();
        for character in
            (' '..='~').chain(['…', '→', '¼', '½', '–', 'µ', 'é', 'Ω', 'Ж', '\u{FFFD}'])
        {
            assert_ne!(font.glyph_id(character).0, 0, "{character:?}");
        }
        // What it does not have is a box: nothing of a name is lost.
        assert_eq!(font.glyph_id('関').0, 0);
        let missing = font.glyph_id('関').with_scale(20.0);
        assert!(font.outline_glyph(missing).is_some());
        // The widths by which labels are cut are those of this font.
        let scale = font.pt_to_px_scale(1000.0 * POINTS_PER_PIXEL).unwrap();
        let scaled = font.as_scaled(scale);
        for character in ' '..='~' {
            let drawn = scaled.h_advance(font.glyph_id(character));
            let taken = text::width(&character.to_string(), 1000) as f32 / 100.0;
            assert!((drawn - taken).abs() < 2.0, "{character:?}: {drawn} and {taken}");
        }
        for (glyph, character) in font.codepoint_ids() {
            let taken = text::width(&character.to_string(), 1000) as f32 / 100.0;
            assert!(scaled.h_advance(glyph) < taken + 2.0, "{character:?} is wider");
        }
    }
}
