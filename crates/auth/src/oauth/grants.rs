//! The three steps to an access token: the application requests a temporary token, a person decides on the authorize
//! page, the application exchanges the temporary token and the verifier for an access token. The callback is bound at
//! the first step and the verifier goes only to the browser that allowed the grant, so an attacker cannot complete
//! another person's flow.

use super::{OAuth, Refusal, callback, token_context};
use crate::{AuthError, AuthRequest, Credential, credentials_of};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use model::{AccessToken, Account, Application, Progress, Scopes, Temporary, Uid};
use oauth1::Signed;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use zeroize::Zeroizing;

/// Lifetime of a temporary token: the time for all three steps.
const TEMPORARY_TTL: Duration = Duration::from_secs(15 * 60);

/// Prefixes of temporary tokens and access tokens.
const TEMPORARY_PREFIX: &str = "tft_";
const ACCESS_PREFIX: &str = "tfa_";

/// Letters and digits of a verifier, without those that look alike.
const VERIFIER_ALPHABET: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";

/// A token and its secret, sent once to the application. Debug does not show the secret.
#[derive(Debug)]
pub struct Issued {
    /// The public key.
    pub key: String,
    /// The secret.
    pub secret: Zeroizing<String>,
}

/// An undecided grant.
#[derive(Debug)]
pub struct PendingGrant {
    /// The temporary token, with the requested scopes.
    pub temporary: Temporary,
    /// The application.
    pub application: Arc<Application>,
}

/// Binds a sealed secret to its temporary token.
fn context(key: &str) -> String {
    format!("temporary-token-secret {key}")
}

impl OAuth {
    /// The first step: issues a temporary token for a signed request.
    pub async fn request_token(&self, request: &AuthRequest<'_>, body: &[u8]) -> Result<Issued, AuthError> {
        let (signed, remote) = (&*signature_of(request, body)?, request.remote);
        let application = self.consumer(signed, remote).await?;
        self.verify(signed, &application, &[], remote).await?;
        let named = signed.parameter("oauth_callback").map_err(Refusal::from)?;
        let named = named.filter(|text| !text.is_empty()).ok_or(Refusal::Absent("oauth_callback"))?;
        let callback = callback::checked(named, &application.callback)
            .map_err(|_| Refusal::Rejected { parameter: "oauth_callback", expected: callback::EXPECTED })?;
        let scopes = match signed.parameter("scope").map_err(Refusal::from)? {
            None => Scopes::Read,
            Some(text) => Scopes::parse(text).ok_or(Refusal::Rejected {
                parameter: "scope",
                expected: "read, write, or both with a space",
            })?,
        };
        let issued = generate(TEMPORARY_PREFIX)?;
        let temporary = Temporary {
            sealed_secret: self.secret_keys.seal(issued.secret.as_bytes(), &context(&issued.key))?,
            key: issued.key.clone(),
            consumer: application.key.clone(),
            callback,
            scopes,
            expires: self.shared.clock.now().later(TEMPORARY_TTL),
            progress: Progress::Requested,
        };
        self.shared.store.add_temporary(&temporary).await?;
        Ok(issued)
    }

    /// The undecided grant of a temporary token. `None` if it is unknown, expired or decided.
    pub async fn pending_grant(&self, key: &str) -> Result<Option<PendingGrant>, AuthError> {
        let found = self.shared.store.temporary(key).await?;
        let open = |found: &Temporary| {
            found.progress == Progress::Requested && self.shared.clock.now() < found.expires
        };
        let Some(temporary) = found.filter(open) else { return Ok(None) };
        let application = self.applications.live(&temporary.consumer).await?;
        Ok(application.map(|application| PendingGrant { temporary, application }))
    }

    /// Allows a grant. Returns the verifier, or `None` if the grant was already decided.
    pub async fn allow(&self, key: &str, by: &Account) -> Result<Option<String>, AuthError> {
        let text = verifier()?;
        let (by, epoch) = (by.uid, by.credential_epoch);
        let decision = Progress::Allowed { by, epoch, verifier: seal::sha256(text.as_bytes()) };
        Ok(self.shared.store.decide(key, &decision).await?.then_some(text))
    }

    /// Refuses a grant. `false`: it was already decided.
    pub async fn refuse(&self, key: &str) -> Result<bool, AuthError> {
        Ok(self.shared.store.decide(key, &Progress::Refused).await?)
    }

