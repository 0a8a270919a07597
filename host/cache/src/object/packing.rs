//! Text packed with zstd, most often with a dictionary that was trained on objects of its kind.
//!
//! A dictionary's two halves live differently: the one that packs belongs to the store that trained it, the one that
//! unpacks to every object that was packed with it. Threads that pack or unpack keep what zstd works with, some
//! hundred KiB, for as long as they live: so no reader waits for another.

use std::cell::RefCell;
use std::fmt;
use std::io::Cursor;
use std::sync::Arc;
use triomphe::ThinArc;
use zstd_safe::{CCtx, CDict, CompressionLevel, DCtx, DDict, compress_bound, train_from_buffer};

/// The fastest that searches well; the next two pack a tenth better and take a fifth longer.
const LEVEL: CompressionLevel = 1;
/// What every frame begins with; it is not kept.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Where a dictionary says its number, which would be repeated in every frame; zero is none.
const DICTIONARY_NUMBER: std::ops::Range<usize> = 4..8;
/// A thread's buffer that grew beyond this for one object is given back.
const BUFFER_KEPT_MAX: usize = 256 << 10;

/// What unpacks objects that were packed with it.
pub(crate) struct Dictionary {
    unpack: DDict<'static>,
}

/// What packs objects.
pub(crate) struct Packing {
    /// For objects that are packed by themselves: the dictionary, without a text.
    pub(super) alone: Frame,
    pack: CDict<'static>,
}

thread_local! {
    static PACK: RefCell<(CCtx<'static>, Vec<u8>)> = RefCell::new((CCtx::create(), Vec::new()));
    static UNPACK: RefCell<(DCtx<'static>, Vec<u8>)> = RefCell::new((DCtx::create(), Vec::new()));
}

impl Packing {
    /// Trains a dictionary of at most `bytes_max`. None where the samples are too few or have nothing in common.
    ///
    /// It takes some tens of milliseconds of the thread, more with more samples: see `host/docs/designs/memory.md`.
    pub(crate) fn train(samples: &[&[u8]], bytes_max: usize) -> Option<Self> {
        let sizes: Vec<usize> = samples.iter().map(|sample| sample.len()).collect();
        let mut dictionary = Vec::with_capacity(bytes_max);
        train_from_buffer(&mut dictionary, &samples.concat(), &sizes).ok()?;
        dictionary.get_mut(DICTIONARY_NUMBER)?.fill(0);
        let unpack = DDict::try_create(&dictionary)?;
        let pack = CDict::try_create(&dictionary, LEVEL)?;
        let alone = Frame::new(Arc::new(Dictionary { unpack }), &[], 0, Made::Nothing);
        Some(Self { alone, pack })
    }

    pub(super) fn dictionary(&self) -> &Arc<Dictionary> {
        self.alone.dictionary()
    }
}

/// Packed text that others are made from, and its dictionary. A cheap handle.
#[derive(Clone)]
pub(super) struct Frame(ThinArc<FrameHead, u8>);

struct FrameHead {
    dictionary: Arc<Dictionary>,
    text_len: usize,
    made: Made,
}

/// What is made from a packed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// It has no text.
    Nothing,
    /// Later versions of one object.
    Versions,
    /// Objects of one owner, and later versions of them.
    Siblings,
}

impl Frame {
    /// Text of `text_len` bytes that was packed with this dictionary.
    pub(super) fn new(
        dictionary: Arc<Dictionary>,
        packed: &[u8],
        text_len: usize,
        made: Made,
    ) -> Self {
        Self(ThinArc::from_header_and_slice(FrameHead { dictionary, text_len, made }, packed))
    }

    pub(super) fn made(&self) -> Made {
        self.0.header.header.made
    }

    /// Whether both are the same handle.
    pub(super) fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.0.ptr(), other.0.ptr())
    }

    /// Bytes of what is packed.
    pub(super) fn len(&self) -> usize {
        self.0.slice.len()
    }

    /// All bytes.
    pub(super) fn size(&self) -> usize {
        self.len() + size_of::<FrameHead>()
    }

    pub(super) fn dictionary(&self) -> &Arc<Dictionary> {
        &self.0.header.header.dictionary
    }

    pub(super) fn unpack(&self) -> Vec<u8> {
        let len = self.0.header.header.text_len;
        unpack(&self.0.slice, Some(self.dictionary()), len, len)
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame").field("bytes", &self.len()).finish()
    }
}

/// Calls `then` with `prefix` and the packed text after it; not at all where that would save less than an eighth of the
/// `plain` bytes that are kept otherwise.
pub(super) fn pack<R>(
    prefix: &[u8],
    text: &[u8],
    plain: usize,
    packing: Option<&Packing>,
    then: impl FnOnce(&[u8]) -> R,
) -> Option<R> {
    PACK.with_borrow_mut(|(context, buffer)| {
        let at = prefix.len();
        buffer.clear();
        buffer.reserve(at + compress_bound(text.len()));
        buffer.extend_from_slice(prefix);
        let mut out = Cursor::new(&mut *buffer);
        out.set_position(at as u64);
        let packed = match packing {
            Some(packing) => context.compress_using_cdict(&mut out, text, &packing.pack),
            None => context.compress(&mut out, text, LEVEL),
        };
        let len = packed.ok().filter(|len| *len < plain - plain / 8);
        let result = len.map(|len| {
            buffer.copy_within(at + MAGIC.len()..at + len, at);
            buffer.truncate(at + len - MAGIC.len());
            then(buffer)
        });
        if buffer.capacity() > BUFFER_KEPT_MAX {
            *buffer = Vec::new();
        }
        result
    })
}

/// What was packed with this dictionary, or with none, and was `len` bytes long, with room for `capacity` bytes.
pub(super) fn unpack(
    packed: &[u8],
    dictionary: Option<&Dictionary>,
    len: usize,
    capacity: usize,
) -> Vec<u8> {
    UNPACK.with_borrow_mut(|(context, frame)| {
        frame.clear();
        frame.extend_from_slice(&MAGIC);
        frame.extend_from_slice(packed);
        let mut text = Vec::with_capacity(capacity);
        let unpacked = match dictionary {
            Some(dictionary) => {
                context.decompress_using_ddict(&mut text, frame, &dictionary.unpack)
            }
            None => context.decompress(&mut text, frame),
        };
        assert_eq!(unpacked, Ok(len), "what was packed is unpacked with what packed it");
        if frame.capacity() > BUFFER_KEPT_MAX {
            *frame = Vec::new();
        }
        text
    })
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dictionary").field("bytes", &self.unpack.sizeof()).finish()
    }
}

impl fmt::Debug for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packing").field("bytes", &self.pack.sizeof()).finish()
    }
}
