//! An empty database that has only what may be read: a statement that can be prepared there names nothing else.
//!
//! SQLite's authorizer cannot tell by itself. It is told for whom a table is read, but the name it is told may be a
//! view's as well as one that the statement made up (`WITH orders AS (SELECT … FROM secrets)`). In the model every
//! listed table and every listed view is a plain table, so that no table is read for another, and what is not listed
//! does not exist. Names mean the same in both databases: the columns are the same, and the file is read in one
//! transaction.

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, Error};

use super::allow::{NamesInUse, is_virtual_table};

/// The model of a database in which a transaction has begun and in which the statement is then asked.
pub(super) fn build_model(
    database: &Connection,
    names: &NamesInUse,
    listed: &[String],
) -> Result<Connection, Error> {
    let mut model = Connection::open_in_memory()?;
    for name in listed_names(database, names, listed)? {
        // A view that reads what is not there has no columns, and cannot be read in the file either.
        if let Ok(columns) = columns(database, &name)
            && !columns.is_empty()
        {
            let columns: Vec<_> = columns.iter().map(|name| quote_name(name)).collect();
            model.execute_batch(&format!("CREATE TABLE {}({})", quote_name(&name), columns.join(", ")))?;
        }
    }
    let (names, listed) = (names.clone(), listed.to_vec());
    model.authorizer(Some(move |asked: AuthContext<'_>| authorize(&asked, &names, &listed)))?;
    Ok(model)
}

fn listed_names(database: &Connection, names: &NamesInUse, listed: &[String]) -> Result<Vec<String>, Error> {
    // What is reserved cannot be made, and the model has its own.
    let mut all = database.prepare(
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )?;
    let all = all.query_map([], |row| row.get(0))?;
    let is_listed = |name: &Result<String, Error>| {
        name.as_ref().map_or(true, |name| contains_name(listed, name) && names.is_readable(name))
    };
    all.filter(is_listed).collect()
}

/// Also those that `*` does not show.
fn columns(database: &Connection, table: &str) -> Result<Vec<String>, Error> {
    let mut info = database.prepare("SELECT name FROM pragma_table_xinfo(?1)")?;
    info.query_map([table], |row| row.get(0))?.collect()
}

fn authorize(asked: &AuthContext<'_>, names: &NamesInUse, listed: &[String]) -> Authorization {
    let AuthAction::Read { table_name, column_name } = asked.action else { return names.authorize(asked) };
    let may = contains_name(listed, table_name)
        || is_virtual_table(table_name)
        // Of what is only counted the name is told even if it is the statement's own; if a table that is not listed has
        // it too, the statement still means its own, since that table does not exist here.
        || (column_name.is_empty() && !names.is_reserved(table_name));
    if may { Authorization::Allow } else { Authorization::Deny }
}

fn contains_name(listed: &[String], name: &str) -> bool {
    listed.iter().any(|held| held.eq_ignore_ascii_case(name))
}

fn quote_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
