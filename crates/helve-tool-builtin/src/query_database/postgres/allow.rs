//! What a statement may name: functions that are on a list, and no catalog.
//!
//! A read-only transaction keeps a function from writing to tables and from nothing else: functions read files of the
//! server, connect elsewhere, end other sessions, run SQL that they are given as text. So a name that is called goes by
//! the list. A name that no function of the database has is a keyword, a type or an alias, which is asked of the
//! database itself (`UNLISTED`). What a view, an operator or a cast of the database calls is its owner's word.

use super::statement::{self, Name};

/// Functions of PostgreSQL that compute values from values, or a set of rows from values.
#[rustfmt::skip]
const FUNCTIONS: &[&str] = &[
    // Text and bytes.
    "ascii", "bit_count", "bit_length", "bpchar", "btrim", "casefold", "char", "char_length", "character_length", "chr",
    "concat", "concat_ws", "convert_from", "convert_to", "crc32", "crc32c", "decode", "encode", "format", "get_bit",
    "get_byte", "initcap", "is_normalized", "left", "length", "like", "like_escape", "lower", "lpad", "ltrim", "md5",
    "name", "normalize", "octet_length", "overlay", "position", "quote_ident", "quote_literal", "quote_nullable",
    "regexp_count", "regexp_instr", "regexp_like", "regexp_match", "regexp_matches", "regexp_replace",
    "regexp_split_to_array", "regexp_split_to_table", "regexp_substr", "repeat", "replace", "reverse", "right", "rpad",
    "rtrim", "set_bit", "set_byte", "sha224", "sha256", "sha384", "sha512", "similar_to_escape", "split_part",
    "starts_with", "string_to_array", "string_to_table", "strpos", "substr", "substring", "text", "to_ascii", "to_bin",
    "to_hex", "to_oct", "translate", "trim", "unistr", "upper", "varchar",
    // Numbers.
    "abs", "acos", "acosd", "acosh", "asin", "asind", "asinh", "atan", "atan2", "atan2d", "atand", "atanh", "bit",
    "bool", "cbrt", "ceil", "ceiling", "cos", "cosd", "cosh", "cot", "cotd", "degrees", "div", "erf", "erfc", "exp",
    "factorial", "float4", "float8", "floor", "gamma", "gcd", "int2", "int4", "int8", "lcm", "lgamma", "ln", "log",
    "log10", "min_scale", "mod", "money", "numeric", "pi", "pow", "power", "radians", "random", "random_normal", "round",
    "scale", "sign", "sin", "sind", "sinh", "sqrt", "tan", "tand", "tanh", "trim_scale", "trunc", "varbit",
    "width_bucket",
    // Dates and times.
    "age", "clock_timestamp", "date", "date_add", "date_bin", "date_part", "date_subtract", "date_trunc", "extract",
    "interval", "isfinite", "justify_days", "justify_hours", "justify_interval", "make_date", "make_interval",
    "make_time", "make_timestamp", "make_timestamptz", "now", "overlaps", "statement_timestamp", "time", "timeofday",
    "timestamp", "timestamptz", "timetz", "timezone", "to_char", "to_date", "to_number", "to_timestamp",
    "transaction_timestamp",
    // Aggregates and windows.
    "any_value", "array_agg", "avg", "bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "corr", "count",
    "covar_pop", "covar_samp", "cume_dist", "dense_rank", "every", "first_value", "json_agg", "json_agg_strict",
    "json_object_agg", "json_object_agg_strict", "json_object_agg_unique", "jsonb_agg", "jsonb_agg_strict",
    "jsonb_object_agg", "jsonb_object_agg_strict", "jsonb_object_agg_unique", "lag", "last_value", "lead", "max", "min",
    "mode", "nth_value", "ntile", "percent_rank", "percentile_cont", "percentile_disc", "range_agg",
    "range_intersect_agg", "rank", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope",
    "regr_sxx", "regr_sxy", "regr_syy", "row_number", "stddev", "stddev_pop", "stddev_samp", "string_agg", "sum",
    "var_pop", "var_samp", "variance",
    // JSON.
    "array_to_json", "json_array_elements", "json_array_elements_text", "json_array_length", "json_build_array",
    "json_build_object", "json_each", "json_each_text", "json_extract_path", "json_extract_path_text", "json_object",
    "json_object_keys", "json_populate_record", "json_populate_recordset", "json_strip_nulls", "json_to_record",
    "json_to_recordset", "json_typeof", "jsonb_array_elements", "jsonb_array_elements_text", "jsonb_array_length",
    "jsonb_build_array", "jsonb_build_object", "jsonb_each", "jsonb_each_text", "jsonb_extract_path",
    "jsonb_extract_path_text", "jsonb_insert", "jsonb_object", "jsonb_object_keys", "jsonb_path_exists",
    "jsonb_path_exists_tz", "jsonb_path_match", "jsonb_path_match_tz", "jsonb_path_query", "jsonb_path_query_array",
    "jsonb_path_query_array_tz", "jsonb_path_query_first", "jsonb_path_query_first_tz", "jsonb_path_query_tz",
    "jsonb_populate_record", "jsonb_populate_recordset", "jsonb_pretty", "jsonb_set", "jsonb_set_lax",
    "jsonb_strip_nulls", "jsonb_to_record", "jsonb_to_recordset", "jsonb_typeof", "row_to_json", "to_json", "to_jsonb",
    // Arrays and sets.
    "array_append", "array_cat", "array_dims", "array_fill", "array_length", "array_lower", "array_ndims",
    "array_position", "array_positions", "array_prepend", "array_remove", "array_replace", "array_reverse",
    "array_sample", "array_shuffle", "array_sort", "array_to_string", "array_upper", "cardinality", "generate_series",
    "generate_subscripts", "trim_array", "unnest",
    // Ranges.
    "datemultirange", "daterange", "int4multirange", "int4range", "int8multirange", "int8range", "isempty", "lower_inc",
    "lower_inf", "multirange", "nummultirange", "numrange", "range_merge", "tsmultirange", "tsrange", "tstzmultirange",
    "tstzrange", "upper_inc", "upper_inf",
    // Full text.
    "array_to_tsvector", "numnode", "phraseto_tsquery", "plainto_tsquery", "querytree", "setweight", "strip",
    "to_tsquery", "to_tsvector", "ts_delete", "ts_filter", "ts_headline", "ts_rank", "ts_rank_cd", "tsquery_phrase",
    "tsvector_to_array", "websearch_to_tsquery",
    // Shapes, addresses, identifiers, enumerations.
    "abbrev", "area", "bound_box", "box", "broadcast", "center", "circle", "diagonal", "diameter", "enum_first",
    "enum_last", "enum_range", "family", "gen_random_uuid", "height", "host", "hostmask", "inet_merge",
    "inet_same_family", "isclosed", "isopen", "line", "lseg", "masklen", "netmask", "network", "npoints", "path", "pclose",
    "point", "polygon", "popen", "radius", "set_masklen", "slope", "uuid_extract_timestamp", "uuid_extract_version",
    "uuidv4", "uuidv7", "width",
    // Others.
    "bernoulli", "current_database", "num_nonnulls", "num_nulls", "pg_size_pretty", "pg_typeof", "system",
];

