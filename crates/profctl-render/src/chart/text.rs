//! How wide text is, and how to cut it: labels never leave their box.

/// Advance widths of the printable ASCII characters of DejaVu Sans, in thousandths of the font's
/// size. Most fonts that are in for it in a browser are narrower.
const WIDTHS: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
];
/// The widest character of the embedded font; wider ones are not in it.
const WIDEST: u16 = 1094;
const ELLIPSIS: char = '…';
/// Characters that a cut label keeps at least; with fewer it says nothing.
const LEAST_KEPT: usize = 2;

/// The width of `text` in hundredths of a pixel, at `size` pixels.
pub fn width(text: &str, size: u32) -> u64 {
    text.chars().map(|character| advance(character, size)).sum()
}

fn advance(character: char, size: u32) -> u64 {
    let place = (character as usize).checked_sub(' ' as usize);
    let thousandths = place.and_then(|place| WIDTHS.get(place)).copied().unwrap_or(WIDEST);
    (u64::from(thousandths) * u64::from(size)).div_ceil(10)
}

/// As much of `text` as fits `width` hundredths of a pixel, with an ellipsis if it was cut; nothing
/// if too little of it would be left.
pub fn cut(text: &str, room: u64, size: u32) -> Option<String> {
    if width(text, size) <= room {
        return Some(text.to_owned());
    }
    let mut kept = String::new();
    let mut used = advance(ELLIPSIS, size);
    for character in text.chars() {
        used += advance(character, size);
        if used > room {
            break;
        }
        kept.push(character);
    }
    if kept.chars().count() < LEAST_KEPT {
        return None;
    }
    kept.push(ELLIPSIS);
    Some(kept)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_does_not_fit_ends_in_an_ellipsis() {
        for (room, expected) in [
            (10_000, Some("tcp_v4_rcv")),
            (6_200, Some("tcp_v4_rcv")),
            (5_000, Some("tcp_v4…")),
            (2_400, Some("tc…")),
            (2_000, None),
            (0, None),
        ] {
            assert_eq!(cut("tcp_v4_rcv", room, 11).as_deref(), expected, "{room}");
        }
        assert_eq!(cut("", 0, 11).as_deref(), Some(""));
    }

    proptest! {
        #[test]
        fn a_label_never_overflows(text: String, room in 0..20_000_u64) {
            if let Some(label) = cut(&text, room, 11) {
                prop_assert!(width(&label, 11) <= room);
            }
        }
    }
}
