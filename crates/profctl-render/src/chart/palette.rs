//! Colors by meaning, for dark and for light surroundings.
//!
//! Ordinary functions take calm hues from teal over blue to violet; what is not an ordinary
//! function is apart in a way that every common kind of color blindness preserves: system calls are
//! gold, interrupts orange and darker, idleness gray. A comparison runs from blue (less) over gray
//! to orange (more). What was not seen or is missing is identified by hatches and lines, never by
//! color alone. Every fill carries its theme's ink with a contrast of at least 4.5 to 1 (WCAG AA).

use std::fmt;
use std::hash::Hasher;

use profctl_model::hash::FastHasher;
use profctl_model::{Func, FuncKind};

/// A color in sRGB.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl fmt::Display for Rgb {
    /// `#rrggbb`, as CSS and SVG write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// Hues that functions are spread over.
pub const HUES: usize = 12;
/// Lighter and darker forms of each hue.
pub const SHADES: usize = 3;
/// Steps of a comparison to either side of "the same".
pub const STEPS: i8 = 4;

/// What a filled area means; a [`Palette`] says how that looks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Paint {
    /// A call of an ordinary function.
    Function {
        /// By its module, or by its name where it has none; below [`HUES`].
        hue: u8,
        /// By its name; below [`SHADES`].
        shade: u8,
    },
    /// A system call.
    Syscall {
        /// By its name; below [`SHADES`].
        shade: u8,
    },
    /// An interrupt handler.
    Interrupt {
        /// By its name; below [`SHADES`].
        shade: u8,
    },
    /// The idle loop, and the idle task on a CPU.
    Idle,
    /// A context switch.
    Switch,
    /// An instant, and a thread as the root of its calls.
    Mark,
    /// Several things too narrow to be distinguished.
    Merged,
    /// How much more or less: from `-STEPS` (far less) to `STEPS` (far more).
    Change(i8),
    /// What a comparison did not test.
    Untested,
}

impl Paint {
    /// The fill of a function: the same in every picture of it, on every machine.
    pub fn of(func: &Func) -> Self {
        Self::named(func.kind, &func.name, func.module.as_deref())
    }

    /// The same for a function that is known by its parts.
    pub fn named(kind: FuncKind, name: &str, module: Option<&str>) -> Self {
        let spread = |text: &str, n: usize| {
            let mut hasher = FastHasher::default();
            hasher.write(text.as_bytes());
            (hasher.finish() >> 32) as usize % n
        };
        let shade = spread(name, SHADES) as u8;
        match kind {
            // The whole number is spread, so that shade and hue of a name are independent.
            FuncKind::Function => match module {
                Some(module) => Self::Function { hue: spread(module, HUES) as u8, shade },
                None => {
                    let both = spread(name, HUES * SHADES);
                    Self::Function { hue: (both / SHADES) as u8, shade: (both % SHADES) as u8 }
                }
            },
            FuncKind::Syscall => Self::Syscall { shade },
            FuncKind::Interrupt => Self::Interrupt { shade },
            FuncKind::Idle => Self::Idle,
            FuncKind::Switch => Self::Switch,
            FuncKind::Mark => Self::Mark,
        }
    }

    /// The step for something that became `ratio` times what it was: none below 5 percent of
    /// change, then up to a quarter more, twice, four times, and beyond; the same downwards.
    pub fn of_ratio(ratio: f64) -> Self {
        let size = if ratio < 1.0 { ratio.recip() } else { ratio };
        let step = RATIO_LIMITS.iter().filter(|&&limit| size > limit).count() as i8;
        Self::Change(if ratio < 1.0 { -step } else { step })
    }

    /// Every paint, in a fixed order.
    pub fn all() -> Vec<Self> {
        let shades = 0..SHADES as u8;
        let hues = (0..HUES as u8).flat_map(|hue| {
            let shades = 0..SHADES as u8;
            shades.map(move |shade| Self::Function { hue, shade })
        });
        hues.chain(shades.clone().map(|shade| Self::Syscall { shade }))
            .chain(shades.map(|shade| Self::Interrupt { shade }))
            .chain([Self::Idle, Self::Switch, Self::Mark, Self::Merged, Self::Untested])
            .chain((-STEPS..=STEPS).map(Self::Change))
            .collect()
    }