/// Types whose texts are names of the catalogs.
const CATALOG_TYPES: [&str; 11] = [
    "regclass",
    "regcollation",
    "regconfig",
    "regdictionary",
    "regnamespace",
    "regoper",
    "regoperator",
    "regproc",
    "regprocedure",
    "regrole",
    "regtype",
];

/// Names of functions that a statement must not call: those called that are not on the list ($1), those behind a dot
/// ($2), where they need something to be applied to, and those on the list ($3) that a user of the database has added a function of
/// the same name to that may do more than compute.
pub(super) const UNLISTED: &str = "SELECT DISTINCT p.proname::text FROM pg_catalog.pg_proc p
    WHERE p.proname = ANY ($1::name[])
       OR (p.proname = ANY ($2::name[]) AND p.pronargs > 0)
       OR (p.proname = ANY ($3::name[]) AND p.provolatile = 'v'
           AND p.pronamespace <> 'pg_catalog'::pg_catalog.regnamespace)
    ORDER BY 1 LIMIT 5";

/// What the database is asked about a statement before it is asked the statement.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UnlistedNames {
    pub(super) called: Vec<String>,
    pub(super) behind_dots: Vec<String>,
    pub(super) listed: Vec<String>,
}

/// The doubts about a statement, or why it is refused without a question.
pub(super) fn find_unlisted(sql: &str) -> Result<UnlistedNames, String> {
    let names =
        statement::list_names(sql).map_err(|what| format!("`sql` has what is not read here: {what}"))?;
    let mut doubts = UnlistedNames::default();
    for name in names {
        if let Some(problem) = name_problem(&name) {
            return Err(problem);
        }
        let is_listed = FUNCTIONS.contains(&name.text.as_str());
        match (name.is_called, name.is_behind_a_dot) {
            (false, false) => continue,
            _ if is_listed => doubts.listed.push(name.text),
            (true, _) => doubts.called.push(name.text),
            (false, true) => doubts.behind_dots.push(name.text),
        }
    }
    Ok(doubts)
}

