//! The reads of a file that may change faster than it is read: one at a time, and one newer content that waits for it.
//! Of a file that changes again and again nothing more is kept.

/// The present read of a file with this content.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum LatestRead<T> {
    #[default]
    None,
    /// The content that counts is being read.
    UnderWay,
    /// Content that counts no more is being read.
    Outdated,
    /// The same, and this content is next.
    Before(T),
}

/// What follows a read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AfterRead<T> {
    /// Its result counts.
    Take,
    /// Its result is dropped.
    Drop,
    /// Its result is dropped, and this content is to be read now.
    Read(T),
}

impl<T> LatestRead<T> {
    /// The file has this content. Returns the content if it is to be read now.
    pub(super) fn changed(&mut self, content: T) -> Option<T> {
        if self.is_none() {
            *self = Self::UnderWay;
            return Some(content);
        }
        *self = Self::Before(content);
        None
    }

    /// The file is gone, or cannot be read.
    pub(super) fn gone(&mut self) {
        if !self.is_none() {
            *self = Self::Outdated;
        }
    }

    /// A read has ended.
    pub(super) fn ended(&mut self) -> AfterRead<T> {
        match std::mem::take(self) {
            Self::UnderWay => AfterRead::Take,
            Self::None | Self::Outdated => AfterRead::Drop,
            Self::Before(content) => {
                *self = Self::UnderWay;
                AfterRead::Read(content)
            }
        }
    }

    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether a result is to come that counts.
    pub(super) fn is_awaited(&self) -> bool {
        matches!(self, Self::UnderWay | Self::Before(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A digit: the file has this content. `x`: the file is gone. `.`: a read ends. Shows what is read, what is taken
    /// (`!`) and what is dropped (`-`), and whether a result is awaited in the end (`?`).
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let (mut read, mut shown) = (LatestRead::None, String::new());
        for step in steps.chars() {
            match step {
                'x' => read.gone(),
                '.' => match read.ended() {
                    AfterRead::Take => shown.push('!'),
                    AfterRead::Drop => shown.push('-'),
                    AfterRead::Read(content) => shown.push(content),
                },
                content => shown.extend(read.changed(content)),
            }
        }
        shown.extend(read.is_awaited().then_some('?'));
        assert_eq!(shown, expect, "{steps}");
    }

    #[test]
    fn a_file_that_changes_faster_than_it_is_read_waits_once() {
        check("1.", "1!");
        check("1.2.", "1!2!");
        check("12345", "1?");
        check("12345.", "15?");
        check("12345..", "15!");
    }

    #[test]
    fn a_file_that_is_gone_counts_no_more() {
        check("1x", "1");
        check("1x.", "1-");
        check("12x.", "1-");
        check("1x2", "1?");
        check("1x2..", "12!");
        check("x1.", "1!");
    }
}
