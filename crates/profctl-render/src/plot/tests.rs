use super::draw::pair;
use super::scale::{label, ticks};
use super::*;
use crate::chart::palette::{Palette, contrast};

fn example(name: &str) -> Plot {
    let x = Axis::log("elapsed", Values::Times, [2e3, 7e6].into_iter());
    let y = Axis::from_zero("calls", Values::Counts, 40.0);
    let bars = vec![
        Bar { from: 2e3, to: 4e3, base: 0.0, top: 40.0 },
        Bar { from: 1e6, to: 7e6, base: 0.0, top: 3.0 },
    ];
    Plot {
        title: name.to_owned(),
        caption: vec!["43 calls".to_owned()],
        x,
        y,
        series: vec![Series {
            name: "before".to_owned(),
            color: Color::Number(0),
            shape: Shape::Bars(bars),
        }],
        guides: vec![Guide::line("p50", true, 3e3)],
    }
}

#[test]
fn colors_are_seen_on_both_grounds() {
    let colors = (0..COLORS).map(Color::Number).chain([Color::Other]);
    for color in colors {
        let (light, dark) = pair(color);
        assert!(contrast(light, Palette::LIGHT.background) >= 3.0, "{color:?}");
        assert!(contrast(dark, Palette::DARK.background) >= 3.0, "{color:?}");
    }
}

#[test]
fn ticks_are_round_values_with_units() {
    let shown = |axis: &Axis, most: usize| -> Vec<String> {
        ticks(axis, most).into_iter().map(|value| label(value, axis)).collect()
    };
    let x = example("").x;
    assert_eq!(
        shown(&x, 20),
        [
            "2 us", "5 us", "10 us", "20 us", "50 us", "100 us", "200 us", "500 us", "1 ms",
            "2 ms", "5 ms"
        ]
    );
    assert_eq!(shown(&x, 7), ["3 us", "10 us", "30 us", "100 us", "300 us", "1 ms", "3 ms"]);
    assert_eq!(shown(&x, 3), ["10 us", "100 us", "1 ms"]);
    let time = Axis::from_zero("time", Values::Times, 2.4e9);
    assert_eq!(shown(&time, 6), ["0 s", "0.5 s", "1 s", "1.5 s", "2 s", "2.5 s"]);
    let share = Axis { to: 1.0, ..Axis::from_zero("busy", Values::Shares, 1.0) };
    assert_eq!(shown(&share, 5), ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]);
    let names = Axis::of_names("", vec!["a".into(), "b".into()]);
    assert_eq!(shown(&names, 5), ["a", "b"]);
    let ratios = Axis::log("", Values::Ratios, [0.9, 1.2].into_iter());
    assert_eq!(shown(&ratios, 4), ["1.00x", "1.20x"]);
}

#[test]
fn any_axis_has_ticks_and_no_endless_list_of_them() {
    for values in [vec![], vec![0.0], vec![1e-300, 1e300], vec![5.0], vec![f64::NAN, 3.0]] {
        let axis = Axis::log("", Values::Counts, values.iter().copied());
        let n = ticks(&axis, 8).len();
        assert!((1..=40).contains(&n), "{values:?}: {n}");
    }
    for largest in [0.0, 1e-9, 1e18] {
        let n = ticks(&Axis::from_zero("", Values::Times, largest), 8).len();
        assert!((2..=20).contains(&n), "{largest}: {n}");
    }
}

#[test]
fn names_cannot_break_out_of_the_picture() {
    let plot = example("a<b>&\"\u{202e}\n</svg><script>");
    let text = svg(&plot, (600, 400), None).unwrap();
    let mut reader = quick_xml::Reader::from_str(&text);
    let mut elements = 0;
    loop {
        match reader.read_event().expect("well-formed") {
            quick_xml::events::Event::Eof => break,
            quick_xml::events::Event::Start(start) | quick_xml::events::Event::Empty(start) => {
                assert_ne!(start.name().as_ref() as &str, "script");
                elements += 1;
            }
            _ => {}
        }
    }
    assert!(elements > 20, "{elements}");
    assert!(text.contains("prefers-color-scheme: dark"));
    assert!(!svg(&plot, (600, 400), Some(Theme::Light)).unwrap().contains("prefers"));
}

#[test]
fn pixels_differ_by_theme_and_the_same_plot_gives_the_same_bytes() {
    let plot = example("in_cksum");
    let light = png(&plot, (320, 240), Theme::Light).unwrap();
    assert_eq!(light, png(&plot, (320, 240), Theme::Light).unwrap());
    assert_ne!(light, png(&plot, (320, 240), Theme::Dark).unwrap());
    assert!(png(&plot, (100_000, 100_000), Theme::Light).is_err());
}
