//! A disk as it may be after a power cut: all that was synced, and of the rest whatever chance leaves.
//!
//! `Disk` follows a record. Each change of a file or of a directory is open until a sync that began after it has come
//! back well. A cut keeps what is certain; of what is open each change may be there, may be missing, or may be torn at
//! the sectors. After a sync that failed the changes that it was for are in doubt for good: the system takes them for
//! written and will not write them again.

mod inode;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::{Context, ensure};

use self::inode::{Change, Inode};
use super::record::Op;
use crate::rng::Rng;

/// How much survives a cut of what was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Survival {
    /// Nothing.
    Clean,
    /// Everything, as after a kill.
    Lucky,
    /// The first changes of each file, and no later ones.
    InOrder,
    /// Any of them, whole or torn.
    Wild,
}

/// Files by their names under the root; a directory has none of its own.
pub(crate) type Image = BTreeMap<String, Option<Vec<u8>>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    File(usize),
    Dir,
}

/// A change of names. Its directory keeps it.
#[derive(Debug, Clone)]
enum DirectoryChange {
    Link { name: String, node: Node },
    Unlink { name: String },
    Move { from: String, to: String, node: Node },
}

impl DirectoryChange {
    fn apply(&self, names: &mut BTreeMap<String, Node>) {
        match self {
            Self::Link { name, node } => _ = names.insert(name.clone(), *node),
            Self::Unlink { name } => _ = names.remove(name),
            Self::Move { from, to, node } => {
                names.remove(from);
                names.insert(to.clone(), *node);
            }
        }
    }

    /// Whether a sync of this directory makes it certain.
    fn is_kept_by(&self, dir: &str) -> bool {
        match self {
            Self::Link { name, .. } | Self::Unlink { name } => parent(name) == dir,
            Self::Move { from, to, .. } => parent(from) == dir && parent(to) == dir,
        }
    }
}

fn parent(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(above, _)| above)
}

/// What an opened file is.
#[derive(Debug, Clone)]
enum OpenFile {
    File(usize),
    Dir(String),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Disk {
    inodes: Vec<Inode>,
    /// As the running system sees them.
    names: BTreeMap<String, Node>,
    /// As they are on the disk for certain.
    certain: BTreeMap<String, Node>,
    /// Each with its number.
    open: Vec<(usize, DirectoryChange)>,
    namings: usize,
    opened: HashMap<u32, OpenFile>,
    /// For each sync under way, how many changes there had been.
    syncing: HashMap<u64, usize>,
}

impl Disk {
    /// Another process: the numbers of its files begin anew. What was not synced still is not.
    pub(crate) fn new_process(&mut self) {
        self.opened.clear();
        self.syncing.clear();
    }

    pub(crate) fn apply(&mut self, op: &Op) -> anyhow::Result<()> {
        match op {
            Op::Opened { file, name } => {
                let opened = match self.names.get(name) {
                    Some(Node::File(inode)) => OpenFile::File(*inode),
                    // The root is there before anything else.
                    Some(Node::Dir) => OpenFile::Dir(name.clone()),
                    None if name.is_empty() => OpenFile::Dir(name.clone()),
                    None => anyhow::bail!("`{name}` was opened and never made"),
                };
                self.opened.insert(*file, opened);
            }
            Op::Created { file, name } => {
                self.inodes.push(Inode::default());
                let inode = self.inodes.len() - 1;
                self.opened.insert(*file, OpenFile::File(inode));
                self.name(DirectoryChange::Link { name: name.clone(), node: Node::File(inode) });
            }
            Op::MadeDir { name } => self.name(DirectoryChange::Link { name: name.clone(), node: Node::Dir }),
            Op::Unlinked { name } => self.name(DirectoryChange::Unlink { name: name.clone() }),
            Op::Renamed { from, to } => {
                let node = *self.names.get(from).with_context(|| format!("`{from}` was never made"))?;
                self.name(DirectoryChange::Move { from: from.clone(), to: to.clone(), node });
            }
            Op::Wrote { file, at, bytes } => {
                self.inode(*file)?.change(Change::Write { at: *at, bytes: bytes.clone() });
            }
            Op::Truncated { file, length } => self.inode(*file)?.change(Change::Truncate(*length)),
            Op::SyncBegan { file, sync } => {
                let count = match self.opened.get(file).context("a sync of no file")? {
                    OpenFile::File(inode) => self.inodes[*inode].count(),
                    OpenFile::Dir(_) => self.namings,
                };
                self.syncing.insert(*sync, count);
            }
            Op::SyncEnded { file, sync } => {
                let count = self.syncing.remove(sync).context("a sync ended that never began")?;
                match self.opened.get(file).context("a sync of no file")?.clone() {
                    OpenFile::File(inode) => self.inodes[inode].sync_changes(count),
                    OpenFile::Dir(dir) => self.settle_names(&dir, count),
                }
            }
            Op::SyncFailed { file } => {
                if let Some(OpenFile::File(inode)) = self.opened.get(file) {
                    self.inodes[*inode].give_up();
                }
            }
            Op::Told { .. } | Op::Asked { .. } => {}
        }
        Ok(())
    }

