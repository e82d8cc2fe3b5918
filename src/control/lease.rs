//! A Lease (`coordination.k8s.io/v1`) that is held while there may be something to write.
//!
//! An extender writes for the scheduler that asks it. The instance beside a scheduler that does not lead is not
//! asked, has nothing to write, and never takes the lease: it follows the scheduler without any election.

use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::coordination::v1::{Lease as Object, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};

/// A lease that several instances want.
#[derive(Clone)]
pub struct Lease {
    api: Api<Object>,
    name: String,
    holder: String,
    /// As we wrote it last, and until when it is ours.
    ours: Option<(Object, SystemTime)>,
}

/// Why nothing may be written now.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Somebody else holds it.
    #[error("the lease is held by {0}")]
    Held(String),
    /// The API server does not let us.
    #[error(transparent)]
    Api(#[from] kube::Error),
}

/// How long a lease is good for after it was taken or renewed: short, because whoever takes over has Pods to
/// wake, and two that write for a moment do no harm.
const LASTS: Duration = Duration::from_secs(10);
/// It is renewed when less than this is left.
const RENEWED: Duration = Duration::from_secs(5);
/// How long one write may be on its way.
const MOMENT: Duration = Duration::from_millis(500);

impl Lease {
    /// The lease of that name; `holder` tells instances apart.
    #[must_use]
    pub fn new(client: Client, namespace: &str, name: &str, holder: &str) -> Self {
        let api = Api::namespaced(client, namespace);
        Self { api, name: name.to_owned(), holder: holder.to_owned(), ours: None }
    }

    /// Whether it is ours, and for a moment longer.
    #[must_use]
    pub fn is_ours(&self, now: SystemTime) -> bool {
        self.ours.as_ref().is_some_and(|(_, until)| now + MOMENT < *until)
    }

    /// Whether it should be taken or renewed.
    #[must_use]
    pub fn is_due(&self, now: SystemTime) -> bool {
        self.ours.as_ref().is_none_or(|(_, until)| now + RENEWED >= *until)
    }

    /// Takes or renews it, if it does not last long enough anyway.
    ///
    /// # Errors
    /// Where somebody else holds it, or the API server does not give it.
    pub async fn hold(&mut self, now: SystemTime) -> Result<(), LeaseError> {
        if !self.is_due(now) {
            return Ok(());
        }
        // One call where nobody has touched it since.
        if let Some((object, _)) = self.ours.take()
            && let Ok(renewed) = self.write(object, now).await
        {
            self.ours = Some(renewed);
            return Ok(());
        }
        let object = self.api.get_opt(&self.name).await?.unwrap_or_default();
        if let Some(other) = object.spec.as_ref().and_then(|spec| held_by_another(spec, &self.holder, now)) {
            return Err(LeaseError::Held(other));
        }
        self.ours = Some(self.write(object, now).await?);
        Ok(())
    }

    /// Writes it as ours. Its resourceVersion goes with it: of two that try at once, one fails.
    async fn write(&self, mut object: Object, now: SystemTime) -> Result<(Object, SystemTime), kube::Error> {
        object.spec = Some(self.renewed(&object.spec.take().unwrap_or_default(), now));
        let parameters = PostParams::default();
        let written = if object.metadata.resource_version.is_some() {
            self.api.replace(&self.name, &parameters, &object).await?
        } else {
            object.metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
            self.api.create(&parameters, &object).await?
        };
        Ok((written, now + LASTS))
    }

    fn renewed(&self, before: &LeaseSpec, now: SystemTime) -> LeaseSpec {
        let ours = before.holder_identity.as_ref() == Some(&self.holder);
        let now = time(now);
        LeaseSpec {
            holder_identity: Some(self.holder.clone()),
            lease_duration_seconds: i32::try_from(LASTS.as_secs()).ok(),
            acquire_time: if ours { before.acquire_time.clone() } else { now.clone() },
            renew_time: now,
            lease_transitions: Some(before.lease_transitions.unwrap_or(0) + i32::from(!ours)),
            ..LeaseSpec::default()
        }
    }
}

/// Who else holds a lease that has not run out.
fn held_by_another(spec: &LeaseSpec, own: &str, now: SystemTime) -> Option<String> {
    let holder = spec.holder_identity.as_deref().filter(|holder| !holder.is_empty() && *holder != own)?;
    let lasts = SignedDuration::from_secs(i64::from(spec.lease_duration_seconds.unwrap_or(0)));
    let renewed = spec.renew_time.as_ref()?.0;
    let now = Timestamp::try_from(now).ok()?;
    (now < renewed.checked_add(lasts).ok()?).then(|| holder.to_owned())
}

fn time(time: SystemTime) -> Option<MicroTime> {
    Timestamp::try_from(time).ok().map(MicroTime)
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
    }

    #[test]
    fn a_lease_is_anothers_until_it_runs_out() {
        let spec = LeaseSpec {
            holder_identity: Some("other".into()),
            lease_duration_seconds: Some(15),
            renew_time: time(at(0)),
            ..LeaseSpec::default()
        };
        assert_eq!(held_by_another(&spec, "own", at(14)).as_deref(), Some("other"));
        assert_eq!(held_by_another(&spec, "own", at(15)), None, "it has run out");
        assert_eq!(held_by_another(&spec, "other", at(1)), None, "it is ours");
        let given_up = LeaseSpec { holder_identity: Some(String::new()), ..spec };
        assert_eq!(held_by_another(&given_up, "own", at(1)), None);
    }
}
