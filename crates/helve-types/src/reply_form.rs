//! What a model asks a person, and what a reply is like. Every client shows the same structure: the page, the page of a
//! link and the terminal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// A question of the model's to the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserQuestion {
    /// In the model's words.
    pub question: String,
    pub form: ReplyForm,
}

/// What a reply is like, and so how it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReplyForm {
    /// A text.
    Text {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<TextFormat>,
        /// Whether it may have several lines.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        multiline: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_chars: Option<u32>,
        max_chars: u32,
    },
    /// A number.
    Number {
        /// Whether it must be a whole number.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        whole: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        minimum: Option<Number>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        maximum: Option<Number>,
    },
    /// Yes or no: `true` or `false`.
    Boolean,
    /// One of these options: its value.
    Choice { options: Vec<FormOption> },
    /// Several of these options: a list of their values.
    Choices { options: Vec<FormOption>, min_items: u32, max_items: u32 },
    /// A form: an object with a member for each field that is filled in.
    Fields { fields: Vec<FormField> },
}

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TextFormat {
    Email,
    Uri,
    /// `2026-03-29`
    Date,
    /// `15:30`
    Time,
    /// `2026-03-29T15:30`, with or without an offset.
    DateTime,
}

/// One of several answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormOption {
    pub value: String,
    /// What the person reads in place of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormField {
    /// The member of the reply.
    pub name: String,
    /// What the person reads in place of the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// What the field holds before the person has touched it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    pub form: ReplyForm,
}

impl FormOption {
    /// What the person reads.
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.value)
    }
}

impl FormField {
    /// What the person reads.
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

impl TextFormat {
    /// As JSON Schema calls it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Uri => "uri",
            Self::Date => "date",
            Self::Time => "time",
            Self::DateTime => "date-time",
        }
    }

    pub const ALL: [Self; 5] = [Self::Email, Self::Uri, Self::Date, Self::Time, Self::DateTime];

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }
}
