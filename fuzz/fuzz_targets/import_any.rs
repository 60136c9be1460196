//! Any bytes as any format: the first byte chooses it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use profctl_import::{FORMATS, ImportOptions, ReadOptions};

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, bytes)) = bytes.split_first() else {
        return;
    };
    let format = FORMATS[usize::from(first) % FORMATS.len()]
        .descriptor()
        .name;
    let names = b"f/2\ng/4^\nh/6!\ni/8~\nj/10!~\nk/13=\n".to_vec();
    let options = ReadOptions {
        format: Some(format.into()),
        import: ImportOptions {
            names: Some(names),
            ..ImportOptions::default()
        },
        ..ReadOptions::default()
    };
    profctl_fuzz::check(bytes, &options);
});
