use proptest::prelude::*;

use super::*;

fn parse(listing: &str) -> Symbols {
    Symbols::parse(listing.as_bytes()).unwrap()
}

#[test]
fn every_flavour_says_the_same() {
    let flavours = [
        "00401000 T main\n00401040 t helper\n00401060 D table\n",
        // -n reversed, --numeric-sort off
        "00401060 D table\n00401040 t helper\n00401000 T main\n",
        // -S
        "0000000000401000 0000000000000040 T main\n0000000000401040 0000000000000020 t helper\n",
        // -A
        "./a.out:00401000 T main\n./a.out:00401040 t helper\n./a.out:00401060 D table\n",
        // -P
        "main T 401000 40\nhelper t 401040 20\n",
        // -f sysv
        "\n\nSymbols from a.out:\n\nName                  Value   Class        Type         Size     Line  Section\n\n\
         helper              |0000000000401040|   t  |              FUNC|0000000000000020|     |.text\n\
         main                |0000000000401000|   T  |              FUNC|0000000000000040|     |.text\n",
        // kallsyms, -l
        "401000 T main\n401040 t helper\t[module]\n401060 b buffer\t/src/a.c:3\n",
        "0x401000 T main\r\n0x401040 t helper\r\n0x401060 R text\r\n",
    ];
    for listing in flavours {
        let symbols = parse(listing);
        assert_eq!(symbols.len(), 2, "{listing}");
        assert_eq!(symbols.lookup(0x40_1000), Some(("main", 0)), "{listing}");
        assert_eq!(symbols.lookup(0x40_103f), Some(("main", 0x3f)), "{listing}");
        assert_eq!(symbols.lookup(0x40_105f), Some(("helper", 0x1f)), "{listing}");
        assert_eq!(symbols.lookup(0x40_1060), None, "{listing}");
        assert_eq!(symbols.lookup(0x40_0fff), None, "{listing}");
        assert_eq!(symbols.start_of("helper"), Some(0x40_1040), "{listing}");
        assert_eq!(symbols.start_of("table"), None, "{listing}");
    }
}

#[test]
fn names_with_spaces_and_names_that_are_addresses() {
    let symbols = parse("401000 T ns::f(int, char const*)\n401010 t add\n401020 W dead beef\n");
    assert_eq!(symbols.lookup(0x40_1001), Some(("ns::f(int, char const*)", 1)));
    assert_eq!(symbols.lookup(0x40_1010), Some(("add", 0)));
    assert_eq!(symbols.lookup(0x40_1020), Some(("dead beef", 0)));
}

#[test]
fn of_several_names_the_global_one_wins_and_a_size_counts_for_all() {
    let symbols = parse(
        "1000 w weak\n1000 0000000000000010 t local\n1000 T zeta\n1000 T alpha\n1020 T next\n",
    );
    assert_eq!(symbols.lookup(0x100f), Some(("alpha", 15)));
    assert_eq!(symbols.lookup(0x1010), None);
    assert_eq!(symbols.start_of("weak"), Some(0x1000));
}

#[test]
fn names_are_demangled_unless_they_are_kept() {
    let listing = b"1000 T _Z3addil\n1010 T main\n";
    let name = |keeps_mangled| {
        let symbols = Symbols::read(listing, keeps_mangled).unwrap();
        assert_eq!(symbols.start_of("_Z3addil"), Some(0x1000));
        symbols.lookup(0x1000).unwrap().0.to_owned()
    };
    assert_eq!((name(false), name(true)), ("add(int, long)".into(), "_Z3addil".into()));
}

#[test]
fn what_is_no_code_is_no_function() {
    let symbols = parse(
        "                 U puts\n0000 A constant\n1000 T f\n1008 t $x\n1008 t $d.12\n\
         1008 t $xrv64i2p1\n1010 t $cleanup\n1020 B bss\n",
    );
    assert_eq!(symbols.len(), 2);
    assert_eq!(symbols.lookup(0x100c), Some(("f", 12)), "mapping symbols cut nothing");
    assert_eq!(symbols.lookup(0x1010), Some(("$cleanup", 0)));
    assert_eq!(symbols.lookup(0), None);
}

#[test]
fn the_last_function_ends_somewhere() {
    let symbols = parse("1000 T f\nffffffffffffff00 T g\n");
    assert_eq!(symbols.lookup(u64::MAX - 1), Some(("g", 0xfe)));
    let symbols = parse("1000 T f\n");
    assert_eq!(symbols.lookup(0x1000 + REACH_OF_THE_LAST), None);
}

#[test]
fn what_is_no_table_is_refused_with_what_was_found() {
    for (wrong, part) in [
        ("", "no function"),
        ("\n\n", "no function"),
        ("1000 D data\n", "no function"),
        ("Dear Sir,\n", "found `Dear Sir,`"),
        ("\x7fELF", "damaged ELF file"),
    ] {
        let error = Symbols::parse(wrong.as_bytes()).unwrap_err();
        assert!(error.contains(part) && error.contains("expected"), "{wrong:?}: {error}");
    }
}

/// A test is an ELF file with symbols itself, at least where this system uses them.
#[test]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "tests read files")]
fn an_elf_file_names_its_functions() {
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let symbols = Symbols::parse(&own).unwrap();
    let start = symbols.start_of("main").unwrap();
    assert_eq!(symbols.lookup(start), Some(("main", 0)));
    assert!(symbols.len() > 100);
    assert!(symbols.symbols.is_sorted_by(|a, b| a.start < b.start));
}

proptest! {
    #[test]
    fn garbage_is_refused_or_read(bytes: Vec<u8>, address: u64) {
        for head in [&b""[..], b"\x7fELF", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0"] {
            if let Ok(symbols) = Symbols::parse(&[head, &bytes].concat()) {
                symbols.lookup(address);
            }
        }
    }

    #[test]
    fn a_function_holds_its_own_addresses(
        starts in proptest::collection::btree_set(0_u64..10_000, 1..40), address in 0_u64..11_000
    ) {
        let lines: Vec<_> = starts.iter().map(|start| format!("{start:x} T f{start}")).collect();
        let listing = lines.join("\n");
        let expected = starts.range(..=address).next_back().map(|s| (format!("f{s}"), address - s));
        let symbols = parse(&listing);
        let found = symbols.lookup(address).map(|(name, offset)| (name.to_owned(), offset));
        prop_assert_eq!(found, expected);
    }
}
