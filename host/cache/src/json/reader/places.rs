//! The places of members, for those objects and arrays of a JSON text that were entered.

use crate::json::cursor::{Cursor, EntryKey, KeyPlace};
use crate::json::{Projection, position, unescape};

/// The most members: 48 KiB of places. A Pod has 300 in all, and reads of some fields pass 50.
pub(super) const MEMBERS_MAX: usize = 2048;
/// Room for the first members: reads of one or two fields need no more.
const MEMBERS_EXPECTED: usize = 64;
/// The most passes over the text for remembering places, as a multiple of its length. One more is possible, because
/// the last pass is not cut short. Each object or array is entered once, and again as a part of each enclosing one:
/// few have more than five.
pub(super) const PASSES_MAX: usize = 8;

/// The whole text, which is not a member.
const ROOT: u32 = 0;
/// No member.
const NONE: u32 = 0;
/// Not entered yet.
const UNSEEN: u32 = u32::MAX;
/// The bit beside the length of a name with escapes.
const ESCAPES: u32 = 1 << 31;

/// The known places of a text. All calls must pass the same text.
#[derive(Default)]
pub(super) struct Places {
    members: Vec<MemberPlace>,
    /// The remaining bytes that may be read to remember more.
    left: usize,
    /// Whether there is no more room: known places stay, and none is added.
    is_full: bool,
}

/// There is no room for the places on the path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoRoom;

/// The members of one object or array are a chain from the last to the first. So of two with one name, the last one is
/// found first.
#[derive(Clone, Copy)]
struct MemberPlace {
    /// For an object's member the place of its name, between the quotes; for an array's its position.
    name: u32,
    name_len: u32,
    from: u32,
    to: u32,
    /// The member before it in the same object or array.
    before: u32,
    /// The last of its own members.
    last: u32,
}

impl Places {
    /// For a text of so many bytes.
    pub(super) fn new(len: usize) -> Self {
        // Lengths of names have one bit less.
        let is_full = len >= ESCAPES as usize;
        Self { members: Vec::new(), left: len.saturating_mul(PASSES_MAX), is_full }
    }

