//! Both nights drawn, one above the other.
use crate::night::Night;
pub fn draw(_nights: &[Night]) -> String {
    String::new()
}
