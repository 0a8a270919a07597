//! A disk for tests.

use super::store::ArchiveStore;
use parking_lot::Mutex;
use redb::{Builder, StorageBackend};
use std::io;
use std::sync::Arc;

/// A disk in memory. It keeps synced bytes apart from later writes, for a loss of power. It may fail from some write
/// on.
#[derive(Debug, Clone, Default)]
pub(super) struct Disk(Arc<Mutex<Platter>>);

#[derive(Debug, Default)]
struct Platter {
    bytes: Vec<u8>,
    synced: Vec<u8>,
    /// Writes and syncs that still succeed; `None`: all of them.
    left: Option<usize>,
}

impl Disk {
    /// The bytes that the next process finds: all written ones, or only the synced ones.
    pub(super) fn after(&self, power_is_lost: bool) -> Self {
        let platter = self.0.lock();
        let bytes = if power_is_lost { &platter.synced } else { &platter.bytes };
        let found = Platter { bytes: bytes.clone(), synced: bytes.clone(), left: None };
        Self(Arc::new(Mutex::new(found)))
    }

    pub(super) fn fail_after(&self, writes: usize) {
        self.0.lock().left = Some(writes);
    }

    /// From now on all writes succeed again.
    pub(super) fn heal(&self) {
        self.0.lock().left = None;
    }

    /// A store on the disk.
    pub(super) fn open(&self) -> ArchiveStore {
        self.try_open().expect("the disk works")
    }

    /// A store on the disk, if it can be read and written.
    pub(super) fn try_open(&self) -> Result<ArchiveStore, String> {
        let database = Builder::new().set_cache_size(1 << 20).create_with_backend(self.clone());
        let store = database.map_err(redb::Error::from).and_then(ArchiveStore::over);
        store.map_err(|error| error.to_string())
    }

    fn change(&self, change: impl FnOnce(&mut Platter)) -> io::Result<()> {
        let mut platter = self.0.lock();
        match &mut platter.left {
            Some(0) => return Err(io::ErrorKind::StorageFull.into()),
            Some(left) => *left -= 1,
            None => {}
        }
        change(&mut platter);
        Ok(())
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let platter = self.0.lock();
        let found = platter.bytes.get(offset as usize..offset as usize + out.len());
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(|platter| platter.bytes.resize(len as usize, 0))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.change(|platter| platter.synced = platter.bytes.clone())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(|platter| {
            platter.bytes[offset as usize..offset as usize + data.len()].copy_from_slice(data);
        })
    }
}
