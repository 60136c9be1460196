//! Pictures as SVG: one file that any browser opens offline, with tooltips, search and zoom.
//!
//! All of it is there without the script: a viewer that runs none shows the same picture, and its
//! labels are cut to fit by then. Colors follow the viewer's choice of dark or light.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use super::palette::{Paint, Palette};
use super::picture::{
    ABOUT_BASE, BAR, Drawn, Edge, Entry, FONT, LINE, MARGIN, PADDING, Picture, SWATCH, SWATCH_GAP,
    Sign, StateLook, TITLE_BASE, TITLE_FONT, Upright, UprightKind,
};
use super::text;
use crate::escape::xml;

#[cfg(test)]
mod tests;

const SCRIPT: &str = include_str!("script.js");
/// The width of the search box.
const SEARCH: u32 = 200;
const KEYS: &str = "click or Enter zooms, Escape goes back, / searches, n finds the next, arrows \
                    move";

/// The picture as a file.
pub fn write(picture: &Picture) -> String {
    let mut out = String::new();
    let mut svg = Svg { out: &mut out, picture };
    svg.document().expect("a string takes what is written to it");
    out
}

struct Svg<'a> {
    out: &'a mut String,
    picture: &'a Picture,
}

impl Svg<'_> {
    fn document(&mut self) -> fmt::Result {
        let Picture { title, about, width, height, plot, scale, .. } = self.picture;
        let units: Vec<_> =
            scale.units.iter().map(|unit| format!("{} {}", unit.size, unit.label)).collect();
        let height = height + LINE;
        writeln!(
            self.out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"graphics-document\" \
             aria-labelledby=\"title about\" data-total=\"{}\" data-units=\"{}\" data-plot=\"{}\">\n\
             <title id=\"title\">{}</title>\n<desc id=\"about\">{}</desc>",
            scale.total,
            xml(&units.join(",")),
            plot.width,
            xml(title),
            xml(about),
        )?;
        self.style()?;
        self.patterns()?;
        writeln!(self.out, "<rect class=\"bg\" width=\"{width}\" height=\"{height}\"/>")?;
        self.heading()?;
        self.legend()?;
        self.bands()?;
        self.axis()?;
        self.plot()?;
        for (n, note) in self.picture.notes.iter().enumerate() {
            let y = self.picture.note_base(n);
            self.text("note", MARGIN, y, &fitted(note, width - 2 * MARGIN, FONT))?;
        }
        let keys = fitted(KEYS, width - 2 * MARGIN, FONT);
        self.text("note tool", MARGIN, height - 9, &keys)?;
        // No text of ours holds the end of a CDATA section.
        writeln!(self.out, "<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>")
    }

    fn text(&mut self, class: &str, x: u32, y: u32, words: &str) -> fmt::Result {
        writeln!(self.out, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", xml(words))
    }

    fn style(&mut self) -> fmt::Result {
        write!(
            self.out,
            "<style><![CDATA[\n\
             text{{font:{FONT}px system-ui,\"Segoe UI\",\"Helvetica Neue\",\"DejaVu Sans\",sans-serif}}\n\
             .title{{font-size:{TITLE_FONT}px;font-weight:600}}\n\
             .b{{cursor:pointer;outline:none}} .b text,.v,.p{{pointer-events:none}}\n\
             .p{{fill:none;stroke-width:2.5;stroke-linejoin:round}} .pw{{stroke-dasharray:3 3}}\n\
             .e1{{stroke-width:1.2}} .e2{{stroke-width:1.2;stroke-dasharray:4 3}}\n\
             .u line{{stroke-width:1.5}} .gap{{stroke-dasharray:3 2}}\n\
             .b:hover rect.s{{stroke-width:1}} .b:focus rect.s,.hit rect.s{{stroke-width:1.6}}\n\
             .searching .b:not(.hit){{opacity:.35}}\n\
             .tool{{display:none}} .live .tool{{display:block}} .off,.live .off{{display:none}}\n\
             #reset{{cursor:pointer;text-decoration:underline}} .end{{text-anchor:end}}\n\
             .mid{{text-anchor:middle}}\n"
        )?;
        let paints: BTreeSet<Paint> = self.paints();
        self.theme(&Palette::LIGHT, &paints)?;
        writeln!(self.out, "@media (prefers-color-scheme:dark){{")?;
        self.theme(&Palette::DARK, &paints)?;
        writeln!(self.out, "}}\n]]></style>")
    }

    /// Every paint that is used.
    fn paints(&self) -> BTreeSet<Paint> {
        let boxes = self.picture.boxes.iter();
        let of_boxes = boxes.flat_map(|b| [Some(b.paint), b.bars.map(|bars| bars.paint)]);
        let of_legend = self.picture.legend.iter().map(|entry| match entry.sign {
            Sign::Fill(paint) | Sign::Hatched(paint) | Sign::Edged(paint, _) => Some(paint),
            Sign::After => Some(AFTER),
            Sign::Before
            | Sign::Veil
            | Sign::Gap
            | Sign::Mark
            | Sign::Path
            | Sign::State(_)
            | Sign::Arrow => None,
        });
        of_boxes.chain(of_legend).flatten().collect()
    }

    fn theme(&mut self, palette: &Palette, paints: &BTreeSet<Paint>) -> fmt::Result {
        let Palette {
            background,
            lane,
            ink,
            muted,
            grid,
            gap,
            off_cpu,
            hatch,
            path,
            found,
            running,
            runnable,
            ..
        } = palette;
        write!(
            self.out,
            ".bg{{fill:{background}}} .lane{{fill:{lane}}} text{{fill:{ink}}} \
             .note,.about,.t text{{fill:{muted}}} .t line{{stroke:{grid}}}\n\
             .gap{{stroke:{gap}}} .mark{{stroke:{muted}}} .hl{{stroke:{hatch}}} .vl{{stroke:{off_cpu}}} \
             .p{{stroke:{path}}} .b0{{fill:{muted}}}\n\
             .st0{{fill:{running}}} .q0{{stroke:{running}}} .q1{{stroke:{runnable}}} \
             .q2{{stroke:{muted}}} .q3{{stroke:{gap}}} .wl{{stroke:{ink};stroke-width:1;opacity:.55}} \
             .wh{{fill:{ink};opacity:.7}}\n\
             .e1,.e2{{stroke:{hatch}}} .b:hover rect.s,.b:focus rect.s,.hit rect.s{{stroke:{found}}} \
             #find{{color:{ink};background:{lane};border:1px solid {grid}}}\n"
        )?;
        for paint in paints {
            write!(self.out, ".{}{{fill:{}}} ", paint.class(), palette.fill(*paint))?;
        }
        writeln!(self.out)
    }

    fn patterns(&mut self) -> fmt::Result {
        let pattern = |id: &str, turn: &str, class: &str| {
            format!(
                "<pattern id=\"{id}\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" \
                 patternTransform=\"rotate({turn})\"><line class=\"{class}\" y2=\"5\" \
                 stroke-width=\"{}\"/></pattern>",
                if class == "vl" { "4" } else { "1.5" },
            )
        };
        // States of threads: only what ran is solid.
        let strip = |n: usize, turn: &str, class: &str, every: u32, line: &str| {
            format!(
                "<pattern id=\"st{n}\" width=\"{every}\" height=\"{every}\" \
                 patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate({turn})\">\
                 <line class=\"{class}\" y2=\"{every}\" {line}/></pattern>"
            )
        };
        let strips = if self.picture.states.is_empty() {
            String::new()
        } else {
            [
                strip(1, "45", "q1", 4, "stroke-width=\"3\""),
                strip(2, "-45", "q2", 6, "stroke-width=\"1\""),
                strip(3, "-45", "q3", 5, "stroke-width=\"2\""),
                strip(4, "0", "q2", 6, "stroke-width=\"2\" stroke-dasharray=\"2 4\""),
                strip(5, "0", "q0", 3, "stroke-width=\"1.5\""),
            ]
            .concat()
        };
        writeln!(
            self.out,
            "<defs>{}{}{strips}</defs>",
            pattern("hatch", "45", "hl"),
            pattern("veil", "-45", "vl")
        )
    }

    fn heading(&mut self) -> fmt::Result {
        let Picture { title, about, width, .. } = self.picture;
        let right = width - MARGIN;
        let room = width.saturating_sub(3 * MARGIN + SEARCH);
        // Bold letters are wider than those that were measured.
        self.text("title", MARGIN, TITLE_BASE, &fitted(title, room, TITLE_FONT + 2))?;
        self.text("about", MARGIN, ABOUT_BASE, &fitted(about, room, FONT))?;
        writeln!(
            self.out,
            "<g class=\"tool\"><foreignObject x=\"{}\" y=\"10\" width=\"{SEARCH}\" height=\"26\">\
             <input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"find\" type=\"search\" \
             placeholder=\"search: a name or /regex/\" aria-label=\"search by regular expression\" \
             style=\"box-sizing:border-box;width:100%;height:24px;padding:0 8px;border-radius:4px;\
             font:12px system-ui,sans-serif\"/></foreignObject>\n\
             <text id=\"found\" class=\"about end\" role=\"status\" x=\"{right}\" y=\"{ABOUT_BASE}\"></text>\n\
             <text id=\"reset\" class=\"end off\" role=\"button\" tabindex=\"0\" x=\"{}\" \
             y=\"{TITLE_BASE}\">reset zoom</text></g>",
            right.saturating_sub(SEARCH),
            right.saturating_sub(SEARCH + MARGIN),
        )
    }

    fn legend(&mut self) -> fmt::Result {
        writeln!(self.out, "<g class=\"legend\">")?;
        for Entry { x, y, sign, words } in &self.picture.legend {
            let top = y - SWATCH + 1;
            let swatch = |class: &str, fill: &str| {
                format!(
                    "<rect class=\"{class}\" x=\"{x}\" y=\"{top}\" width=\"{SWATCH}\" \
                     height=\"{SWATCH}\"{fill}/>"
                )
            };
            let upright = |class: &str| {
                let (x, bottom) = (x + SWATCH / 2, top + SWATCH);
                format!(
                    "<g class=\"u\"><line class=\"{class}\" x1=\"{x}\" x2=\"{x}\" y1=\"{top}\" \
                     y2=\"{bottom}\"/></g>"
                )
            };
            let sign = match *sign {
                Sign::Fill(paint) => swatch(&paint.class(), ""),
                Sign::Hatched(paint) => {
                    swatch(&paint.class(), "") + &swatch("", " fill=\"url(#hatch)\"")
                }
                Sign::Edged(paint, edge) => {
                    swatch(&format!("{}{}", paint.class(), edge_class(edge)), "")
                }
                Sign::Before => bar("b0", *x, y - SWATCH / 2),
                Sign::After => bar(&AFTER.class(), *x, y - SWATCH / 2),
                Sign::Veil => {
                    swatch("lane", "") + &swatch("", " fill=\"url(#veil)\" opacity=\".6\"")
                }
                Sign::Gap => upright("gap"),
                Sign::Mark => upright("mark"),
                Sign::State(StateLook::Running) => swatch("st0", ""),
                Sign::State(look) => {
                    swatch("lane", "")
                        + &swatch("", &format!(" fill=\"url(#st{})\"", look as usize))
                }
                Sign::Arrow => {
                    let (x, bottom) = (x + SWATCH / 2, top + SWATCH);
                    let head = head(u64::from(x) * 100, top, bottom);
                    format!(
                        "<line class=\"wl\" x1=\"{x}\" x2=\"{x}\" y1=\"{top}\" y2=\"{bottom}\"/>{head}"
                    )
                }
                Sign::Path => {
                    let (y, right) = (y - 4, x + SWATCH);
                    format!("<path class=\"p\" d=\"M{x} {y}H{right}\"/>")
                }
            };
            write!(self.out, "{sign}")?;
            self.text("about", x + SWATCH + SWATCH_GAP, *y, words)?;
        }
        writeln!(self.out, "</g>")
    }

    fn bands(&mut self) -> fmt::Result {
        let plot = self.picture.plot;
        for band in &self.picture.bands {
            writeln!(
                self.out,
                "<rect class=\"lane\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                plot.left, band.y, plot.width, band.height
            )?;
            let room = plot.left.saturating_sub(MARGIN + 6);
            let lines = [(&band.label, "name"), (&band.detail, "about")];
            for (n, (words, class)) in lines.into_iter().enumerate() {
                let Some(words) = words else { continue };
                writeln!(
                    self.out,
                    "<text class=\"{class}\" x=\"{MARGIN}\" y=\"{}\"><title>{}</title>{}</text>",
                    band.y + 13 + n as u32 * (LINE - 2),
                    xml(&band.tip),
                    xml(&fitted(words, room, FONT))
                )?;
            }
        }
        Ok(())
    }

    fn axis(&mut self) -> fmt::Result {
        let plot = self.picture.plot;
        writeln!(
            self.out,
            "<g id=\"axis\" transform=\"translate({} {})\" data-height=\"{}\">",
            plot.left, plot.top, plot.height
        )?;
        for tick in &self.picture.ticks {
            let place = place(tick.x);
            let half = text::width(&tick.label, FONT) / 2;
            let class = match tick.x {
                x if x < half => "",
                x if x + half > u64::from(plot.width) * 100 => " class=\"end\"",
                _ => " class=\"mid\"",
            };
            writeln!(
                self.out,
                "<g class=\"t\"><line x1=\"{place}\" x2=\"{place}\" y1=\"-4\" y2=\"{}\"/>\
                 <text{class} x=\"{place}\" y=\"-8\">{}</text></g>",
                plot.height,
                xml(&tick.label)
            )?;
        }
        writeln!(self.out, "</g>")
    }

    fn plot(&mut self) -> fmt::Result {
        let Picture { plot, height, .. } = self.picture;
        writeln!(
            self.out,
            "<svg id=\"plot\" x=\"{}\" y=\"0\" width=\"{}\" height=\"{height}\">",
            plot.left, plot.width
        )?;
        self.veils("fill=\"url(#veil)\" opacity=\".6\"")?;
        self.states()?;
        for drawn in &self.picture.boxes {
            self.drawn(drawn)?;
        }
        // Boxes are paler while their thread was switched out.
        self.veils("class=\"bg\" opacity=\".3\"")?;
        for Upright { x, y, height, kind, tip } in &self.picture.uprights {
            let class = match kind {
                UprightKind::Gap => "gap",
                UprightKind::Mark => "mark",
            };
            writeln!(
                self.out,
                "<g class=\"u\" data-x=\"{x}\" transform=\"translate({x} 0)\"><title>{}</title>\
                 <line class=\"{class}\" y1=\"{y}\" y2=\"{}\"/></g>",
                xml(tip),
                y + height,
                x = place(*x),
            )?;
        }
        for arrow in &self.picture.arrows {
            let (x, y0, y1) = (arrow.x, arrow.y0, arrow.y1);
            writeln!(
                self.out,
                "<g class=\"u\" data-x=\"{x}\" transform=\"translate({x} 0)\"><title>{}</title>\
                 <line class=\"wl\" y1=\"{y0}\" y2=\"{y1}\"/>{}</g>",
                xml(&arrow.tip),
                head(0, y0, y1),
                x = place(x),
            )?;
        }
        for line in &self.picture.path {
            let waits = if line.waits { " pw" } else { "" };
            write!(self.out, "<polyline class=\"p{waits}\" points=\"")?;
            for (x, y) in &line.points {
                write!(self.out, "{},{y} ", place(*x))?;
            }
            writeln!(self.out, "\"/>")?;
        }
        writeln!(self.out, "</svg>")
    }

    fn states(&mut self) -> fmt::Result {
        for state in &self.picture.states {
            let fill = match state.look {
                StateLook::Running => "class=\"st0\"".to_owned(),
                look => format!("fill=\"url(#st{})\"", look as usize),
            };
            writeln!(
                self.out,
                "<g class=\"st\"><title>{}</title><rect {fill} x=\"{}\" y=\"{}\" width=\"{}\" \
                 height=\"{}\"/></g>",
                xml(&state.tip),
                place(state.x0),
                state.y,
                place((state.x1 - state.x0).max(NARROWEST)),
                state.height
            )?;
        }
        Ok(())
    }

    fn veils(&mut self, look: &str) -> fmt::Result {
        for veil in &self.picture.veils {
            writeln!(
                self.out,
                "<g class=\"v\"><rect {look} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></g>",
                place(veil.x0),
                veil.y,
                place(veil.x1 - veil.x0),
                veil.height
            )?;
        }
        Ok(())
    }

    fn drawn(&mut self, drawn: &Drawn) -> fmt::Result {
        let Drawn { x0, x1, y, height, band, .. } = drawn;
        let merged = if drawn.merged { " data-m=\"1\"" } else { "" };
        write!(self.out, "<g class=\"b\" data-l=\"{band}\"{merged}><title>{}", xml(&drawn.label))?;
        for line in &drawn.tip {
            write!(self.out, "\n{}", xml(line))?;
        }
        // Neighbors are kept apart by a hairline, as long as there is something left.
        let gap = if x1 - x0 > 200 { 50 } else { 0 };
        let area = |from: u64, length: u64, y: u32, height: u32| {
            let (x, length) = (place(from), place(length));
            format!("x=\"{x}\" y=\"{y}\" width=\"{length}\" height=\"{height}\"")
        };
        let length = (x1 - x0).saturating_sub(gap).max(NARROWEST);
        let of_box = area(*x0, length, *y, *height);
        write!(
            self.out,
            "</title><rect class=\"s {}{}\" {of_box}/>",
            drawn.paint.class(),
            edge_class(drawn.edge)
        )?;
        if drawn.hatched {
            write!(self.out, "<rect fill=\"url(#hatch)\" opacity=\".35\" {of_box}/>")?;
        }
        if let Some(bars) = drawn.bars {
            let below = y + height + 1;
            let before = area(*x0, bars.before, below, BAR);
            let after = area(*x0, bars.after, below + BAR, BAR);
            write!(
                self.out,
                "<rect class=\"b0\" {before}/><rect class=\"{}\" {after}/>",
                bars.paint.class()
            )?;
        }
        if let Some(label) = Picture::fitted(drawn) {
            let (x, y) = (place(x0 + PADDING), y + height - 5);
            write!(self.out, "<text x=\"{x}\" y=\"{y}\">{}</text>", xml(&label))?;
        }
        writeln!(self.out, "</g>")
    }
}

