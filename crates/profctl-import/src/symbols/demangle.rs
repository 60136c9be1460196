//! Names of C++ and Rust functions as their authors wrote them.

use cpp_demangle::{DemangleOptions, Symbol};

/// Longer names are left alone: demangling takes time that grows with the square of the length.
const NAME_MAX: usize = 64 << 10;

/// The function that the linker's name `mangled` stands for; the name itself if it is not a mangled
/// one. Hashes of Rust names are omitted, parameters and template arguments of C++ names kept.
pub fn demangled(mangled: &str) -> String {
    // What follows an `@` is a version of the symbol, what follows a dot was added by the compiler.
    let (name, version) = mangled.split_at(mangled.find('@').unwrap_or(mangled.len()));
    if name.len() > NAME_MAX || !(name.starts_with("_Z") || name.starts_with("_R")) {
        return mangled.to_owned();
    }
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}{version}");
    }
    let demangle = |name: &str| {
        let symbol = Symbol::new(name).ok()?;
        symbol.demangle_with_options(&DemangleOptions::new()).ok()
    };
    demangle(name).map_or_else(|| mangled.to_owned(), |found| found + version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_languages_are_told() {
        for (mangled, expected) in [
            ("main", "main"),
            ("_Zonk", "_Zonk"),
            ("_R", "_R"),
            ("_Z3addil", "add(int, long)"),
            ("_ZN2ns5ClassC1Ev", "ns::Class::Class()"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                "std::vector<int, std::allocator<int> >::push_back(int const&)",
            ),
            ("_Znwm@GLIBCXX_3.4", "operator new(unsigned long)@GLIBCXX_3.4"),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_RNvMNtCs1234_7mycrate3fooNtB2_3Bar3baz", "<mycrate::foo::Bar>::baz"),
        ] {
            assert_eq!(demangled(mangled), expected);
        }
    }

    #[test]
    fn a_bomb_is_left_alone() {
        let deep = format!("_Z1f{}v", "P".repeat(10_000));
        assert_eq!(demangled(&deep), deep);
        let long = format!("_Z{}", "1a".repeat(NAME_MAX));
        assert_eq!(demangled(&long), long);
    }

    proptest::proptest! {
        #[test]
        fn any_name_is_told_somehow(name in "_[ZR][A-Za-z0-9_.$@]{0,60}") {
            demangled(&name);
        }
    }
}
