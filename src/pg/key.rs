//! A lease's name, ready for look-ups: hashed, as a text datum, and with the place where its row was
//! last seen. Kept per backend, so that a transaction looks nothing up by name twice.

use super::cell::Backend;
use crate::rules::hash;
use pgrx::pg_sys;
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

/// How many names a backend remembers before it starts anew.
const MOST: usize = 4_096;

pub struct Key {
    pub name: String,
    pub hash: u64,
    /// A varlena with a four-byte header, in words so that it is aligned.
    varlena: Vec<u32>,
    /// Where the index says the row begins, and the catalog generation that this was seen in.
    pub lease_place: Cell<Place>,
    pub fence_place: Cell<Place>,
    pub worker_place: Cell<Place>,
    /// The token that this backend saw to be good last, by the lease's row and as the newest obeyed.
    pub lease_good: Cell<Good>,
    pub fence_good: Cell<Good>,
}

/// A token, and the state of ownership (`catalog::ownership`) in which it was good.
#[derive(Clone, Copy, Default)]
pub struct Good {
    /// 0: none.
    pub token: i64,
    /// The role that took the lease; 0 where that is not known.
    pub taker: u32,
    pub ownership: u64,
}

#[derive(Clone, Copy, Default)]
pub struct Place {
    pub block: u32,
    /// 0: not known.
    pub offset: u16,
    /// The shared buffer that the block was in; 0: not known.
    pub buffer: i32,
    pub generation: u64,
}

impl Key {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            hash: hash::fnv64(name.as_bytes()),
            varlena: varlena(name.as_bytes()),
            lease_place: Cell::default(),
            fence_place: Cell::default(),
            lease_good: Cell::default(),
            fence_good: Cell::default(),
            worker_place: Cell::default(),
        }
    }

    /// The name as a text datum, valid as long as the key.
    pub fn datum(&self) -> pg_sys::Datum {
        pg_sys::Datum::from(self.varlena.as_ptr().cast_mut())
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.name == other.name
    }
}

fn varlena(bytes: &[u8]) -> Vec<u32> {
    let total = bytes.len() + 4;
    let mut words = vec![0u32; total.div_ceil(4)];
    // the header of an uncompressed varlena holds its length, shifted past two flag bits
    words[0] = if cfg!(target_endian = "little") { (total as u32) << 2 } else { total as u32 };
    // SAFETY: the vector has room for `total` bytes, of which the first four are the header.
    unsafe {
        let data = words.as_mut_ptr().cast::<u8>().add(4);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len());
    }
    words
}

static KNOWN: Backend<Option<HashMap<String, Rc<Key>>>> = Backend::new(None);
static NEWEST: Backend<Option<Rc<Key>>> = Backend::new(None);

/// The key that was asked for last, if it is of this name.
pub fn newest(name: &[u8]) -> Option<Rc<Key>> {
    NEWEST.with(|newest| newest.as_ref().filter(|key| key.name.as_bytes() == name).cloned())
}

/// The key of a name that the rules have accepted.
pub fn key(name: &str) -> Rc<Key> {
    if let Some(key) = newest(name.as_bytes()) {
        return key;
    }
    let key = KNOWN.with(|known| {
        let known = known.get_or_insert_with(HashMap::new);
        if known.len() >= MOST && !known.contains_key(name) {
            known.clear();
        }
        Rc::clone(known.entry(name.to_owned()).or_insert_with(|| Rc::new(Key::new(name))))
    });
    NEWEST.with(|newest| *newest = Some(Rc::clone(&key)));
    key
}
