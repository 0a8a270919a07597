//! What people, editors, deployments and the kubelet do to plugin directories, step by step, and which versions are
//! wanted afterwards. Whoever tests decides when to look between the steps.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Two directories, of which the first one counts where both have a name: one that everybody writes to, and a volume
/// that a kubelet fills.
pub struct Site {
    free: PathBuf,
    volume: PathBuf,
    /// Beside both: what links lead to, and what is about to be moved in.
    store: PathBuf,
    names: [String; 4],
    content: fn(u32) -> Vec<u8>,
    cells: BTreeMap<String, Cell>,
    published: BTreeMap<String, u32>,
    /// What ran when it could not be seen any more.
    frozen: BTreeMap<String, u32>,
    hidden: bool,
    last: u32,
}

/// What is in the free directory under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cell {
    Version(u32),
    /// A link to a file in the store.
    Link(u32, PathBuf),
    /// Something is there and cannot be read.
    Blocked,
}

/// One thing that is done at once, and what events tell of it.
pub struct Step {
    act: Box<dyn FnOnce()>,
    pub told: Told,
}

#[derive(Clone, Debug)]
pub enum Told {
    Nothing,
    Writing(PathBuf),
    Finished(PathBuf),
    AllFinished,
}

impl Step {
    fn new(told: Told, act: impl FnOnce() + 'static) -> Self {
        Self { act: Box::new(act), told }
    }

    pub fn carry_out(self) -> Told {
        (self.act)();
        self.told
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Rename,
    WriteInPlace,
    WriteSlowly,
    SaveLikeVim,
    Remove,
    HardLink,
    Link,
    /// The file that a link leads to changes: no event tells of it.
    ChangeTarget,
    /// Something that is no file takes its place.
    Odd,
    Block,
    Touch,
    Publish,
    HideDirectory,
    ShowDirectory,
}

const OPERATIONS: [Operation; 13] = [
    Operation::Rename,
    Operation::WriteInPlace,
    Operation::WriteSlowly,
    Operation::SaveLikeVim,
    Operation::Remove,
    Operation::HardLink,
    Operation::Link,
    Operation::ChangeTarget,
    Operation::Odd,
    Operation::Block,
    Operation::Touch,
    Operation::Publish,
    Operation::HideDirectory,
];

impl Operation {
    /// Whether what runs before it must be known, because it stays.
    pub fn freezes(self) -> bool {
        matches!(self, Self::Block | Self::HideDirectory)
    }
}

impl Site {
    /// Makes the directories below `root`; names begin with the prefix.
    pub fn new(root: &Path, prefix: &str, content: fn(u32) -> Vec<u8>) -> Self {
        let directory = |name: &str| {
            let path = root.join(name);
            fs::create_dir_all(&path).expect("a directory");
            path
        };
        let names = ["a", "b", "c", "d"].map(|name| format!("{prefix}{name}"));
        Self {
            free: directory("free"),
            volume: directory("volume"),
            store: directory("store"),
            names,
            content,
            cells: BTreeMap::new(),
            published: BTreeMap::new(),
            frozen: BTreeMap::new(),
            hidden: false,
            last: 0,
        }
    }

    /// In the order in which they count.
    pub fn directories(&self) -> Vec<PathBuf> {
        vec![self.free.clone(), self.volume.clone()]
    }

    /// The content of each name that is wanted.
    pub fn wanted(&self) -> BTreeMap<String, Vec<u8>> {
        let wanted = |name: &String| Some((name.clone(), (self.content)(self.version(name)?)));
        self.names.iter().filter_map(wanted).collect()
    }

    /// Whether these bytes are a whole version.
    pub fn is_whole(&self, content: &[u8]) -> bool {
        (1..=self.last).any(|version| (self.content)(version) == content)
    }

    fn version(&self, name: &str) -> Option<u32> {
        match self.cells.get(name) {
            Some(_) if self.hidden => self.frozen.get(name).copied(),
            Some(Cell::Version(version) | Cell::Link(version, _)) => Some(*version),
            Some(Cell::Blocked) => self.frozen.get(name).copied(),
            None => self.published.get(name).copied(),
        }
    }

    /// An operation that makes sense now.
    pub fn choose(&self, random: &mut fastrand::Rng) -> Operation {
        if self.hidden {
            return *random.choice(&[Operation::ShowDirectory, Operation::Publish]).expect("one");
        }
        let blocked = self.cells.values().any(|cell| *cell == Cell::Blocked);
        match OPERATIONS[random.usize(..OPERATIONS.len())] {
            // What a directory had that was not seen before it went is another question.
            Operation::HideDirectory if blocked => Operation::Rename,
            operation => operation,
        }
    }

