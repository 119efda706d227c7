//! How much is run: enough to say something, or just once so that nothing rots.

/// How long one cell runs.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    Seconds(u32),
    /// For each client.
    Transactions(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Full,
    Tiny,
}

impl Scale {
    pub fn is_tiny(self) -> bool {
        self == Self::Tiny
    }

    pub fn pick<T>(self, full: T, tiny: T) -> T {
        if self.is_tiny() { tiny } else { full }
    }

    pub fn rounds(self, full: usize) -> usize {
        self.pick(full, 1)
    }

    pub fn seconds(self, full: u32) -> Length {
        self.pick(Length::Seconds(full), Length::Transactions(3))
    }

    pub fn transactions(self, full: u32) -> u32 {
        self.pick(full, 20.min(full))
    }
}