    /// The last step: exchanges a temporary token and its verifier for an access token.
    pub async fn exchange(&self, request: &AuthRequest<'_>, body: &[u8]) -> Result<Issued, AuthError> {
        let (signed, remote) = (&*signature_of(request, body)?, request.remote);
        let application = self.consumer(signed, remote).await?;
        let key = signed.token().ok_or(Refusal::Absent("oauth_token"))?;
        let temporary =
            self.shared.store.temporary(key).await?.filter(|found| found.consumer == application.key);
        let Some(temporary) = temporary else {
            return Err(self.wrong(Refusal::TokenRejected, remote));
        };
        let secret = self.secret_keys.open(&temporary.sealed_secret, &context(&temporary.key))?;
        self.verify(signed, &application, &secret, remote).await?;
        let verifier = signed.parameter("oauth_verifier").map_err(Refusal::from)?;
        let verifier = verifier.filter(|text| !text.is_empty()).ok_or(Refusal::Absent("oauth_verifier"))?;
        let (owner, epoch) = self.granted(&temporary, verifier, remote).await?;

        let issued = generate(ACCESS_PREFIX)?;
        let now = self.shared.clock.now();
        let token = AccessToken {
            sealed_secret: self.secret_keys.seal(issued.secret.as_bytes(), &token_context(&issued.key))?,
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
        if self.shared.store.exchange(&temporary.key, &token).await? {
            Ok(issued)
        } else {
            Err(Refusal::TokenUsed.into())
        }
    }

    /// The account that allowed the grant and its credential epoch, if the verifier is right and the token not expired.
    async fn granted(
        &self,
        temporary: &Temporary,
        presented: &str,
        remote: IpAddr,
    ) -> Result<(Uid, u32), AuthError> {
        if temporary.expires <= self.shared.clock.now() {
            return Err(Refusal::TokenExpired.into());
        }
        let (by, epoch, verifier) = match &temporary.progress {
            Progress::Allowed { by, epoch, verifier } => (*by, *epoch, verifier),
            Progress::Requested => return Err(self.wrong(Refusal::VerifierInvalid, remote)),
            Progress::Refused => return Err(Refusal::UserRefused.into()),
            Progress::Exchanged { .. } => return Err(Refusal::TokenUsed.into()),
        };
        // A verifier has 80 random bits and a lifetime of minutes: a limit per address is enough.
        if verify_slices_are_equal(&seal::sha256(presented.as_bytes()), verifier).is_err() {
            return Err(self.wrong(Refusal::VerifierInvalid, remote));
        }
        let account = self.shared.accounts.get_in_epoch(by, epoch).await?;
        match account.filter(|account| account.may_act() && account.credential_epoch == epoch) {
            Some(account) => Ok((account.uid, epoch)),
            None => Err(Refusal::TokenRejected.into()),
        }
    }
}

/// The signature of a request that must be signed.
fn signature_of(request: &AuthRequest<'_>, body: &[u8]) -> Result<Box<Signed>, AuthError> {
    match credentials_of(request)?.credential {
        Credential::OAuth(signed) => {
            signed.check_body(body).map_err(|_| Refusal::BodyChanged)?;
            Ok(signed)
        }
        _ => {
            Err(AuthError::Malformed("This step of OAuth takes only a request that the application signed."))
        }
    }
}

fn generate(prefix: &str) -> Result<Issued, AuthError> {
    let key = seal::random_text::<16>(prefix)?.to_string();
    Ok(Issued { key, secret: seal::random_text::<32>("")? })
}

/// Generates a verifier: 80 random bits as four groups of four characters that a person can type.
fn verifier() -> Result<String, AuthError> {
    let random = seal::random::<16>()?;
    let character =
        |byte: &u8| VERIFIER_ALPHABET.get(usize::from(byte % 32)).map_or('a', |letter| char::from(*letter));
    let groups: Vec<String> = random.chunks(4).map(|group| group.iter().map(character).collect()).collect();
    Ok(groups.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verifiers_have_four_groups_of_unambiguous_characters() {
        let (first, second) = (verifier().unwrap(), verifier().unwrap());
        assert_ne!(first, second);
        assert_eq!((first.len(), first.split('-').count()), (19, 4));
        assert!(first.bytes().all(|byte| byte == b'-' || VERIFIER_ALPHABET.contains(&byte)), "{first}");
    }
}
