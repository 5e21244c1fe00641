//! The statements that are under way, in a file that outlives the process: a slot each, written when the statement begins and when
//! it ends. Nothing is synced, since what a process wrote survives it; what the machine took with it is not believed, which
//! the number of its start tells.
//!
//! A write costs some microseconds. A statement whose same step was brief the last time is known to this process alone: what the
//! database does under it is seen, and it has shown that it does not end the process. Where the file cannot be written statements go
//! on without.

use super::shape::Shape;
use policy::GivenFile;
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::{Mutex, MutexGuard, PoisonError};

const MAGIC: &[u8; 8] = b"ngRUN001";
/// Magic, and which start of the machine this is.
const HEAD: usize = 64;
/// Whether it is taken, and the statement.
const SLOT: usize = 1 + Shape::BYTES;
/// Slots of the file: of more statements at once than these the others are known to this process alone.
const SLOTS: u32 = 65_536;

pub(super) struct Journal {
    file: File,
    process: String,
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    free: BTreeSet<u32>,
    /// The first that was never taken.
    next: u32,
    taken: HashMap<u32, Shape>,
    /// Those without a slot, and how often each.
    unwritten: HashMap<Shape, u32>,
    ended: bool,
}

impl Journal {
    /// Begins anew; and what was under way when the last process ended.
    pub(super) fn open(path: &GivenFile) -> io::Result<(Self, Vec<Shape>)> {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        let named = |e: io::Error| io::Error::new(e.kind(), format!("{path}: {e}"));
        file.try_lock().map_err(|e| named(e.into()))?;
        let head = head();
        let mut before = vec![0; HEAD + SLOT * SLOTS as usize];
        let read = read(&file, &mut before).map_err(named)?;
        let left = match before.get(..read).and_then(|bytes| bytes.split_at_checked(HEAD)) {
            Some((known, slots)) if known == head => {
                let taken = slots.chunks_exact(SLOT).filter_map(|slot| slot.split_first_chunk::<1>());
                let shapes = taken.filter(|([taken], _)| *taken == 1);
                shapes.filter_map(|(_, shape)| Some(Shape(shape.try_into().ok()?))).collect()
            }
            _ => Vec::new(),
        };
        file.set_len(0).map_err(named)?;
        file.write_all_at(&head, 0).map_err(named)?;
        let mut process = [0; 8];
        getrandom::fill(&mut process).map_err(io::Error::other)?;
        let process = process.iter().map(|b| format!("{b:02x}")).collect();
        Ok((Self { file, process, slots: Mutex::default() }, left))
    }

    /// By which the end of the process before this one is told from other crashes.
    pub(super) fn process(&self) -> String {
        self.process.clone()
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a statement its slot, if it is to outlive this process.
    pub(super) fn begin(&self, shape: &Shape, written: bool) -> Option<u32> {
        let mut slots = self.slots();
        if !written {
            let times = slots.unwritten.entry(*shape).or_default();
            *times = times.saturating_add(1);
            return None;
        }
        let slot = slots.free.pop_first().unwrap_or_else(|| {
            slots.next = slots.next.wrapping_add(1);
            slots.next.wrapping_sub(1)
        });
        slots.taken.insert(slot, *shape);
        if !slots.ended {
            let mut bytes = [1; SLOT];
            bytes.iter_mut().skip(1).zip(shape.0).for_each(|(to, from)| *to = from);
            self.write(slot, &bytes);
        }
        Some(slot)
    }

    pub(super) fn over(&self, shape: &Shape, slot: Option<u32>) {
        let mut slots = self.slots();
        let Some(slot) = slot else {
            let times = slots.unwritten.get(shape).map_or(0, |times| times.saturating_sub(1));
            match times {
                0 => slots.unwritten.remove(shape),
                times => slots.unwritten.insert(*shape, times),
            };
            return;
        };
        slots.taken.remove(&slot);
        slots.free.insert(slot);
        if !slots.ended {
            self.write(slot, &[0]);
        }
    }

    fn write(&self, slot: u32, bytes: &[u8]) {
        if slot < SLOTS {
            // A full disk must not end statements: they are not known after a crash then.
            let _ = self.file.write_all_at(bytes, (HEAD + SLOT * slot as usize) as u64);
        }
    }

    pub(super) fn under_way(&self) -> Vec<Shape> {
        let slots = self.slots();
        slots.taken.values().chain(slots.unwritten.keys()).copied().collect()
    }

    pub(super) fn end(&self) {
        let mut slots = self.slots();
        slots.ended = true;
        let _ = self.file.set_len(0);
    }
}

fn read(file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut all = 0;
    while let Some(room) = buffer.get_mut(all..).filter(|room| !room.is_empty()) {
        match file.read_at(room, all as u64)? {
            0 => break,
            n => all += n,
        }
    }
    Ok(all)
}

fn head() -> [u8; HEAD] {
    // Where the system does not tell, all starts of the machine are one.
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let mut head = [0; HEAD];
    head.iter_mut().zip(MAGIC.iter().chain(&boot)).for_each(|(to, from)| *to = *from);
    head
}