    /// A short name of letters and digits, unique among all paints: a class in CSS.
    pub fn class(self) -> String {
        match self {
            Self::Function { hue, shade } => format!("f{}", hue as usize * SHADES + shade as usize),
            Self::Syscall { shade } => format!("s{shade}"),
            Self::Interrupt { shade } => format!("i{shade}"),
            Self::Idle => "idle".into(),
            Self::Switch => "sw".into(),
            Self::Mark => "mk".into(),
            Self::Merged => "mg".into(),
            Self::Change(step @ ..0) => format!("l{}", -step),
            Self::Change(0) => "eq".into(),
            Self::Change(step) => format!("m{step}"),
            Self::Untested => "un".into(),
        }
    }
}

/// The ratios past which the next step of [`Paint::Change`] begins.
pub const RATIO_LIMITS: [f64; STEPS as usize] = [1.05, 1.25, 2.0, 4.0];

/// How everything looks in one kind of surroundings.
#[derive(Clone, Copy, Debug)]
pub struct Palette {
    /// After everything.
    pub background: Rgb,
    /// After a lane.
    pub lane: Rgb,
    /// Text, on the background and on every fill.
    pub ink: Rgb,
    /// Text that matters less.
    pub muted: Rgb,
    /// Lines of the scale.
    pub grid: Rgb,
    /// Where events were lost: dashed lines.
    pub gap: Rgb,
    /// Where a thread was switched out: hatching.
    pub off_cpu: Rgb,
    /// The hatching of incomplete calls.
    pub hatch: Rgb,
    /// The line of the critical path.
    pub path: Rgb,
    /// The frame around what a search found.
    pub found: Rgb,
    /// Where a thread ran, in its strip of states.
    pub running: Rgb,
    /// Where it waited for a CPU: hatching.
    pub runnable: Rgb,
    /// Where it slept: hatching.
    pub sleeping: Rgb,
    functions: [[Rgb; SHADES]; HUES],
    syscalls: [Rgb; SHADES],
    interrupts: [Rgb; SHADES],
    idle: Rgb,
    switch: Rgb,
    mark: Rgb,
    merged: Rgb,
    untested: Rgb,
    changes: [Rgb; 2 * STEPS as usize + 1],
}

impl Palette {
    /// The fill that stands for `paint`.
    pub fn fill(&self, paint: Paint) -> Rgb {
        match paint {
            Paint::Function { hue, shade } => {
                self.functions[hue as usize % HUES][shade as usize % SHADES]
            }
            Paint::Syscall { shade } => self.syscalls[shade as usize % SHADES],
            Paint::Interrupt { shade } => self.interrupts[shade as usize % SHADES],
            Paint::Idle => self.idle,
            Paint::Switch => self.switch,
            Paint::Mark => self.mark,
            Paint::Merged => self.merged,
            Paint::Untested => self.untested,
            Paint::Change(step) => self.changes[(step.clamp(-STEPS, STEPS) + STEPS) as usize],
        }
    }

