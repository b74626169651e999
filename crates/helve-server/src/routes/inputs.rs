//! What a handler takes, read off its types: the body, the parameters of the address, and whether they are foreign.

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Uri};
use schemars::JsonSchema;

use super::Operation;
use super::schemas::schema_of_type;
use crate::access::Principal;

/// One thing that a handler takes from a request. Most are not for the document.
pub(crate) trait Input {
    fn describe(_operation: &mut Operation) {}
}

/// All that a handler takes: the tuple by which axum knows it.
pub(crate) trait Inputs {
    fn describe_all(operation: &mut Operation);
}

impl Operation {
    pub(crate) fn take_body<T: JsonSchema>(&mut self) {
        self.body = Some(schema_of_type::<T>);
    }

    pub(crate) fn take_optional_body<T: JsonSchema>(&mut self) {
        self.take_body::<T>();
        self.is_body_optional = true;
    }

    /// The body may also be bytes of these media types.
    pub(crate) fn take_bytes(&mut self, media_types: &'static [&'static str]) {
        self.body_types = media_types;
    }

    pub(crate) fn take_query<T: JsonSchema>(&mut self) {
        self.query = Some(schema_of_type::<T>);
    }

    /// Takes requests that other systems' clients wrote.
    pub(crate) fn take_foreign(&mut self) {
        self.is_foreign = true;
        self.answer_headers.push((
            "X-Helve-Unknown-Fields",
            "Fields and parameters of the request that were not understood.",
        ));
    }
}

impl<T> Input for State<T> {}
impl<T> Input for Extension<T> {}
impl Input for Principal {}
impl Input for HeaderMap {}
impl Input for Uri {}
impl Input for Request {}

impl<T: Input, E> Input for Result<T, E> {
    fn describe(operation: &mut Operation) {
        T::describe(operation);
    }
}

impl Inputs for ((),) {
    fn describe_all(_: &mut Operation) {}
}

/// A handler's tuple begins with a mark of axum's.
macro_rules! inputs {
    ($($input:ident)+) => {
        impl<Mark, $($input: Input),+> Inputs for (Mark, $($input,)+) {
            fn describe_all(operation: &mut Operation) {
                $($input::describe(operation);)+
            }
        }
    };
}

inputs!(A);
inputs!(A B);
inputs!(A B C);
inputs!(A B C D);
inputs!(A B C D E);
inputs!(A B C D E F);
inputs!(A B C D E F G);
