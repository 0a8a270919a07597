//! The users of a test cluster.

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// May do everything (`system:masters`).
    Admin,
    /// On the real server it may do what a test grants to the user `reader` through RBAC, else nothing; the
    /// embedded one knows no RBAC, there it may do everything that a test has not forbidden. A fact that
    /// says what is so through [`Permissions`](crate::permissions::Permissions) is true of both.
    Reader,
}

impl User {
    /// All of them.
    pub const ALL: [User; 2] = [User::Admin, User::Reader];

    /// The name that role bindings use.
    pub fn name(self) -> &'static str {
        match self {
            User::Admin => "admin",
            User::Reader => "reader",
        }
    }
}
