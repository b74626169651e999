//! Passwords: hashed with argon2id, away from the threads that serve requests, and few at a time.
//!
//! One hash takes 19 MiB and some tens of milliseconds on purpose, so strangers must not be able to have many computed at
//! once: beyond `AT_ONCE` they wait, and not for long.

use std::sync::LazyLock;
use std::time::Duration;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use helve_store::PasswordHash;
use helve_types::World;
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;

pub(crate) const PASSWORD_CHARS_MIN: usize = 10;
pub const PASSWORD_BYTES_MAX: usize = 1_024;
/// In KiB.
const MEMORY: u32 = 19 * 1_024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const HASH_BYTES: usize = 32;
const SALT_BYTES: usize = 16;
/// So many hashes are computed at once.
const AT_ONCE: usize = 2;
const PATIENCE: Duration = Duration::from_secs(5);

/// Why there is no hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    #[error("a password has at least 10 characters")]
    TooShort,
    #[error("a password has at most 1024 bytes")]
    TooLong,
    #[error("too many passwords are being checked")]
    Busy,
    #[error("no hash could be computed")]
    Failed,
}

/// A hash of a password, for commands beside a server.
pub async fn hash_password(password: SecretString, world: &World) -> Result<PasswordHash, PasswordError> {
    Passwords::default().hash(password, world).await
}

/// The one place where passwords are computed with.
pub(crate) struct Passwords {
    slots: Semaphore,
}

impl Default for Passwords {
    fn default() -> Self {
        Self { slots: Semaphore::new(AT_ONCE) }
    }
}

impl Passwords {
    pub(crate) async fn hash(
        &self,
        password: SecretString,
        world: &World,
    ) -> Result<PasswordHash, PasswordError> {
        let text = password.expose_secret();
        if text.chars().count() < PASSWORD_CHARS_MIN {
            return Err(PasswordError::TooShort);
        }
        if text.len() > PASSWORD_BYTES_MAX {
            return Err(PasswordError::TooLong);
        }
        let random = world.random_secret();
        let salt = random.get(..SALT_BYTES).unwrap_or_default().to_vec();
        self.compute(move || {
            let hash = derive(password.expose_secret(), &salt, MEMORY, PASSES, LANES)?;
            let (salt, hash) = (STANDARD_NO_PAD.encode(&salt), STANDARD_NO_PAD.encode(hash));
            Some(PasswordHash(format!("$argon2id$v=19$m={MEMORY},t={PASSES},p={LANES}${salt}${hash}")))
        })
        .await?
        .ok_or(PasswordError::Failed)
    }

    /// Whether it is the password. Without a hash the same work is done for nothing, so that the time tells nobody who
    /// has a password here.
    pub(crate) async fn is_right(
        &self,
        password: SecretString,
        hash: Option<PasswordHash>,
    ) -> Result<bool, PasswordError> {
        if password.expose_secret().len() > PASSWORD_BYTES_MAX {
            return Ok(false);
        }
        self.compute(move || {
            let known = hash.is_some();
            let hash = hash.unwrap_or_else(|| NOBODYS.clone());
            known & verify(password.expose_secret(), &hash.0).unwrap_or(false)
        })
        .await
    }

    async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PasswordError> {
        let slot = tokio::time::timeout(PATIENCE, self.slots.acquire()).await;
        let Ok(Ok(_slot)) = slot else { return Err(PasswordError::Busy) };
        tokio::task::spawn_blocking(work).await.map_err(|_| PasswordError::Failed)
    }
}

static NOBODYS: LazyLock<PasswordHash> = LazyLock::new(|| {
    let (salt, hash) = (STANDARD_NO_PAD.encode([0; SALT_BYTES]), STANDARD_NO_PAD.encode([0; HASH_BYTES]));
    PasswordHash(format!("$argon2id$v=19$m={MEMORY},t={PASSES},p={LANES}${salt}${hash}"))
});

fn derive(password: &str, salt: &[u8], memory: u32, passes: u32, lanes: u32) -> Option<[u8; HASH_BYTES]> {
    let params = Params::new(memory, passes, lanes, Some(HASH_BYTES)).ok()?;
    let mut hash = [0; HASH_BYTES];
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon.hash_password_into(password.as_bytes(), salt, &mut hash).ok()?;
    Some(hash)
}

/// With the parameters that the hash was made with; only those of ours, and of earlier versions, are computed.
fn verify(password: &str, kept: &str) -> Option<bool> {
    let rest = kept.strip_prefix("$argon2id$v=19$m=")?;
    let (params, rest) = rest.split_once('$')?;
    let (salt, hash) = rest.split_once('$')?;
    let (memory, params) = params.split_once(",t=")?;
    let (passes, lanes) = params.split_once(",p=")?;
    let number = |text: &str| text.parse::<u32>().ok();
    let (memory, passes, lanes) = (number(memory)?, number(passes)?, number(lanes)?);
    if memory > 4 * MEMORY || passes > 8 || lanes > 4 {
        return None;
    }
    let expected = STANDARD_NO_PAD.decode(hash).ok()?;
    let found = derive(password, &STANDARD_NO_PAD.decode(salt).ok()?, memory, passes, lanes)?;
    Some(found.ct_eq(&expected[..]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> SecretString {
        text.to_owned().into()
    }

    #[tokio::test]
    async fn a_password_is_known_again_and_another_is_not() {
        let passwords = Passwords::default();
        let world = World::real();
        let hash = passwords.hash(secret("correct horse 电池"), &world).await.unwrap();
        assert!(hash.0.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", hash.0);
        let other = passwords.hash(secret("correct horse 电池"), &world).await.unwrap();
        assert_ne!(hash, other, "each has a salt of its own");
        let is_right = async |text: &str, hash| passwords.is_right(secret(text), hash).await.unwrap();
        assert!(is_right("correct horse 电池", Some(hash.clone())).await);
        assert!(!is_right("correct horse", Some(hash)).await);
        assert!(!is_right("correct horse", None).await);
        assert!(!is_right("", Some(PasswordHash("nonsense".into()))).await);
        let costly = PasswordHash("$argon2id$v=19$m=4000000,t=2,p=1$AAAAAAAAAAA$AAAA".into());
        assert!(!is_right("x", Some(costly)).await);
    }

    #[tokio::test]
    async fn a_password_that_is_too_short_or_too_long_is_not_hashed() {
        let (passwords, world) = (Passwords::default(), World::real());
        let hash = async |text: &str| passwords.hash(secret(text), &world).await;
        assert_eq!(hash("123456789").await, Err(PasswordError::TooShort));
        assert_eq!(hash(&"a".repeat(1_025)).await, Err(PasswordError::TooLong));
        assert!(!passwords.is_right(secret(&"a".repeat(1 << 20)), None).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn when_too_many_are_checked_the_next_is_told_so() {
        let passwords = Passwords::default();
        let _held = passwords.slots.acquire_many(2).await.unwrap();
        assert_eq!(passwords.is_right(secret("x"), None).await, Err(PasswordError::Busy));
    }
}