    /// For paper and light windows.
    pub const LIGHT: Self = Self {
        background: Rgb(0xfc, 0xfd, 0xfe),
        lane: Rgb(0xf2, 0xf4, 0xf7),
        ink: Rgb(0x1b, 0x20, 0x25),
        muted: Rgb(0x5e, 0x64, 0x6c),
        grid: Rgb(0xdb, 0xde, 0xe2),
        gap: Rgb(0xa1, 0x31, 0x70),
        off_cpu: Rgb(0xaa, 0xb0, 0xb9),
        hatch: Rgb(0x4a, 0x50, 0x58),
        path: Rgb(0x66, 0x35, 0xa3),
        found: Rgb(0x1b, 0x22, 0x2b),
        running: Rgb(0x3f, 0x8f, 0x6b),
        runnable: Rgb(0xc4, 0x6a, 0x12),
        sleeping: Rgb(0x8a, 0x91, 0x9b),
        functions: [
            [Rgb(0x8a, 0xc9, 0xc2), Rgb(0x98, 0xd7, 0xd1), Rgb(0xa6, 0xe6, 0xdf)],
            [Rgb(0x88, 0xc8, 0xc9), Rgb(0x96, 0xd6, 0xd8), Rgb(0xa5, 0xe5, 0xe7)],
            [Rgb(0x88, 0xc7, 0xd0), Rgb(0x97, 0xd5, 0xdf), Rgb(0xa5, 0xe4, 0xee)],
            [Rgb(0x8a, 0xc5, 0xd6), Rgb(0x99, 0xd4, 0xe5), Rgb(0xa7, 0xe3, 0xf4)],
            [Rgb(0x8e, 0xc4, 0xdb), Rgb(0x9c, 0xd2, 0xea), Rgb(0xab, 0xe1, 0xf9)],
            [Rgb(0x93, 0xc1, 0xe0), Rgb(0xa1, 0xd0, 0xee), Rgb(0xb0, 0xdf, 0xfe)],
            [Rgb(0x99, 0xbf, 0xe3), Rgb(0xa7, 0xce, 0xf2), Rgb(0xb6, 0xdc, 0xff)],
            [Rgb(0xa0, 0xbd, 0xe5), Rgb(0xae, 0xcb, 0xf4), Rgb(0xbc, 0xda, 0xff)],
            [Rgb(0xa7, 0xba, 0xe5), Rgb(0xb6, 0xc9, 0xf4), Rgb(0xc4, 0xd7, 0xff)],
            [Rgb(0xaf, 0xb8, 0xe5), Rgb(0xbd, 0xc6, 0xf4), Rgb(0xcc, 0xd5, 0xff)],
            [Rgb(0xb6, 0xb5, 0xe3), Rgb(0xc5, 0xc3, 0xf2), Rgb(0xd3, 0xd2, 0xff)],
            [Rgb(0xbe, 0xb3, 0xe0), Rgb(0xcc, 0xc1, 0xef), Rgb(0xdb, 0xcf, 0xfe)],
        ],
        syscalls: [Rgb(0xde, 0xc2, 0x6d), Rgb(0xeb, 0xcf, 0x7a), Rgb(0xf8, 0xdc, 0x86)],
        interrupts: [Rgb(0xe5, 0x8f, 0x62), Rgb(0xf2, 0x9c, 0x6f), Rgb(0xff, 0xa9, 0x7b)],
        idle: Rgb(0xbc, 0xc1, 0xc8),
        switch: Rgb(0xda, 0xc7, 0xd7),
        mark: Rgb(0xcf, 0xd4, 0xdb),
        merged: Rgb(0xa1, 0xac, 0xbb),
        untested: Rgb(0xcf, 0xd1, 0xd3),
        changes: [
            Rgb(0x54, 0xa3, 0xf1),
            Rgb(0x75, 0xb3, 0xf2),
            Rgb(0x96, 0xc3, 0xf2),
            Rgb(0xba, 0xd4, 0xf1),
            Rgb(0xed, 0xea, 0xe9),
            Rgb(0xeb, 0xca, 0xb4),
            Rgb(0xe8, 0xb1, 0x8c),
            Rgb(0xe4, 0x9a, 0x67),
            Rgb(0xdf, 0x84, 0x3f),
        ],
    };