    /// The steps of an operation, which are expected to be carried out.
    pub fn steps(&mut self, operation: Operation, random: &mut fastrand::Rng) -> Vec<Step> {
        let name = self.names[random.usize(..3)].clone();
        let path = self.free.join(format!("{name}.wasm"));
        let cell = self.cells.get(&name).cloned();
        match operation {
            Operation::Publish => self.publish(random),
            Operation::HideDirectory => self.hide(),
            Operation::ShowDirectory => self.show(random),
            Operation::Remove => match self.cells.remove(&name) {
                Some(_) => vec![Step::new(finished(&path), move || clear(&path))],
                None => vec![],
            },
            Operation::Odd => {
                self.cells.remove(&name);
                vec![odd(path, self.store.clone(), random.u8(..3))]
            }
            Operation::Block => {
                let frozen = self.version(&name);
                self.frozen.remove(&name);
                self.frozen.extend(frozen.map(|version| (name.clone(), version)));
                self.cells.insert(name, Cell::Blocked);
                vec![block(path, random.bool())]
            }
            Operation::Touch if matches!(cell, Some(Cell::Version(_))) => {
                vec![Step::new(Told::Nothing, move || {
                    let file = File::options().append(true).open(path).expect("a file");
                    file.set_modified(std::time::SystemTime::now()).expect("a time");
                })]
            }
            Operation::ChangeTarget => match cell {
                Some(Cell::Link(_, target)) => {
                    let (version, bytes) = self.next();
                    self.cells.insert(name, Cell::Link(version, target.clone()));
                    vec![Step::new(Told::Nothing, move || move_in(&target, &bytes))]
                }
                _ => vec![],
            },
            Operation::Touch => vec![],
            _ => self.put(operation, name, path, cell),
        }
    }

    /// The operations that end with a new version under a name.
    fn put(
        &mut self,
        operation: Operation,
        name: String,
        path: PathBuf,
        cell: Option<Cell>,
    ) -> Vec<Step> {
        let (version, bytes) = self.next();
        let stored = self.store.join(version.to_string());
        let is_link = operation == Operation::Link;
        let new =
            if is_link { Cell::Link(version, stored.clone()) } else { Cell::Version(version) };
        self.cells.insert(name, new);
        match operation {
            Operation::WriteInPlace => write_in_place(path, bytes),
            Operation::WriteSlowly => write_slowly(path, bytes),
            Operation::SaveLikeVim if matches!(cell, Some(Cell::Version(_))) => {
                save_like_vim(path, bytes)
            }
            Operation::HardLink => link_in(path, stored, bytes, |from, to| fs::hard_link(from, to)),
            Operation::Link => link_in(path, stored, bytes, |from, to| symlink(from, to)),
            _ => rename(path, bytes),
        }
    }

    fn next(&mut self) -> (u32, Vec<u8>) {
        self.last += 1;
        (self.last, (self.content)(self.last))
    }

    /// As the kubelet's atomic writer: a new directory beside, a link to it renamed into place; what is new gets its
    /// link afterwards, what is gone loses it, and the old directory goes.
    fn publish(&mut self, random: &mut fastrand::Rng) -> Vec<Step> {
        let before = std::mem::take(&mut self.published);
        let names = self.names[1..].to_vec();
        let mut files = Vec::new();
        for name in names {
            if random.bool() {
                continue;
            }
            let (version, bytes) = match before.get(&name).filter(|_| random.bool()) {
                Some(version) => (*version, (self.content)(*version)),
                None => self.next(),
            };
            files.push((format!("{name}.wasm"), bytes));
            self.published.insert(name, version);
        }
        let (volume, kept) = (self.volume.clone(), files.clone());
        let old = fs::read_link(volume.join("..data")).ok();
        self.last += 1;
        let fresh = format!("..{}", self.last);
        let gone: Vec<String> = before.keys().map(|name| format!("{name}.wasm")).collect();
        let (at, target) = (volume.clone(), fresh.clone());
        let swap = Step::new(Told::AllFinished, move || {
            symlink(target, at.join("..data_tmp")).expect("a link");
            fs::rename(at.join("..data_tmp"), at.join("..data")).expect("a rename");
        });
        let at = volume.clone();
        let written = Step::new(Told::Writing(volume.join(&fresh)), move || {
            fs::create_dir(at.join(&fresh)).expect("a directory");
            for (file, bytes) in files {
                fs::write(at.join(&fresh).join(file), bytes).expect("a file");
            }
        });
        let links = Step::new(Told::Writing(volume.join("links")), move || {
            for (file, _) in &kept {
                // It is there already where the name was published before.
                let _ = symlink(format!("..data/{file}"), volume.join(file));
            }
            for file in gone.iter().filter(|file| !kept.iter().any(|(kept, _)| kept == *file)) {
                fs::remove_file(volume.join(file)).expect("a link");
            }
            if let Some(old) = old {
                fs::remove_dir_all(volume.join(old)).expect("the directory before");
            }
        });
        vec![written, swap, links]
    }

    /// The directory goes, or something that is none takes its place.
    fn hide(&mut self) -> Vec<Step> {
        let seen: Vec<(String, u32)> = self
            .cells
            .keys()
            .filter_map(|name| Some((name.clone(), self.version(name)?)))
            .collect();
        self.frozen = seen.into_iter().collect();
        self.hidden = true;
        let free = self.free.clone();
        vec![Step::new(finished(&self.free), move || {
            fs::remove_dir_all(&free).expect("the directory");
        })]
    }

