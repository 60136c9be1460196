//! What the tags of probes mean: which event of which function, by a name file.

use std::sync::Arc;

use profctl_model::{Code, Func, FuncKind, Severity};

use crate::emit::{Emitter, NameRef, TagKind};

mod names;

pub(crate) use names::{Named, kind_of, parse};

/// A tag without a name.
pub(crate) static UNKNOWN_TAG: Code = Code {
    name: "probe/unknown-tag",
    severity: Severity::Warning,
    help: "a tag is not in the name file and counts as an instant: the name file may belong to \
           another build",
};

/// Tags below this number are looked up by index, which costs 8 bytes each.
const INDEXED_MAX: u32 = 1 << 20;

/// The tags of a name file, as one reader meets them.
pub(crate) struct Tags {
    names: Arc<[Named]>,
    /// What each tag says, once it was met. A reader always fills the same emitter, so a name
    /// stays what it was from block to block.
    known: Vec<Meaning>,
}

/// What a record of a tag says. The kind is absent until the tag was met.
#[derive(Clone, Copy, Default)]
struct Meaning {
    name: u32,
    kind: Option<TagKind>,
}

impl Tags {
    /// The tags that `names` describe.
    pub(crate) fn new(mut names: Vec<Named>) -> Self {
        names.sort_by_key(|named| named.tag);
        Self::unbound(names.into())
    }

    /// The same for another reader, which has met none of them yet.
    pub(crate) fn fork(&self) -> Self {
        Self::unbound(Arc::clone(&self.names))
    }

    fn unbound(names: Arc<[Named]>) -> Self {
        let end = names.last().map_or(0, |named| named.tag.saturating_add(2));
        let known = vec![Meaning::default(); end.min(INDEXED_MAX) as usize];
        Self { names, known }
    }

    /// What `tag` says. One without a name is an instant, and counted at `offset`.
    #[inline]
    pub(crate) fn meaning(
        &mut self,
        tag: u32,
        offset: usize,
        out: &mut Emitter,
    ) -> (TagKind, NameRef) {
        match self.known.get(tag as usize) {
            Some(&Meaning { name, kind: Some(kind) }) => (kind, NameRef(name)),
            _ => self.meet(tag, offset, out),
        }
    }

    /// What a tag says that is not in the table: met for the first time, too large for it, or
    /// unknown.
    #[cold]
    fn meet(&mut self, tag: u32, offset: usize, out: &mut Emitter) -> (TagKind, NameRef) {
        let is_it = |named: &&Named| {
            tag == named.tag || (named.kind != FuncKind::Mark && tag == named.tag + 1)
        };
        let below = self.names.partition_point(|named| named.tag <= tag);
        let Some(named) = self.names[..below].last().filter(is_it) else {
            out.diag(&UNKNOWN_TAG, offset, || format!("found tag {tag:#06x}, which has no name"));
            return (TagKind::INSTANT, unknown(tag, out));
        };
        let kind = match (named.kind, named.switches, tag == named.tag) {
            (FuncKind::Mark, ..) => TagKind::INSTANT,
            (_, true, true) => TagKind::SWITCH_ENTER,
            (_, true, false) => TagKind::SWITCH_EXIT,
            (_, false, true) => TagKind::ENTER,
            (_, false, false) => TagKind::EXIT,
        };
        let name = out.func(&named.name, named.kind);
        if let Some(meaning) = self.known.get_mut(tag as usize) {
            *meaning = Meaning { name: name.0, kind: Some(kind) };
        }
        (kind, name)
    }
}

/// The name of a tag that has none. Corrupt data must not create a name per record, so large
/// unknown tags share one.
fn unknown(tag: u32, out: &mut Emitter) -> NameRef {
    let name = match tag {
        0..INDEXED_MAX => format!("tag {tag:#06x}"),
        _ => format!("tags from {INDEXED_MAX:#x}"),
    };
    // The NUL distinguishes it from a function of that name.
    out.name(format!("\0{name}").as_bytes(), |_| Func {
        name,
        kind: FuncKind::Mark,
        ..Func::default()
    })
}