    /// The text of the value at a JSON pointer, if there is one.
    pub(super) fn find<'a>(
        &mut self,
        json: &'a [u8],
        pointer: &str,
    ) -> Result<Option<&'a [u8]>, NoRoom> {
        if pointer.is_empty() {
            return Ok(Cursor::new(json).value());
        }
        let Some(steps) = Steps::of(pointer) else { return Ok(None) };
        if self.members.is_empty() {
            self.members.reserve_exact(MEMBERS_EXPECTED);
            let mut cursor = Cursor::new(json);
            cursor.peek();
            self.members
                .push(MemberPlace { from: narrow(cursor.at()), ..MemberPlace::new([0, 0], NONE) });
        }
        let mut at = ROOT;
        let mut left = Some(steps);
        while let Some(steps) = left {
            if self.members[at as usize].last == UNSEEN {
                self.go_into(json, at, steps)?;
            }
            let (name, rest) = steps.split();
            let Some(member) = self.member(json, at, &unescape(name)) else { return Ok(None) };
            (at, left) = (member, rest);
        }
        let MemberPlace { from, to, .. } = self.members[at as usize];
        Ok(json.get(from as usize..to as usize))
    }

    /// The member of this name; of several the last.
    fn member(&self, json: &[u8], of: u32, name: &str) -> Option<u32> {
        let MemberPlace { from, last, .. } = self.members[of as usize];
        let wanted = match json.get(from as usize)? {
            b'[' => Some(position(name)?),
            _ => None,
        };
        let mut number = last;
        while number != NONE {
            let member = &self.members[number as usize];
            let is_it = match wanted {
                Some(position) => member.name as usize == position,
                None => member.key(json)?.is(name),
            };
            if is_it {
                return Some(number);
            }
            number = member.before;
        }
        None
    }

    /// Remembers the members of this value, and of the values on the path. All of them or none.
    fn go_into(&mut self, json: &[u8], at: u32, steps: Steps<'_>) -> Result<(), NoRoom> {
        if self.is_full || self.left == 0 {
            return Err(NoRoom);
        }
        let known = self.members.len();
        let mut cursor = Cursor::within(json, self.members[at as usize].from as usize);
        let from = cursor.at();
        let done = self.members_of(&mut cursor, at, steps);
        self.left = self.left.saturating_sub(cursor.at() - from);
        done.ok_or_else(|| {
            self.is_full = true;
            self.members.truncate(known);
            NoRoom
        })
    }

    /// Reads an object or an array; another value has no members. `None` without room.
    fn members_of(&mut self, cursor: &mut Cursor<'_>, of: u32, steps: Steps<'_>) -> Option<()> {
        let (wanted, rest) = steps.split();
        let wanted = unescape(wanted);
        let mut last = NONE;
        match cursor.peek()? {
            b'{' => cursor.entries(|cursor, key| {
                let further = rest.filter(|_| key.is(&wanted));
                let KeyPlace { from, to, has_escapes } = key.place();
                let escapes = if has_escapes { ESCAPES } else { 0 };
                last =
                    self.add(MemberPlace::new([narrow(from), narrow(to - from) | escapes], last))?;
                self.read(cursor, last, further)
            })?,
            b'[' => {
                let wanted = position(&wanted);
                cursor.items(|cursor, position| {
                    let further = rest.filter(|_| wanted == Some(position));
                    last = self.add(MemberPlace::new([narrow(position), 0], last))?;
                    self.read(cursor, last, further)
                })?;
            }
            _ => {}
        }
        self.members[of as usize].last = last;
        Some(())
    }

    fn add(&mut self, member: MemberPlace) -> Option<u32> {
        (self.members.len() < MEMBERS_MAX).then(|| {
            self.members.push(member);
            narrow(self.members.len() - 1)
        })
    }

    /// Reads the value of a member, and enters it if the path leads further.
    fn read(
        &mut self,
        cursor: &mut Cursor<'_>,
        member: u32,
        further: Option<Steps<'_>>,
    ) -> Option<()> {
        let first = cursor.peek()?;
        let from = narrow(cursor.at());
        match further {
            Some(steps) if matches!(first, b'{' | b'[') => {
                self.members_of(cursor, member, steps)?;
            }
            _ => {
                cursor.value()?;
            }
        }
        let member = &mut self.members[member as usize];
        (member.from, member.to) = (from, narrow(cursor.at()));
        Some(())
    }
}

impl MemberPlace {
    /// A member whose value was not read yet.
    fn new([name, name_len]: [u32; 2], before: u32) -> Self {
        Self { name, name_len, from: 0, to: 0, before, last: UNSEEN }
    }

    fn key<'a>(&self, json: &'a [u8]) -> Option<EntryKey<'a>> {
        let (from, len) = (self.name as usize, (self.name_len & !ESCAPES) as usize);
        let has_escapes = self.name_len & ESCAPES != 0;
        EntryKey::new(json, KeyPlace { from, to: from + len, has_escapes })
    }
}

/// The text is shorter than that, or the reader remembers no places.
fn narrow(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// At least one step of a JSON pointer, without the slash in front.
#[derive(Clone, Copy)]
struct Steps<'p>(&'p str);

impl<'p> Steps<'p> {
    /// `None` for a text that is not a pointer, or that has too many steps.
    fn of(pointer: &'p str) -> Option<Self> {
        let steps = pointer.strip_prefix('/')?;
        let further = steps.bytes().filter(|byte| *byte == b'/').count();
        (further < Projection::STEPS_MAX).then_some(Self(steps))
    }

    /// The first step as it is written, and the others.
    fn split(self) -> (&'p str, Option<Self>) {
        match self.0.split_once('/') {
            Some((first, others)) => (first, Some(Self(others))),
            None => (self.0, None),
        }
    }
}