    /// Made anew with some of its files, new versions among them; or filled beside and moved into place.
    fn show(&mut self, random: &mut fastrand::Rng) -> Vec<Step> {
        self.hidden = false;
        let mut files = Vec::new();
        for name in std::mem::take(&mut self.cells).into_keys() {
            if random.bool() {
                let (version, bytes) = self.next();
                files.push((format!("{name}.wasm"), bytes));
                self.cells.insert(name, Cell::Version(version));
            }
        }
        let (free, beside) = (self.free.clone(), self.store.join("free"));
        if random.bool() {
            let fill = move || {
                fs::create_dir(&beside).expect("a directory");
                for (file, bytes) in files {
                    fs::write(beside.join(file), bytes).expect("a file");
                }
                fs::rename(beside, free).expect("a rename");
            };
            return vec![Step::new(Told::AllFinished, fill)];
        }
        let make = free.clone();
        let mut steps = vec![Step::new(Told::Writing(free.clone()), move || {
            fs::create_dir(make).expect("a directory");
        })];
        for (file, bytes) in files {
            steps.extend(write_in_place(free.join(file), bytes));
        }
        steps
    }
}

fn finished(path: &Path) -> Told {
    Told::Finished(path.to_owned())
}

/// Takes away whatever is there.
fn clear(path: &Path) {
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        return fs::remove_dir(path).expect("an empty directory");
    }
    // It may not be there.
    let _ = fs::remove_file(path);
}

/// Takes away what is no plain file: writing to a fifo waits for ever.
fn clear_odd(path: &Path) {
    if !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        clear(path);
    }
}

/// Beside, then into place.
fn move_in(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension("tmp");
    fs::write(&beside, bytes).expect("a file");
    if path.is_dir() {
        clear(path);
    }
    fs::rename(beside, path).expect("a rename");
}

fn rename(path: PathBuf, bytes: Vec<u8>) -> Vec<Step> {
    vec![Step::new(finished(&path), move || move_in(&path, &bytes))]
}

fn write_in_place(path: PathBuf, bytes: Vec<u8>) -> Vec<Step> {
    vec![Step::new(finished(&path), move || {
        clear_odd(&path);
        fs::write(path, bytes).expect("a file");
    })]
}

/// The file stays open from the first step to the last.
fn write_slowly(path: PathBuf, bytes: Vec<u8>) -> Vec<Step> {
    let open: Rc<RefCell<Option<File>>> = Rc::default();
    let half = bytes.len() / 2;
    let (first, second, third) = (open.clone(), open.clone(), open);
    let (rest, at) = (bytes[half..].to_vec(), path.clone());
    let begin = move || {
        clear_odd(&at);
        let mut file = File::create(at).expect("a file");
        file.write_all(&bytes[..half]).expect("room");
        *first.borrow_mut() = Some(file);
    };
    let go_on = move || {
        let mut file = second.borrow_mut();
        file.as_mut().expect("it is open").write_all(&rest).expect("room");
    };
    vec![
        Step::new(Told::Writing(path.clone()), begin),
        Step::new(Told::Writing(path.clone()), go_on),
        Step::new(finished(&path), move || drop(third.borrow_mut().take())),
    ]
}

fn save_like_vim(path: PathBuf, bytes: Vec<u8>) -> Vec<Step> {
    let backup = PathBuf::from(format!("{}~", path.display()));
    let (from, to) = (path.clone(), backup.clone());
    let away = move || fs::rename(from, to).expect("a rename");
    let mut steps = vec![Step::new(finished(&path), away)];
    steps.extend(write_slowly(path, bytes));
    let told = finished(&backup);
    steps.push(Step::new(told, move || fs::remove_file(backup).expect("a file")));
    steps
}

/// As cargo does with its output. Nobody is told that such a file is finished.
fn link_in(
    path: PathBuf,
    stored: PathBuf,
    bytes: Vec<u8>,
    link: impl Fn(&Path, &Path) -> std::io::Result<()> + 'static,
) -> Vec<Step> {
    vec![Step::new(Told::Writing(path.clone()), move || {
        fs::write(&stored, bytes).expect("a file");
        clear(&path);
        link(&stored, &path).expect("a link");
    })]
}

fn odd(path: PathBuf, store: PathBuf, kind: u8) -> Step {
    Step::new(Told::Writing(path.clone()), move || {
        clear(&path);
        match kind {
            0 => fs::create_dir(path).expect("a directory"),
            1 => symlink(store.join("nothing"), path).expect("a link"),
            _ => {
                use rustix::fs::{CWD, FileType, Mode, mknodat};
                mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).expect("a fifo");
            }
        }
    })
}

/// A link to itself, or a file that is far too large.
fn block(path: PathBuf, is_loop: bool) -> Step {
    Step::new(finished(&path), move || {
        clear(&path);
        if is_loop {
            return symlink(&path, &path).expect("a link");
        }
        // In one moment, or there would be a small file for another.
        let beside = path.with_extension("tmp");
        let file = File::create(&beside).expect("a file");
        file.set_len(1 << 40).expect("a file without blocks");
        fs::rename(beside, path).expect("a rename");
    })
}
