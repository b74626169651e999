//! What a statement may use: a list of functions, and the ordinary tables and views of the file.
//!
//! Two locks hold the list. The authorizer is asked about everything that a statement or a view names. It is not asked
//! about what stands in the file's own schema (a generated column, the expression of an index), so functions that are not
//! on the list are also taken out of the connection: there they do not exist.

use std::collections::HashSet;

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, Error};

/// Functions that compute a value from values and whose cost is bounded by the sizes that the connection allows.
/// Not on it: what reads files, settings or the state of the library, what writes, and what takes pointers.
#[rustfmt::skip]
const FUNCTIONS: &[&str] = &[
    // Operators that are functions.
    "->", "->>", "glob", "like",
    // Values.
    "abs", "char", "coalesce", "concat", "concat_ws", "format", "hex", "if", "ifnull", "iif", "instr", "length",
    "likelihood", "likely", "lower", "ltrim", "nullif", "octet_length", "printf", "quote", "random", "randomblob",
    "replace", "round", "rtrim", "sign", "sqlite_version", "substr", "substring", "trim", "typeof", "unhex", "unicode",
    "unistr", "unistr_quote", "unlikely", "upper", "zeroblob",
    // Dates and times.
    "current_date", "current_time", "current_timestamp", "date", "datetime", "julianday", "strftime", "time", "timediff",
    "unixepoch",
    // Aggregates and windows.
    "avg", "count", "cume_dist", "dense_rank", "first_value", "group_concat", "lag", "last_value", "lead", "max",
    "median", "min", "nth_value", "ntile", "percent_rank", "percentile", "percentile_cont", "percentile_disc", "rank",
    "row_number", "string_agg", "sum", "total",
    // JSON.
    "json", "json_array", "json_array_insert", "json_array_length", "json_error_position", "json_extract",
    "json_group_array", "json_group_object", "json_insert", "json_object", "json_patch", "json_pretty", "json_quote",
    "json_remove", "json_replace", "json_set", "json_type", "json_valid", "jsonb", "jsonb_array", "jsonb_array_insert",
    "jsonb_extract", "jsonb_group_array", "jsonb_group_object", "jsonb_insert", "jsonb_object", "jsonb_patch",
    "jsonb_remove", "jsonb_replace", "jsonb_set",
    // Mathematics.
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "ceiling", "cos", "cosh", "degrees", "exp",
    "floor", "ln", "log", "log10", "log2", "mod", "pi", "pow", "power", "radians", "sin", "sinh", "sqrt", "tan", "tanh",
    "trunc",
];

/// Virtual tables that may be read. They only take apart the JSON that they are given, and an array in a column can be
/// asked about in no other way.
const VIRTUAL_TABLES: [&str; 2] = ["json_each", "json_tree"];
const SCHEMA_TABLES: [&str; 2] = ["sqlite_master", "sqlite_schema"];

/// Takes out of the connection every function that is not on the list.
pub(super) fn remove_other_functions(connection: &Connection) -> Result<(), Error> {
    let mut all = connection.prepare("SELECT DISTINCT name, narg FROM pragma_function_list")?;
    let all = all.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i32>(1)?)))?;
    let others: Vec<_> = all
        .filter(|held| held.as_ref().map_or(true, |(name, _)| !is_function(name)))
        .collect::<Result<_, _>>()?;
    others.iter().try_for_each(|(name, arguments)| connection.remove_function(name.as_str(), *arguments))
}

pub(super) fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

