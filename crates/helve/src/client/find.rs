//! Finding what is meant by a few characters of its id.

use anyhow::{bail, ensure};
use helve_types::ApprovalId;
use serde_json::Value;

use super::{Client, ClientError, line};
use crate::i18n::tr;

/// What one page of a list holds at most.
const PAGE: usize = 200;
/// Of that many runs the latest is found by a part of its id; an older one by the whole.
const RUNS_MAX: usize = 1_000;
const APPROVALS_MAX: usize = 10_000;
/// Fewer characters would fit by chance.
const PART_MIN: usize = 4;

/// All approvals of a state, as the server tells them.
pub(crate) async fn all_approvals(
    client: &Client,
    state: &str,
    user: Option<&str>,
) -> Result<Vec<Value>, ClientError> {
    let query: Vec<_> = [("state", state)].into_iter().chain(user.map(|user| ("user", user))).collect();
    all(client, "/api/approvals", "approvals", &query, APPROVALS_MAX).await
}

/// The whole id of the approval whose id begins or ends like this.
pub(crate) async fn approval_of(client: &Client, part: &str) -> anyhow::Result<String> {
    if part.parse::<ApprovalId>().is_ok() {
        return Ok(part.to_owned());
    }
    // An open question is meant before one that is settled.
    for state in ["pending", "inbox", "all"] {
        let ids = ids(&all_approvals(client, state, None).await?, "approval");
        if let Some(found) = only(part, &ids)? {
            return Ok(found);
        }
    }
    bail!(tr!("no approval has an id like `{id}`; `helve approvals list --all` shows them", id = line(part)))
}

/// The whole id of the run whose id begins or ends like this.
pub(crate) async fn run_of(client: &Client, part: &str) -> anyhow::Result<String> {
    if part.parse::<helve_types::RunId>().is_ok() {
        return Ok(part.to_owned());
    }
    let runs = all(client, "/api/runs", "runs", &[], RUNS_MAX).await?;
    match only(part, &ids(&runs, "run"))? {
        Some(found) => Ok(found),
        None => bail!(tr!(
            "none of your latest runs has an id like `{id}`; `helve runs list` shows them, and others need the whole id",
            id = line(part)
        )),
    }
}

async fn all(
    client: &Client,
    path: &str,
    member: &str,
    query: &[(&str, &str)],
    at_most: usize,
) -> Result<Vec<Value>, ClientError> {
    let mut found: Vec<Value> = vec![];
    loop {
        let (limit, offset) = (PAGE.to_string(), found.len().to_string());
        let page = [query, &[("limit", limit.as_str()), ("offset", offset.as_str())]].concat();
        let mut answer: Value = client.get(path, &page).await?;
        let Some(Value::Array(items)) = answer.get_mut(member).map(Value::take) else {
            return Err(client.odd(&tr!("its answer has no `{member}`", member = member)));
        };
        let last = items.len() < PAGE;
        found.extend(items);
        if last || found.len() >= at_most {
            return Ok(found);
        }
    }
}

fn ids(items: &[Value], member: &str) -> Vec<String> {
    items.iter().filter_map(|item| item[member].as_str().map(str::to_owned)).collect()
}

/// The one id that begins or ends with the part, if there is one.
fn only(part: &str, ids: &[String]) -> anyhow::Result<Option<String>> {
    let wanted = part.trim().to_ascii_lowercase();
    ensure!(
        wanted.len() >= PART_MIN,
        tr!(
            "`{id}` is too short for an id; give at least {count} characters",
            id = line(part),
            count = PART_MIN
        )
    );
    let fits = |id: &&String| id.starts_with(&wanted) || id.ends_with(&wanted);
    let found: Vec<&String> = ids.iter().filter(fits).collect();
    match found[..] {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        [..] => {
            let all: Vec<&str> = found.iter().map(|id| id.as_str()).collect();
            bail!(tr!("several ids are like `{id}`: {all}", id = line(part), all = all.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_an_id_is_enough_if_it_fits_only_one() {
        let ids = ["019a-aaaa-1111", "019a-bbbb-2222", "77ff-cccc-1111"].map(str::to_owned);
        assert_eq!(only("77FF", &ids).unwrap().as_deref(), Some("77ff-cccc-1111"));
        assert_eq!(only("2222", &ids).unwrap().as_deref(), Some("019a-bbbb-2222"));
        assert_eq!(only("9999", &ids).unwrap(), None);
        let two = only("019a", &ids).unwrap_err().to_string();
        assert_eq!(two, "several ids are like `019a`: 019a-aaaa-1111, 019a-bbbb-2222");
        assert!(only("77f", &ids).unwrap_err().to_string().contains("at least 4"));
    }
}
