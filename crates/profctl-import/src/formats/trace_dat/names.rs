//! Names that a recording carries: of printk formats and of threads.

use profctl_model::hash::FastMap;

/// The texts of `printk_formats`: lines such as `0xffffffff8f2b : "%s: x\n"`.
pub(super) fn printk(text: &[u8]) -> FastMap<u64, String> {
    let mut found = FastMap::default();
    for line in crate::text::lines(text) {
        let Some(at) = memchr::memmem::find(line.text, b" : ") else { continue };
        let Some(address) = crate::text::integer(line.text[..at].trim_ascii()) else { continue };
        let quoted = line.text[at + 3..].trim_ascii();
        let inside = quoted.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
        let text = String::from_utf8_lossy(inside.unwrap_or(quoted));
        found.insert(address, text.trim_end_matches("\\n").to_owned());
    }
    found
}

/// The texts of `saved_cmdlines`: lines such as `369 workload`.
pub(super) fn cmdlines(text: &[u8]) -> FastMap<u64, Box<[u8]>> {
    let mut found = FastMap::default();
    for line in crate::text::lines(text) {
        let Some(at) = memchr::memchr(b' ', line.text) else { continue };
        if let Some(pid) = crate::text::decimal(&line.text[..at], 0) {
            found.insert(pid, line.text[at + 1..].into());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_names_of_threads() {
        let printk = printk(b"0xffff0000 : \"hello %d\\n\"\nodd\n0xzz : \"x\"\n");
        assert_eq!(printk.len(), 1);
        assert_eq!(printk[&0xffff_0000], "hello %d");
        let names = cmdlines(b"369 workload\n7 a b\n-1 x\n12\n");
        assert_eq!((&*names[&369], &*names[&7], names.len()), (&b"workload"[..], &b"a b"[..], 2));
    }
}