    /// For dark windows.
    pub const DARK: Self = Self {
        background: Rgb(0x13, 0x14, 0x15),
        lane: Rgb(0x1a, 0x1c, 0x1e),
        ink: Rgb(0xe6, 0xec, 0xf3),
        muted: Rgb(0x9e, 0xa5, 0xae),
        grid: Rgb(0x2e, 0x30, 0x33),
        gap: Rgb(0xf4, 0x7d, 0xb9),
        off_cpu: Rgb(0x55, 0x5a, 0x61),
        hatch: Rgb(0xb4, 0xba, 0xc2),
        path: Rgb(0xdb, 0xc2, 0xff),
        found: Rgb(0xff, 0xff, 0xff),
        running: Rgb(0x4f, 0xb0, 0x88),
        runnable: Rgb(0xf0, 0xa0, 0x4a),
        sleeping: Rgb(0x7c, 0x83, 0x8c),
        functions: [
            [Rgb(0x0f, 0x4d, 0x48), Rgb(0x1f, 0x59, 0x54), Rgb(0x2d, 0x66, 0x61)],
            [Rgb(0x0c, 0x4c, 0x4e), Rgb(0x1d, 0x58, 0x5a), Rgb(0x2b, 0x65, 0x67)],
            [Rgb(0x0d, 0x4b, 0x53), Rgb(0x1e, 0x58, 0x5f), Rgb(0x2c, 0x64, 0x6c)],
            [Rgb(0x12, 0x4a, 0x57), Rgb(0x21, 0x56, 0x64), Rgb(0x2f, 0x63, 0x71)],
            [Rgb(0x18, 0x49, 0x5b), Rgb(0x26, 0x55, 0x68), Rgb(0x33, 0x62, 0x75)],
            [Rgb(0x1f, 0x47, 0x5e), Rgb(0x2c, 0x53, 0x6b), Rgb(0x38, 0x60, 0x78)],
            [Rgb(0x26, 0x45, 0x61), Rgb(0x32, 0x51, 0x6e), Rgb(0x3e, 0x5e, 0x7b)],
            [Rgb(0x2d, 0x43, 0x62), Rgb(0x39, 0x4f, 0x6f), Rgb(0x45, 0x5c, 0x7c)],
            [Rgb(0x34, 0x41, 0x63), Rgb(0x3f, 0x4d, 0x70), Rgb(0x4b, 0x5a, 0x7d)],
            [Rgb(0x3a, 0x3f, 0x62), Rgb(0x46, 0x4b, 0x6f), Rgb(0x52, 0x58, 0x7d)],
            [Rgb(0x40, 0x3d, 0x61), Rgb(0x4c, 0x49, 0x6e), Rgb(0x58, 0x56, 0x7b)],
            [Rgb(0x45, 0x3c, 0x5f), Rgb(0x51, 0x48, 0x6c), Rgb(0x5e, 0x54, 0x79)],
        ],
        syscalls: [Rgb(0x61, 0x4e, 0x06), Rgb(0x6c, 0x59, 0x18), Rgb(0x78, 0x64, 0x25)],
        interrupts: [Rgb(0x77, 0x39, 0x13), Rgb(0x84, 0x44, 0x20), Rgb(0x90, 0x50, 0x2c)],
        idle: Rgb(0x43, 0x47, 0x4c),
        switch: Rgb(0x46, 0x38, 0x45),
        mark: Rgb(0x35, 0x3a, 0x42),
        merged: Rgb(0x5b, 0x66, 0x73),
        untested: Rgb(0x46, 0x48, 0x49),
        changes: [
            Rgb(0x1c, 0x6a, 0xad),
            Rgb(0x2d, 0x64, 0x99),
            Rgb(0x32, 0x58, 0x7d),
            Rgb(0x36, 0x4a, 0x60),
            Rgb(0x3a, 0x37, 0x36),
            Rgb(0x5c, 0x42, 0x31),
            Rgb(0x75, 0x49, 0x29),
            Rgb(0x8d, 0x4f, 0x1e),
            Rgb(0x9c, 0x4f, 0x06),
        ],
    };
}

