//! State of one backend.

use std::cell::RefCell;

/// A value that lives as long as the backend.
pub struct Backend<T>(RefCell<T>);

// SAFETY: a PostgreSQL backend runs this library in one thread only; pgrx refuses calls into the
// server from any other.
unsafe impl<T> Sync for Backend<T> {}

impl<T> Backend<T> {
    pub const fn new(value: T) -> Self {
        Self(RefCell::new(value))
    }

    /// Lends the value. The closure must not call into the server, which may call back in here.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.0.borrow_mut())
    }
}

impl<T: Copy> Backend<T> {
    pub fn get(&self) -> T {
        *self.0.borrow()
    }

    pub fn set(&self, value: T) {
        *self.0.borrow_mut() = value;
    }
}