fn name_problem(name: &Name) -> Option<String> {
    let text = name.text.as_str();
    // `TREAT(x AS f)` calls the function `f`, whatever follows its name.
    if text == "treat" && name.is_called {
        return Some("`TREAT(…)` is not read here; write `CAST(… AS …)`".into());
    }
    if text == "operator" && name.is_called {
        return Some("operators are not named with `OPERATOR(…)` here; write the operator itself".into());
    }
    if FUNCTIONS.contains(&text) {
        return None;
    }
    if name.is_called && text.starts_with("pg_") {
        return Some(unlisted_message(text));
    }
    let is_catalog = text.starts_with("pg_") || text == "information_schema" || CATALOG_TYPES.contains(&text);
    is_catalog.then(|| {
        format!(
            "`{text}` may not be read: it is of the catalogs; `describe: true` shows the tables and columns"
        )
    })
}

pub(super) fn unlisted_message(function: &str) -> String {
    format!(
        "the function `{function}` may not be called: only PostgreSQL's own functions that compute values from values may"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_each_function_once() {
        let mut seen = std::collections::HashSet::new();
        assert_eq!(FUNCTIONS.iter().find(|name| !seen.insert(**name)), None);
    }

    #[test]
    fn what_is_not_on_the_list_is_a_doubt_and_catalogs_are_refused_at_once() {
        let found =
            find_unlisted("SELECT count(*), secret(1), o.total, o.date FROM public.orders AS o").unwrap();
        assert_eq!(found.called, ["secret"]);
        assert_eq!(found.behind_dots, ["total", "orders"]);
        assert_eq!(found.listed, ["count", "date"]);
        for (sql, expected) in [
            ("SELECT pg_sleep(1)", "the function `pg_sleep` may not be called"),
            ("SELECT x.pg_sleep FROM x", "`pg_sleep` may not be read"),
            ("TABLE pg_authid", "`pg_authid` may not be read"),
            ("SELECT * FROM \"pg_catalog\".\"pg_class\"", "`pg_catalog` may not be read"),
            ("SELECT * FROM Information_Schema.tables", "`information_schema` may not be read"),
            ("SELECT 'x'::regclass", "`regclass` may not be read"),
            ("SELECT TREAT('DELETE FROM orders' AS query_to_xml)", "`TREAT(…)` is not read here"),
            ("SELECT 1 OPERATOR(public.+) 1", "operators are not named"),
            ("SELECT 'x", "`sql` has what is not read here"),
        ] {
            let problem = find_unlisted(sql).unwrap_err();
            assert!(problem.starts_with(expected), "{sql}: {problem}");
        }
    }
}
