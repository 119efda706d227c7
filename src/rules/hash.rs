//! Hashes that tell leases, databases and incarnations apart in lock tags and in the mint.
//! They decide nothing alone: where two are equal by chance, somebody waits or is refused.

/// FNV-1a, 64 bits, over bytes.
pub fn fnv64(bytes: &[u8]) -> u64 {
    fold(bytes.iter().copied())
}

fn fold(bytes: impl Iterator<Item = u8>) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes.fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// FNV-1a over numbers, with the low bits mixed, as a positive bigint.
pub fn positive(numbers: &[u64]) -> i64 {
    let hash = fold(numbers.iter().flat_map(|number| number.to_le_bytes()));
    let mixed = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    ((mixed ^ (mixed >> 33)) >> 1).max(1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv64_matches_its_published_vectors() {
        assert_eq!(fnv64(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv64(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv64(b"foobar"), 0x85944171f73967e8);
    }

    #[test]
    fn each_number_changes_the_hash() {
        let one = positive(&[7, 5, 100, 1]);
        for other in [[8, 5, 100, 1], [7, 6, 100, 1], [7, 5, 101, 1], [7, 5, 100, 2]] {
            assert_ne!(one, positive(&other));
        }
        assert!(one > 0);
    }
}
