//! The users whose programs meet the conditions of a session.

use std::fmt;
use std::str::FromStr;

/// A user, or all, whose programs meet the conditions of a session's triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerUser {
    /// `all`: programs of all users.
    All,
    /// The programs of the user with this id.
    Id(u32),
}

impl TriggerUser {
    /// Returns the users that these are, with the owner of the session; `None` for all.
    pub(crate) fn ids(users: &[Self], owner: u32) -> Option<Vec<u32>> {
        let id = |user: &Self| match user {
            Self::All => None,
            Self::Id(id) => Some(*id),
        };
        users.iter().map(id).chain([Some(owner)]).collect()
    }
}

impl FromStr for TriggerUser {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            id => id.parse().map(Self::Id).map_err(|_| {
                format!("'{text}' is not the number of a user, as 'id -u NAME' prints it, or all")
            }),
        }
    }
}

impl fmt::Display for TriggerUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Id(id) => id.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_a_text() {
        for (text, user) in [("all", TriggerUser::All), ("33", TriggerUser::Id(33))] {
            assert_eq!((text.parse(), user.to_string()), (Ok(user), text.to_owned()));
        }
        for wrong in ["", "-1", "root", "4294967296"] {
            assert!(wrong.parse::<TriggerUser>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_owner_is_among_the_users() {
        let [web, database] = [TriggerUser::Id(33), TriggerUser::Id(70)];
        assert_eq!(TriggerUser::ids(&[], 0), Some(vec![0]));
        assert_eq!(TriggerUser::ids(&[web, database], 0), Some(vec![33, 70, 0]));
        assert_eq!(TriggerUser::ids(&[web, TriggerUser::All], 0), None);
    }
}
