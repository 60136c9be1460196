//! Any layout, any name file, any records: five bytes of layout, then the name file up to a NUL,
//! then the records.

#![no_main]

use libfuzzer_sys::fuzz_target;
use profctl_import::bytes::Endian;
use profctl_import::formats::probe::{FieldOrder, ProbeOptions};
use profctl_import::{ImportOptions, ReadOptions};

fuzz_target!(|bytes: &[u8]| {
    let Some((&[tag_bits, time_bits, flags, extra, _], rest)) = bytes.split_first_chunk::<5>()
    else {
        return;
    };
    let names = rest.split(|&byte| byte == 0).next().unwrap_or_default();
    let records = rest.get(names.len() + 1..).unwrap_or_default();
    let probe = ProbeOptions {
        tag_bits: u32::from(tag_bits) % 34,
        time_bits: u32::from(time_bits) % 66,
        endian: if flags & 1 == 0 { Endian::Little } else { Endian::Big },
        order: if flags & 2 == 0 { FieldOrder::TagTime } else { FieldOrder::TimeTag },
        record_bytes: (flags & 4 != 0).then_some(usize::from(extra)),
        ..ProbeOptions::default()
    };
    let options = ReadOptions {
        format: Some("probe".into()),
        import: ImportOptions { names: Some(names.to_vec()), probe, ..ImportOptions::default() },
        ..ReadOptions::default()
    };
    profctl_fuzz::check(records, &options);
});