    fn inode(&mut self, file: u32) -> anyhow::Result<&mut Inode> {
        match self.opened.get(&file) {
            Some(OpenFile::File(inode)) => Ok(&mut self.inodes[*inode]),
            other => anyhow::bail!("{other:?} was written to"),
        }
    }

    fn name(&mut self, naming: DirectoryChange) {
        naming.apply(&mut self.names);
        self.open.push((self.namings, naming));
        self.namings += 1;
    }

    fn settle_names(&mut self, dir: &str, count: usize) {
        let certain = &mut self.certain;
        self.open.retain(|(number, naming)| {
            let settled = *number < count && naming.is_kept_by(dir);
            if settled {
                naming.apply(certain);
            }
            !settled
        });
    }

    /// What the running system sees.
    pub(crate) fn current_image(&self) -> Image {
        let of = |node: &Node| match node {
            Node::File(inode) => Some(self.inodes[*inode].current_bytes()),
            Node::Dir => None,
        };
        self.names.iter().map(|(name, node)| (name.clone(), of(node))).collect()
    }

    /// One file as the running system sees it.
    pub(crate) fn file(&self, name: &str) -> Option<Vec<u8>> {
        match self.names.get(name)? {
            Node::File(inode) => Some(self.inodes[*inode].current_bytes()),
            Node::Dir => None,
        }
    }

    /// What is there when the power comes back.
    pub(crate) fn image_after_cut(&self, mood: Survival, rng: &mut Rng) -> Image {
        let mut names = self.certain.clone();
        let open = match mood {
            Survival::Clean => 0,
            Survival::Lucky | Survival::Wild => self.open.len(),
            Survival::InOrder => rng.below(self.open.len() as u64 + 1) as usize,
        };
        for (_, naming) in &self.open[..open] {
            if mood != Survival::Wild || rng.chance(50) {
                naming.apply(&mut names);
            }
        }
        let mut image = Image::new();
        for (name, node) in &names {
            if !is_reached(name, &names) {
                continue;
            }
            let content = match node {
                Node::Dir => None,
                Node::File(inode) => {
                    let mut bytes = self.inodes[*inode].bytes_after_cut(mood, rng);
                    // It is mapped into memory, and the system writes it when it pleases.
                    if name.ends_with("-shm") {
                        bytes.iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
                    }
                    Some(bytes)
                }
            };
            image.insert(name.clone(), content);
        }
        image
    }

    /// Takes over what is really there. A process that was killed between a call and its entry leaves one change
    /// that is not on record; more than one means that the record is not what happened.
    pub(crate) fn adopt(&mut self, root: &Path, real: &Image) -> anyhow::Result<()> {
        let seen = self.current_image();
        let differs = |name: &&String| !name.ends_with("-shm") && seen.get(*name) != real.get(*name);
        let all: std::collections::BTreeSet<&String> = seen.keys().chain(real.keys()).collect();
        let odd: Vec<&String> = all.into_iter().filter(differs).collect();
        ensure!(
            odd.len() <= 1,
            "the record does not tell what happened in {}: {odd:?} differ; the harness is broken",
            root.display()
        );
        let Some(name) = odd.first() else { return Ok(()) };
        match (self.names.get(*name).copied(), real.get(*name)) {
            (Some(Node::File(inode)), Some(Some(bytes))) => self.inodes[inode].adopt(bytes),
            (Some(_), None) => self.name(DirectoryChange::Unlink { name: (*name).clone() }),
            (None, Some(content)) => {
                let node = match content {
                    None => Node::Dir,
                    Some(bytes) => {
                        ensure!(bytes.is_empty(), "`{name}` was written without being on record");
                        self.inodes.push(Inode::default());
                        Node::File(self.inodes.len() - 1)
                    }
                };
                self.name(DirectoryChange::Link { name: (*name).clone(), node });
            }
            _ => anyhow::bail!("`{name}` is a file here and a directory there"),
        }
        Ok(())
    }
}

/// Whether every directory above it is there.
fn is_reached(name: &str, names: &BTreeMap<String, Node>) -> bool {
    let above = parent(name);
    above.is_empty() || (names.get(above) == Some(&Node::Dir) && is_reached(above, names))
}

#[cfg(test)]
mod tests;