/// The contrast of two colors, as WCAG 2 defines it.
#[cfg(test)]
pub(crate) fn contrast(a: Rgb, b: Rgb) -> f64 {
    let luminance = |Rgb(r, g, b): Rgb| {
        let linear = |channel: u8| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn text_can_be_read_on_everything() {
        assert!((contrast(Rgb(0, 0, 0), Rgb(255, 255, 255)) - 21.0).abs() < 1e-9);
        for palette in [Palette::LIGHT, Palette::DARK] {
            for paint in Paint::all() {
                let contrast = contrast(palette.ink, palette.fill(paint));
                assert!(contrast >= 4.5, "{paint:?}: {contrast:.2}");
            }
            for surface in [palette.background, palette.lane] {
                for text in [palette.ink, palette.muted, palette.gap, palette.path] {
                    assert!(contrast(text, surface) >= 4.5, "{text} on {surface}");
                }
            }
        }
    }

    #[test]
    fn what_threads_did_is_seen_on_their_lanes() {
        for palette in [Palette::LIGHT, Palette::DARK] {
            let states = [
                ("running", palette.running),
                ("runnable", palette.runnable),
                ("sleeping", palette.sleeping),
                ("disk sleep", palette.gap),
                ("unknown", palette.muted),
                ("switched out", palette.off_cpu),
                ("interrupted", palette.fill(Paint::Interrupt { shade: 0 })),
                ("idle", palette.fill(Paint::Idle)),
                ("merged", palette.fill(Paint::Merged)),
            ];
            for (state, color) in states {
                let contrast = contrast(color, palette.lane);
                assert!(contrast >= 1.6, "{state}: {contrast:.2}");
            }
        }
    }

    #[test]
    fn the_kinds_stay_apart_without_red_or_green() {
        // As a dichromat without red cones sees them (Viénot, Brettel, Mollon 1999, linear light
        // omitted: distances are compared, not looked at).
        let seen = |Rgb(r, g, b): Rgb| {
            let (r, g, b) = (f64::from(r), f64::from(g), f64::from(b));
            [0.1124 * r + 0.8876 * g, 0.1124 * r + 0.8876 * g, 0.004 * (r - g) + b]
        };
        let distance = |a: Rgb, b: Rgb| {
            let (a, b) = (seen(a), seen(b));
            a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        };
        for palette in [Palette::LIGHT, Palette::DARK] {
            for hue in 0..HUES as u8 {
                let function = palette.fill(Paint::Function { hue, shade: 1 });
                for other in [Paint::Syscall { shade: 1 }, Paint::Interrupt { shade: 1 }] {
                    let distance = distance(function, palette.fill(other));
                    assert!(distance > 45.0, "hue {hue} and {other:?}: {distance:.0}");
                }
            }
            let ends = [-STEPS, STEPS].map(|step| palette.fill(Paint::Change(step)));
            assert!(distance(ends[0], ends[1]) > 90.0);
        }
    }

    #[test]
    fn classes_tell_paints_apart() {
        let all = Paint::all();
        let classes: BTreeSet<_> = all.iter().map(|paint| paint.class()).collect();
        assert_eq!(classes.len(), all.len());
    }

    #[test]
    fn a_name_keeps_its_color_and_a_module_its_hue() {
        let of = |name: &str, module: Option<&str>| Paint::named(FuncKind::Function, name, module);
        assert_eq!(of("vfs_read", None), of("vfs_read", None));
        let hue = |paint| match paint {
            Paint::Function { hue, .. } => hue,
            other => panic!("{other:?}"),
        };
        assert_eq!(hue(of("a", Some("ext4"))), hue(of("b", Some("ext4"))));
        let hues: BTreeSet<_> = (0..200).map(|n| hue(of(&format!("f{n}"), None))).collect();
        assert_eq!(hues.len(), HUES, "names are spread over all hues");
    }

    #[test]
    fn ratios_become_steps() {
        for (ratio, step) in [
            (1.0, 0),
            (1.04, 0),
            (0.96, 0),
            (1.2, 1),
            (0.6, -2),
            (1.9, 2),
            (3.9, 3),
            (4.1, 4),
            (0.0, -4),
            (f64::INFINITY, 4),
        ] {
            assert_eq!(Paint::of_ratio(ratio), Paint::Change(step), "{ratio}");
        }
    }
}
