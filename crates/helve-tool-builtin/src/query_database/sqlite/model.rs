//! An empty database that has only what may be read: a statement that can be prepared there names nothing else.
//!
//! SQLite's authorizer cannot tell by itself. It is told for whom a table is read, but the name it is told may be a
//! view's as well as one that the statement made up (`WITH orders AS (SELECT … FROM secrets)`). In the model every
//! listed table and every listed view is a plain table, so that no table is read for another, and what is not listed
//! does not exist. Names mean the same in both databases: the columns are the same, and the file is read in one
//! transaction.

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, Error};

/// Begins a transaction in the database, in which the statement is then asked.
pub(super) fn of(database: &mut Connection, listed: &[String]) -> Result<Connection, Error> {
    database.execute_batch("BEGIN")?;
    let mut model = Connection::open_in_memory()?;
    for name in names(database, listed)? {
        // A view that reads what is not there has no columns, and cannot be read in the file either.
        if let Ok(columns) = columns(database, &name)
            && !columns.is_empty()
        {
            let columns: Vec<_> = columns.iter().map(|name| quoted(name)).collect();
            model.execute_batch(&format!("CREATE TABLE {}({})", quoted(&name), columns.join(", ")))?;
        }
    }
    let listed = listed.to_vec();
    model.authorizer(Some(move |asked: AuthContext<'_>| judge(&asked, &listed)))?;
    Ok(model)
}

fn names(database: &Connection, listed: &[String]) -> Result<Vec<String>, Error> {
    // What is reserved cannot be made, and the model has its own.
    let mut all = database.prepare(
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )?;
    let names = all.query_map([], |row| row.get(0))?;
    let is_listed = |name: &Result<String, Error>| name.as_ref().map_or(true, |name| holds(listed, name));
    names.filter(is_listed).collect()
}

/// Also those that `*` does not show.
fn columns(database: &Connection, table: &str) -> Result<Vec<String>, Error> {
    let mut info = database.prepare("SELECT name FROM pragma_table_xinfo(?1)")?;
    info.query_map([table], |row| row.get(0))?.collect()
}

fn judge(asked: &AuthContext<'_>, listed: &[String]) -> Authorization {
    let may = match asked.action {
        AuthAction::Read { table_name, column_name } => {
            // Of what is only counted the name is told even if it is the statement's own.
            let is_counted = column_name.is_empty() && !is_built_in(table_name);
            is_counted || holds(listed, table_name)
        }
        _ => return super::judge(*asked),
    };
    if may { Authorization::Allow } else { Authorization::Deny }
}

/// Tables that every database has, and that tell of others.
fn is_built_in(table: &str) -> bool {
    let table = table.to_ascii_lowercase();
    table.starts_with("sqlite_") || table.starts_with("pragma_")
}

fn holds(listed: &[String], name: &str) -> bool {
    listed.iter().any(|held| held.eq_ignore_ascii_case(name))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
