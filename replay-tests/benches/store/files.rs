//! A plain file: preallocated and filled with zeros, so that a sync has no metadata to write.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

use placet_ledger::digest::{Digest, checksum};
use placet_ledger::id::StreamId;
use placet_ledger::merkle::Frontier;
use placet_ledger::store::Expected;

use crate::group::{Item, Sink};

/// Once so much is written it begins again at the front, as a log of two halves does.
const FILE_BYTES: usize = 64 * 1024 * 1024;

/// One write and one fdatasync a group, with or without the work of a ledger.
pub(crate) struct PlainFile {
    file: File,
    at: u64,
    buffer: Vec<u8>,
    work: Option<Work>,
}

/// What a ledger's committer keeps.
#[derive(Default)]
struct Work {
    frontier: Frontier,
    heads: BTreeMap<StreamId, Digest>,
}

impl PlainFile {
    pub(crate) fn new(folder: &Path, works: bool) -> Self {
        let mut file = File::create_new(folder.join("file")).unwrap();
        let zeros = vec![0_u8; 1024 * 1024];
        for _ in 0..FILE_BYTES / zeros.len() {
            file.write_all(&zeros).unwrap();
        }
        file.sync_all().unwrap();
        Self {
            file,
            at: 0,
            buffer: Vec::new(),
            work: works.then(Work::default),
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        let length = u32::try_from(bytes.len()).unwrap();
        self.buffer.extend_from_slice(&length.to_le_bytes());
        self.buffer.extend_from_slice(bytes);
    }
}

impl Sink for PlainFile {
    fn commit(&mut self, group: &[Item]) {
        self.buffer.clear();
        for item in group {
            for record in &item.batch.records {
                self.put(record.bytes());
            }
            if let Some(work) = &mut self.work {
                if let Expected::Head { digest, .. } = item.expected {
                    assert_eq!(work.heads.get(&item.stream), Some(&digest));
                }
                for record in &item.batch.records {
                    work.frontier.push(&record.digest());
                    work.heads.insert(item.stream, record.digest());
                }
                for blob in &item.sealed {
                    self.put(blob);
                }
            } else {
                for content in item.batch.contents.values() {
                    self.put(&content.bytes);
                }
            }
        }
        if let Some(work) = &self.work {
            let frontier = work.frontier.to_bytes();
            self.put(&frontier);
            let sum = checksum(&self.buffer);
            self.put(&sum);
        }
        if self.at as usize + self.buffer.len() > FILE_BYTES {
            self.at = 0;
        }
        self.file.write_all_at(&self.buffer, self.at).unwrap();
        self.file.sync_data().unwrap();
        self.at += self.buffer.len() as u64;
    }
}
