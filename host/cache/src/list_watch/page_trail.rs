//! The way from page to page of one list.

/// Remembers one continue token of a list, at last that of page 1, 2, 4, 8 and so on (Brent's algorithm).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageTrail {
    pages: u32,
    mark: Option<Box<str>>,
}

impl PageTrail {
    /// Whether this token led to a page before: the list would never end. A list is cut off after three times its
    /// pages at the latest.
    pub(crate) fn leads_back(&mut self, token: &str) -> bool {
        if self.mark.as_deref() == Some(token) {
            return true;
        }
        self.pages += 1;
        if self.pages.is_power_of_two() {
            self.mark = Some(token.into());
        }
        false
    }
}
