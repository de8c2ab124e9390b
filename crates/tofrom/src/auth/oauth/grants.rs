//! From an application's question to its access token: it asks (temporary credentials), a person decides at the
//! authorize page, it exchanges what it has for a token. The callback is bound at the first step and the verifier goes
//! only to the browser that allowed it, so nobody can finish what another began.

use super::{OAuth, Refusal, callback, tokens};
use crate::auth::{AuthError, primitives};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use model::{AccessToken, Account, Application, Progress, Scopes, Temporary, Uid};
use oauth1::Signed;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use zeroize::Zeroizing;

/// How long an application and a person have for the whole way.
const TEMPORARY_LIVES: Duration = Duration::from_secs(15 * 60);

/// What temporary tokens and access tokens start with.
const TEMPORARY_PREFIX: &str = "tft_";
const ACCESS_PREFIX: &str = "tfa_";

/// Letters and digits that nobody takes for one another when they type a verifier over.
const TYPED: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";

/// A token and its secret, for the application's eyes, once. Debug does not show the secret.
#[derive(Debug)]
pub struct Issued {
    /// The public key.
    pub key: String,
    /// The secret.
    pub secret: Zeroizing<String>,
}

/// A question that a person can still answer.
#[derive(Debug)]
pub struct PendingGrant {
    /// What is asked.
    pub temporary: Temporary,
    /// Who asks.
    pub application: Arc<Application>,
}

/// OwnerContext a sealed secret to its temporary token.
fn context(key: &str) -> String {
    format!("temporary-token-secret {key}")
}

impl OAuth {
    /// The first step: an application wants to ask somebody.
    pub(in crate::auth) async fn ask(&self, signed: &Signed, remote: IpAddr) -> Result<Issued, AuthError> {
        let application = self.consumer(signed, remote).await?;
        self.verify(signed, &application, &[], remote).await?;
        let named = signed.parameter("oauth_callback").map_err(Refusal::from)?;
        let named = named.filter(|text| !text.is_empty()).ok_or(Refusal::Absent("oauth_callback"))?;
        let callback = callback::checked(named, &application.callback)
            .map_err(|_| Refusal::Rejected { parameter: "oauth_callback", right: callback::RIGHT })?;
        let scopes = match signed.parameter("scope").map_err(Refusal::from)? {
            None => Scopes::Read,
            Some(text) => Scopes::parse(text).ok_or(Refusal::Rejected {
                parameter: "scope",
                right: "read, write, or both with a space",
            })?,
        };
        let issued = generate(TEMPORARY_PREFIX)?;
        let temporary = Temporary {
            sealed_secret: self.secret_keys.seal(issued.secret.as_bytes(), &context(&issued.key))?,
            key: issued.key.clone(),
            consumer: application.key.clone(),
            callback,
            scopes,
            expires: self.clock.now().later(TEMPORARY_LIVES),
            progress: Progress::Requested,
        };
        self.store.add_temporary(&temporary).await?;
        Ok(issued)
    }

    /// What a person is asked by that temporary token; `None` if there is nothing to decide (any more).
    pub(in crate::auth) async fn asked(&self, key: &str) -> Result<Option<PendingGrant>, AuthError> {
        let found = self.store.temporary(key).await?;
        let open =
            |asked: &Temporary| asked.progress == Progress::Requested && self.clock.now() < asked.expires;
        let Some(temporary) = found.filter(open) else { return Ok(None) };
        let application = self.applications.live(&temporary.consumer).await?;
        Ok(application.map(|application| PendingGrant { temporary, application }))
    }

    /// A person allows it. Gives the verifier, unless somebody decided before.
    pub(in crate::auth) async fn allow(&self, key: &str, by: &Account) -> Result<Option<String>, AuthError> {
        let text = verifier()?;
        let (by, epoch) = (by.uid, by.credential_epoch);
        let decision = Progress::Allowed { by, epoch, verifier: primitives::sha256(text.as_bytes()) };
        Ok(self.store.decide(key, &decision).await?.then_some(text))
    }

