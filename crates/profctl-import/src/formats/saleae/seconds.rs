//! Times as Logic and spreadsheets write them, in nanoseconds.

/// Nanoseconds that `cell` spells in seconds (`-0.000012500`, `1,5`, `1.5E-05`) or as a date
/// (`2024-05-01T12:34:56.789012345+02:00`), rounded to the nearest.
pub(super) fn nanoseconds(cell: &[u8]) -> Option<i128> {
    let cell = std::str::from_utf8(cell).ok()?;
    if let [b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'-', ..] = cell.as_bytes() {
        return date(cell);
    }
    let (is_negative, rest) = match cell.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, cell.strip_prefix('+').unwrap_or(cell)),
    };
    let (digits, exponent) = match rest.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse().ok()?),
        None => (rest, 0_i32),
    };
    let found = decimal(digits, exponent.checked_add(9)?)?;
    Some(if is_negative { -found } else { found })
}

/// A number times ten to the power of `shift`; a comma is as good as a point.
fn decimal(digits: &str, shift: i32) -> Option<i128> {
    let (whole, fraction) = digits.split_once(['.', ',']).unwrap_or((digits, ""));
    if whole.is_empty() || whole.len() + fraction.len() > 30 || !(-40..=20).contains(&shift) {
        return None;
    }
    let mut value = 0_i128;
    for byte in whole.bytes().chain(fraction.bytes()) {
        value = value * 10 + i128::from(char::from(byte).to_digit(10)?);
    }
    let shift = shift - fraction.len() as i32;
    let power = 10_i128.checked_pow(shift.unsigned_abs());
    match (power, shift >= 0) {
        (Some(power), true) => value.checked_mul(power),
        (Some(power), false) => Some((value + power / 2) / power),
        (None, _) => Some(0),
    }
}

/// Nanoseconds since 1970.
fn date(text: &str) -> Option<i128> {
    let (day, time) = text.split_once(['T', ' '])?;
    let mut parts = day.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (time, offset) = match time.find(['Z', '+', '-']) {
        Some(at) => (&time[..at], offset(&time[at..])?),
        None => (time, 0),
    };
    let mut parts = time.splitn(3, ':');
    let hours: i128 = parts.next()?.parse().ok()?;
    let minutes: i128 = parts.next()?.parse().ok()?;
    let nanos = decimal(parts.next()?, 9)?;
    let minutes = i128::from(days(year, month, day)) * 1_440 + hours * 60 + minutes - offset;
    Some(minutes * 60_000_000_000 + nanos)
}

/// Minutes before universal time in `Z`, `+02:00`, `-0330`.
fn offset(text: &str) -> Option<i128> {
    if text == "Z" {
        return Some(0);
    }
    let digits: String = text[1..].chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes: i128 = if minutes.is_empty() { 0 } else { minutes.parse().ok()? };
    let minutes = hours.parse::<i128>().ok()? * 60 + minutes;
    Some(if text.starts_with('-') { -minutes } else { minutes })
}

/// Days since 1970-01-01 of the Gregorian calendar. A year begins in March here, so that the leap
/// day is its last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let in_year = (153 * month + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + in_year
        - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (cell, expected) in [
            ("0.000000000", Some(0)),
            ("3.325394000", Some(3_325_394_000)),
            ("3,325394", Some(3_325_394_000)),
            ("-0.0000125", Some(-12_500)),
            ("1.5E-05", Some(15_000)),
            ("1,5e2", Some(150_000_000_000)),
            ("1e-30", Some(0)),
            ("0.0000000005", Some(1)),
            ("1970-01-01T00:00:01.5Z", Some(1_500_000_000)),
            ("1970-01-01 02:00:00.000000001+02:00", Some(1)),
            ("1969-12-31T23:59:59-0001", Some(59_000_000_000)),
            ("2000-02-29T00:00:00Z", Some(951_782_400_000_000_000)),
            ("2024-12-31T23:59:59.999999999Z", Some(1_735_689_599_999_999_999)),
            ("", None),
            ("-", None),
            (".5", None),
            ("1.2.3", None),
            ("1e", None),
            ("1e99", None),
            ("2024-13-01T00:00:00Z", None),
            ("2024-01-01", None),
            ("2024-01-01T00:00", None),
            ("2024-01-01T00:00:00+x", None),
        ] {
            assert_eq!(nanoseconds(cell.as_bytes()), expected, "{cell}");
        }
        assert_eq!(nanoseconds(b"\xff"), None);
    }
}
