//! What a filter is once it is parsed.

use serde_json::Number;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Filter {
    Identity,
    /// `..`
    Descend,
    Null,
    Bool(bool),
    Number(Number),
    /// Text with what is put into it.
    Text(Vec<StringPart>),
    /// A variable, counted from the innermost.
    Variable(usize),
    /// `term.a[0][]`
    Steps(Box<Self>, Vec<PathStep>),
    Pipe(Vec<Self>),
    Comma(Vec<Self>),
    Negative(Box<Self>),
    Binary(JqOperator, Box<Self>, Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    /// `//`
    Otherwise(Box<Self>, Box<Self>),
    /// `paths |= f`
    Update(Box<Self>, Box<Self>),
    /// `paths = f`
    Assign(Box<Self>, Box<Self>),
    /// `paths += f` and its relatives; none is `//=`.
    Change(Option<JqOperator>, Box<Self>, Box<Self>),
    List(Option<Box<Self>>),
    Object(Vec<(Self, Self)>),
    If {
        condition: Box<Self>,
        then: Box<Self>,
        otherwise: Option<Box<Self>>,
    },
    Try(Box<Self>, Option<Box<Self>>),
    Bind {
        source: Box<Self>,
        body: Box<Self>,
    },
    Reduce {
        source: Box<Self>,
        start: Box<Self>,
        update: Box<Self>,
    },
    Foreach {
        source: Box<Self>,
        start: Box<Self>,
        update: Box<Self>,
        extract: Option<Box<Self>>,
    },
    Call(Function, Vec<Self>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum StringPart {
    Text(String),
    Filter(Filter),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum PathStep {
    Index(Filter),
    Slice(Option<Filter>, Option<Filter>),
    Each,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JqOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The functions and how many arguments they take.
macro_rules! functions {
    ($($variant:ident $name:literal $arity:literal,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Function { $($variant,)* }

        impl Function {
            pub(super) const ALL: &[(&'static str, usize, Self)] = &[$(($name, $arity, Self::$variant),)*];

            pub(super) fn find(name: &str, arity: usize) -> Option<Self> {
                let found = Self::ALL.iter().find(|(known, takes, _)| *known == name && *takes == arity);
                found.map(|(_, _, function)| *function)
            }
        }
    };
}

functions! {
    Add "add" 0, AddOf "add" 1,
    All "all" 0, AllOf "all" 1, AllOfEach "all" 2,
    Any "any" 0, AnyOf "any" 1, AnyOfEach "any" 2,
    Abs "abs" 0, Abs2 "fabs" 0,
    AsciiDowncase "ascii_downcase" 0, AsciiUpcase "ascii_upcase" 0,
    Arrays "arrays" 0, Booleans "booleans" 0, Nulls "nulls" 0, Numbers "numbers" 0, Objects "objects" 0,
    Scalars "scalars" 0, Strings "strings" 0, Values "values" 0, Iterables "iterables" 0,
    Ceil "ceil" 0, Floor "floor" 0, Round "round" 0, Sqrt "sqrt" 0,
    Contains "contains" 1, Inside "inside" 1,
    Del "del" 1, DelPaths "delpaths" 1, GetPath "getpath" 1, SetPath "setpath" 2, PathOf "path" 1,
    Paths "paths" 0, PathsWhere "paths" 1, Pick "pick" 1,
    Empty "empty" 0, Error "error" 0, ErrorOf "error" 1, IsEmpty "isempty" 1, Not "not" 0,
    EndsWith "endswith" 1, StartsWith "startswith" 1,
    First "first" 0, FirstOf "first" 1, Last "last" 0, LastOf "last" 1, Limit "limit" 2,
    Nth "nth" 1, NthOf "nth" 2,
    Flatten "flatten" 0, FlattenTo "flatten" 1,
    FromEntries "from_entries" 0, ToEntries "to_entries" 0, WithEntries "with_entries" 1,
    FromJson "fromjson" 0, ToJson "tojson" 0, ToNumber "tonumber" 0, ToText "tostring" 0, Type "type" 0,
    GroupBy "group_by" 1, SortBy "sort_by" 1, UniqueBy "unique_by" 1, MinBy "min_by" 1, MaxBy "max_by" 1,
    Sort "sort" 0, Unique "unique" 0, Min "min" 0, Max "max" 0,
    Has "has" 1, In "in" 1, Index "index" 1, RIndex "rindex" 1, Indices "indices" 1,
    Join "join" 1, Split "split" 1, LTrimStr "ltrimstr" 1, RTrimStr "rtrimstr" 1,
    Trim "trim" 0, LTrim "ltrim" 0, RTrim "rtrim" 0,
    Keys "keys" 0, KeysUnsorted "keys_unsorted" 0, Length "length" 0, Utf8Length "utf8bytelength" 0,
    Map "map" 1, MapValues "map_values" 1, Select "select" 1,
    RangeTo "range" 1, Range "range" 2, RangeBy "range" 3,
    Recurse "recurse" 0, Reverse "reverse" 0, Transpose "transpose" 0,
    Test "test" 1, TestWith "test" 2,
}

/// How deep the tree is. The parser keeps it small enough for this to be asked.
pub(super) fn depth(filter: &Filter) -> usize {
    let deepest = |filters: &mut dyn Iterator<Item = &Filter>| filters.map(depth).max().unwrap_or(0);
    let inner = match filter {
        Filter::Identity
        | Filter::Descend
        | Filter::Null
        | Filter::Bool(_)
        | Filter::Number(_)
        | Filter::Variable(_)
        | Filter::List(None) => 0,
        Filter::Text(pieces) => deepest(&mut pieces.iter().filter_map(|piece| match piece {
            StringPart::Text(_) => None,
            StringPart::Filter(filter) => Some(filter),
        })),
        Filter::Steps(term, steps) => {
            let steps = steps.iter().map(|step| match step {
                PathStep::Index(by) => depth(by),
                PathStep::Slice(from, to) => deepest(&mut from.iter().chain(to)),
                PathStep::Each => 0,
            });
            depth(term).max(steps.max().unwrap_or(0))
        }
        Filter::Pipe(parts) | Filter::Comma(parts) | Filter::Call(_, parts) => deepest(&mut parts.iter()),
        Filter::Negative(inner) | Filter::List(Some(inner)) => depth(inner),
        Filter::Binary(_, a, b)
        | Filter::And(a, b)
        | Filter::Or(a, b)
        | Filter::Otherwise(a, b)
        | Filter::Update(a, b)
        | Filter::Assign(a, b)
        | Filter::Change(_, a, b)
        | Filter::Bind { source: a, body: b } => depth(a).max(depth(b)),
        Filter::Object(members) => deepest(&mut members.iter().flat_map(|(name, value)| [name, value])),
        Filter::If { condition, then, otherwise } => {
            depth(condition).max(depth(then)).max(otherwise.as_deref().map_or(0, depth))
        }
        Filter::Try(body, handler) => depth(body).max(handler.as_deref().map_or(0, depth)),
        Filter::Reduce { source, start, update } => depth(source).max(depth(start)).max(depth(update)),
        Filter::Foreach { source, start, update, extract } => {
            let extract = extract.as_deref().map_or(0, depth);
            depth(source).max(depth(start)).max(depth(update)).max(extract)
        }
    };
    1 + inner
}