    /// A person refuses it. `false`: somebody decided before.
    pub(in crate::auth) async fn refuse(&self, key: &str) -> Result<bool, AuthError> {
        Ok(self.store.decide(key, &Progress::Refused).await?)
    }

    /// The last step: the application brings the verifier and gets its access token.
    pub(in crate::auth) async fn exchange(
        &self,
        signed: &Signed,
        remote: IpAddr,
    ) -> Result<Issued, AuthError> {
        let application = self.consumer(signed, remote).await?;
        let key = signed.token().ok_or(Refusal::Absent("oauth_token"))?;
        let temporary = self.store.temporary(key).await?.filter(|found| found.consumer == application.key);
        let Some(temporary) = temporary else {
            return Err(self.wrong(Refusal::TokenRejected, remote));
        };
        let secret = self.secret_keys.open(&temporary.sealed_secret, &context(&temporary.key))?;
        self.verify(signed, &application, &secret, remote).await?;
        let brought = signed.parameter("oauth_verifier").map_err(Refusal::from)?;
        let brought = brought.filter(|text| !text.is_empty()).ok_or(Refusal::Absent("oauth_verifier"))?;
        let (owner, epoch) = self.granted(&temporary, brought, remote).await?;

        let issued = generate(ACCESS_PREFIX)?;
        let now = self.clock.now();
        let token = AccessToken {
            sealed_secret: self.secret_keys.seal(issued.secret.as_bytes(), &tokens::context(&issued.key))?,
            key: issued.key.clone(),
            consumer: application.key.clone(),
            owner,
            epoch,
            scopes: temporary.scopes,
            created: now,
            expires: self.settings.token_lifetime.map(|lifetime| now.later(lifetime)),
            revoked: None,
            used: None,
        };
        if self.store.exchange(&temporary.key, &token).await? {
            Ok(issued)
        } else {
            Err(Refusal::TokenUsed.into())
        }
    }

    /// Who allowed it and in which credential epoch, if the verifier is right and it is still time.
    async fn granted(
        &self,
        temporary: &Temporary,
        brought: &str,
        remote: IpAddr,
    ) -> Result<(Uid, u32), AuthError> {
        if temporary.expires <= self.clock.now() {
            return Err(Refusal::TokenExpired.into());
        }
        let (by, epoch, verifier) = match &temporary.progress {
            Progress::Allowed { by, epoch, verifier } => (*by, *epoch, verifier),
            Progress::Requested => return Err(self.wrong(Refusal::VerifierInvalid, remote)),
            Progress::Refused => return Err(Refusal::UserRefused.into()),
            Progress::Exchanged { .. } => return Err(Refusal::TokenUsed.into()),
        };
        // A verifier has 80 random bits and lives minutes: counting wrong ones per address is enough.
        if verify_slices_are_equal(&primitives::sha256(brought.as_bytes()), verifier).is_err() {
            return Err(self.wrong(Refusal::VerifierInvalid, remote));
        }
        let account = self.accounts.get_in_epoch(by, epoch).await?;
        match account.filter(|account| account.may_act() && account.credential_epoch == epoch) {
            Some(account) => Ok((account.uid, epoch)),
            None => Err(Refusal::TokenRejected.into()),
        }
    }
}

fn generate(prefix: &str) -> Result<Issued, AuthError> {
    let key = primitives::random_text::<16>(prefix)?.to_string();
    Ok(Issued { key, secret: primitives::random_text::<32>("")? })
}

/// Four times four characters: 80 random bits that a person can also type.
fn verifier() -> Result<String, AuthError> {
    let random = primitives::random::<16>()?;
    let character = |byte: &u8| TYPED.get(usize::from(byte % 32)).map_or('a', |typed| char::from(*typed));
    let groups: Vec<String> = random.chunks(4).map(|group| group.iter().map(character).collect()).collect();
    Ok(groups.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verifiers_can_be_typed() {
        let (one, other) = (verifier().unwrap(), verifier().unwrap());
        assert_ne!(one, other);
        assert_eq!((one.len(), one.split('-').count()), (19, 4));
        assert!(one.bytes().all(|byte| byte == b'-' || TYPED.contains(&byte)), "{one}");
    }
}