/// The least that is drawn of what has no width of its own, in hundredths of a pixel.
const NARROWEST: u64 = 40;
/// What is in the legend for the bars of the later side.
const AFTER: Paint = Paint::Change(3);

fn edge_class(edge: Edge) -> &'static str {
    match edge {
        Edge::Plain => "",
        Edge::Solid => " e1",
        Edge::Dashed => " e2",
    }
}

/// The head of an arrow that comes from `y0` and ends at `y1`.
fn head(x: u64, y0: u32, y1: u32) -> String {
    let back = if y0 < y1 { y1.saturating_sub(5) } else { y1 + 5 };
    let (left, right) = match x {
        0 => ("-3".to_owned(), "3".to_owned()),
        x => (place(x.saturating_sub(300)), place(x + 300)),
    };
    format!("<path class=\"wh\" d=\"M{} {y1}L{left} {back}H{right}Z\"/>", place(x))
}

fn bar(class: &str, x: u32, y: u32) -> String {
    format!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{SWATCH}\" height=\"{BAR}\"/>")
}

/// Words as they fit a number of pixels.
fn fitted(words: &str, room: u32, size: u32) -> String {
    text::cut(words, u64::from(room) * 100, size).unwrap_or_default()
}

/// Hundredths of a pixel as pixels.
fn place(hundredths: u64) -> String {
    let (whole, rest) = (hundredths / 100, hundredths % 100);
    match rest {
        0 => whole.to_string(),
        rest if rest % 10 == 0 => format!("{whole}.{}", rest / 10),
        rest => format!("{whole}.{rest:02}"),
    }
}