pub(super) fn is_virtual_table(name: &str) -> bool {
    VIRTUAL_TABLES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The names that a database has, by what may be done with them.
#[derive(Debug, Clone, Default)]
pub(super) struct NamesInUse {
    /// Ordinary tables and views.
    readable: HashSet<String>,
    /// Everything else that can be named behind FROM: virtual tables of the file and of the library.
    forbidden: HashSet<String>,
}

impl NamesInUse {
    pub(super) fn read(connection: &Connection) -> Result<Self, Error> {
        let mut names = Self::default();
        let mut held = connection.prepare("SELECT name, type, rootpage, sql FROM sqlite_schema")?;
        let mut rows = held.query([])?;
        while let Some(row) = rows.next()? {
            // A file made to do harm may have anything in any of its columns.
            let text = |column| row.get_ref(column).ok()?.as_str().ok().map(str::to_ascii_lowercase);
            let (Some(name), Some(kind)) = (text(0), text(1)) else { continue };
            let page = row.get_ref(2).ok().and_then(|page| page.as_i64().ok()).unwrap_or_default();
            let sql = text(3).unwrap_or_default();
            let is_readable = match kind.as_str() {
                "table" => page > 0 && begins(&sql, &["create", "table"]),
                "view" => begins(&sql, &["create", "view"]),
                _ => continue,
            };
            if is_readable {
                names.readable.insert(name)
            } else {
                names.forbidden.insert(name)
            };
        }
        // A name that stands for both, which only a damaged schema has, is not read.
        names.readable.retain(|name| !names.forbidden.contains(name));
        let mut modules = connection.prepare("SELECT lower(name) FROM pragma_module_list")?;
        for module in modules.query_map([], |row| row.get(0))? {
            names.forbidden.insert(module?);
        }
        Ok(names)
    }

    pub(super) fn is_readable(&self, table: &str) -> bool {
        let table = table.to_ascii_lowercase();
        self.readable.contains(&table)
            || SCHEMA_TABLES.contains(&table.as_str())
            || VIRTUAL_TABLES.contains(&table.as_str())
    }

    /// Whether the library or the file has something of this name that may not be read.
    pub(super) fn is_reserved(&self, table: &str) -> bool {
        let table = table.to_ascii_lowercase();
        self.forbidden.contains(&table)
            || ["sqlite_", "pragma_"].iter().any(|reserved| table.starts_with(reserved))
    }

    /// Whether a part of a statement may be prepared: reading, and nothing else.
    pub(super) fn authorize(&self, asked: &AuthContext<'_>) -> Authorization {
        let may = match asked.action {
            AuthAction::Select | AuthAction::Recursive => true,
            AuthAction::Read { table_name, column_name } => {
                // Of what is only counted the name is told even if it is the statement's own.
                self.is_readable(table_name) || (column_name.is_empty() && !self.is_reserved(table_name))
            }
            AuthAction::Function { function_name } => is_function(function_name),
            _ => false,
        };
        if may { Authorization::Allow } else { Authorization::Deny }
    }
}

/// Whether the text begins with these words, however they are set apart. SQLite keeps them in this form.
fn begins(sql: &str, words: &[&str]) -> bool {
    let mut held = sql.split_ascii_whitespace();
    words.iter().all(|word| held.next() == Some(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_each_function_once_in_small_letters() {
        let mut seen = HashSet::new();
        for name in FUNCTIONS {
            assert!(seen.insert(name) && !name.bytes().any(|byte| byte.is_ascii_uppercase()), "{name}");
        }
    }

    #[test]
    fn functions_that_are_not_on_the_list_do_not_exist_in_the_connection() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("SELECT total_changes(), sqlite_source_id(), last_insert_rowid()").unwrap();
        remove_other_functions(&connection).unwrap();
        for call in ["total_changes()", "sqlite_source_id()", "last_insert_rowid()", "sqlite_log(1, 'x')"] {
            connection.prepare(&format!("SELECT {call}")).unwrap_err();
        }
        let left: Vec<String> = connection
            .prepare("SELECT DISTINCT name FROM pragma_function_list")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        for name in left.iter().filter(|name| !is_function(name)) {
            connection.prepare(&format!("SELECT \"{name}\"()")).unwrap_err();
        }
        connection
            .execute_batch("SELECT count(*), max(1, 2), json('[]') ->> 0, 'a' LIKE 'A', date('now')")
            .unwrap();
    }

    #[test]
    fn the_authorizer_alone_keeps_to_the_list() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t (a); CREATE VIEW v AS SELECT total_changes() FROM t")
            .unwrap();
        let names = NamesInUse::read(&connection).unwrap();
        connection.authorizer(Some(move |asked: AuthContext<'_>| names.authorize(&asked))).unwrap();
        for sql in [
            "SELECT total_changes()",
            "SELECT * FROM v",
            "SELECT count(*) FROM pragma_function_list",
            "SELECT name FROM pragma_function_list",
            "SELECT * FROM sqlite_temp_schema",
            "PRAGMA user_version",
            "INSERT INTO t VALUES (1)",
            "CREATE TABLE x (a)",
            "ATTACH ':memory:' AS x",
        ] {
            let error = connection.prepare(sql).unwrap_err();
            let told = error.to_string();
            assert!(told.contains("not authorized") || told.contains("is prohibited"), "{sql}: {told}");
        }
        for sql in [
            "WITH mine AS (SELECT 1) SELECT count(*) FROM mine",
            "SELECT count(*) FROM t",
            "SELECT value FROM json_each('[1]')",
            "SELECT count(*) FROM sqlite_schema",
        ] {
            connection.prepare(sql).unwrap();
        }
    }

    #[test]
    fn the_bundled_sqlite_has_no_extension_that_nothing_here_needs() {
        let connection = Connection::open_in_memory().unwrap();
        let mut options = connection.prepare("PRAGMA compile_options").unwrap();
        let options: Vec<String> =
            options.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        for extension in ["FTS3", "FTS4", "FTS5", "RTREE", "DBSTAT_VTAB", "LOAD_EXTENSION", "SOUNDEX"] {
            let built =
                options.iter().find(|option| option.contains(extension) && !option.starts_with("OMIT_"));
            assert_eq!(built, None, "LIBSQLITE3_FLAGS of .cargo/config.toml is not in effect");
        }
        for sql in ["SELECT fts3_tokenizer('simple')", "SELECT rtreecheck('t')", "SELECT load_extension('x')"]
        {
            let error = connection.prepare(sql).unwrap_err();
            assert!(error.to_string().contains("no such function"), "{sql}: {error}");
        }
    }
}
