//! Where calls wait that are too many for memory: blocks on a stack of which the upper part lies in
//! a temporary file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use profctl_model::BlockStack;

use crate::interrupt::Registered;

/// A private directory, made when a file is to be put into it, and gone when the last who holds it is.
#[derive(Debug, Default)]
pub(crate) struct Temporary {
    made: OnceLock<Directory>,
    files: AtomicU32,
}

#[derive(Debug)]
struct Directory {
    root: tempfile::TempDir,
    /// Removes it on signals.
    _registered: Registered,
}

impl Directory {
    /// Makes one where the system keeps such things.
    fn new() -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("profctl-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(fs::Permissions::from_mode(0o700));
        }
        let root = builder.tempdir()?;
        let registered = Registered::new(root.path());
        Ok(Self { root, _registered: registered })
    }
}

impl Temporary {
    /// A path in it that was not given out before.
    pub(crate) fn path(&self, what: &str) -> io::Result<PathBuf> {
        let made = match self.made.get() {
            Some(made) => made,
            None => {
                let made = Directory::new()?;
                self.made.get_or_init(|| made)
            }
        };
        let file = self.files.fetch_add(1, Ordering::Relaxed);
        Ok(made.root.path().join(format!("{what}-{file}")))
    }
}

/// A stack of blocks: up to so many bytes in memory, the rest in a file.
#[derive(Debug)]
pub(crate) struct Spill {
    memory: Vec<Vec<u8>>,
    /// Bytes of the blocks in memory, and how many there may be.
    held: usize,
    budget: usize,
    directory: Arc<Temporary>,
    file: Option<OnDisk>,
}

#[derive(Debug)]
struct OnDisk {
    file: File,
    path: PathBuf,
    /// The sizes of the blocks in it, from its beginning.
    sizes: Vec<usize>,
    end: u64,
}

impl Spill {
    /// An empty one.
    pub(crate) fn new(budget: usize, directory: Arc<Temporary>) -> Self {
        Self { memory: Vec::new(), held: 0, budget, directory, file: None }
    }
}

impl BlockStack for Spill {
    fn push(&mut self, block: &[u8]) -> io::Result<()> {
        if self.file.is_none() {
            if self.held.saturating_add(block.len()) <= self.budget {
                self.held += block.len();
                self.memory.push(block.to_vec());
                return Ok(());
            }
            self.file = Some(OnDisk::new(self.directory.path("calls")?)?);
        }
        let disk = self.file.as_mut().expect("it was made above");
        disk.push(block)
    }

    fn pop(&mut self) -> io::Result<Option<Vec<u8>>> {
        if let Some(disk) = &mut self.file {
            if let Some(block) = disk.pop()? {
                return Ok(Some(block));
            }
            self.file = None;
        }
        let block = self.memory.pop();
        self.held -= block.as_ref().map_or(0, Vec::len);
        Ok(block)
    }
}

impl OnDisk {
    fn new(path: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        Ok(Self { file, path, sizes: Vec::new(), end: 0 })
    }

    fn push(&mut self, block: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(block)?;
        self.sizes.push(block.len());
        self.end += block.len() as u64;
        Ok(())
    }

    fn pop(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(size) = self.sizes.pop() else { return Ok(None) };
        self.end -= size as u64;
        let mut block = vec![0; size];
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.read_exact(&mut block)?;
        // What was taken need not take space while the rest is worked on.
        self.file.set_len(self.end)?;
        Ok(Some(block))
    }
}

impl Drop for OnDisk {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_block_comes_first_wherever_it_lay() {
        let directory = Arc::new(Temporary::default());
        let mut spill = Spill::new(5, Arc::clone(&directory));
        for block in [&b"one"[..], b"2"] {
            spill.push(block).unwrap();
        }
        assert!(directory.made.get().is_none(), "nothing is on disk yet");
        for block in [&b"three"[..], b"", b"five5"] {
            spill.push(block).unwrap();
        }
        let root = directory.made.get().unwrap().root.path().to_owned();
        drop(directory);
        assert_eq!(spill.memory.len(), 2);
        assert_eq!(spill.pop().unwrap().unwrap(), b"five5");
        spill.push(b"six").unwrap();
        for block in [&b"six"[..], b"", b"three", b"2", b"one"] {
            assert_eq!(spill.pop().unwrap().unwrap(), block);
        }
        assert_eq!(spill.pop().unwrap(), None);
        assert!(root.is_dir());
        drop(spill);
        assert!(!root.exists());
    }
}
