//! Any file or directory, by the reader that `PROFCTL_FUZZ_FORMAT` names.

#![no_main]

use libfuzzer_sys::fuzz_target;
use profctl_fuzz::input;

fuzz_target!(|bytes: &[u8]| {
    let Some((files, options)) = input::parse(bytes) else {
        return;
    };
    match &files[..] {
        [(_, bytes)] => profctl_fuzz::check(bytes, &options),
        files => profctl_fuzz::check_directory(files, &options),
    }
});
