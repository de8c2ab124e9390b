//! A JSON Schema, put together word by word.

use serde_json::{Map, Value, json};

/// What a value may be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema(Map<String, Value>);

impl Schema {
    fn of(name: &str, value: impl Into<Value>) -> Schema {
        Schema::default().with(name, value)
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Schema {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Anything, also what is no text: octets.
    pub(super) fn anything() -> Schema {
        Schema::default()
    }

    /// A text.
    pub(super) fn text() -> Schema {
        Schema::of("type", "string")
    }

    /// Exactly this.
    pub(super) fn exactly(value: impl Into<Value>) -> Schema {
        Schema::of("const", value)
    }

    /// A whole number between these two.
    pub(super) fn number(least: u32, most: u32) -> Schema {
        Schema::of("type", "integer").between(least, most)
    }

    /// A number is at least and at most this; what is no number is not concerned.
    pub(super) fn between(self, least: u32, most: u32) -> Schema {
        self.with("minimum", least).with("maximum", most)
    }

    /// One of these JSON types.
    pub(super) fn types(names: &[&str]) -> Schema {
        Schema::of("type", names)
    }

    /// A list of such values.
    pub(super) fn list(of: Schema) -> Schema {
        Schema::of("type", "array").with("items", of)
    }

    /// An object whose fields are told with [`Schema::field`] and [`Schema::needs`].
    pub(super) fn object() -> Schema {
        Schema::of("type", "object")
    }

    /// What the document describes under that name.
    pub(super) fn named(name: &str) -> Schema {
        Schema::of("$ref", format!("#/components/schemas/{name}"))
    }

    /// All of these at once.
    pub(super) fn all(of: impl IntoIterator<Item = Schema>) -> Schema {
        Schema::of("allOf", of.into_iter().map(Value::from).collect::<Vec<_>>())
    }

    /// One of these or another.
    pub(super) fn any(of: impl IntoIterator<Item = Schema>) -> Schema {
        Schema::of("anyOf", of.into_iter().map(Value::from).collect::<Vec<_>>())
    }

    /// With a field that may be left out.
    pub(super) fn field(mut self, name: &str, schema: Schema) -> Schema {
        let fields = self.0.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(fields) = fields {
            fields.insert(name.to_owned(), schema.into());
        }
        self
    }

    /// With a field that has to be there.
    pub(super) fn needs(self, name: &str, schema: Schema) -> Schema {
        self.field(name, schema).requires(&[name])
    }

    /// Fields that have to be there, whatever they are.
    pub(super) fn requires(mut self, names: &[&str]) -> Schema {
        let needed = self.0.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(needed) = needed {
            needed.extend(names.iter().map(|name| Value::from(*name)));
        }
        self
    }

    /// Whatever other field there is is like this.
    pub(super) fn others(self, schema: Schema) -> Schema {
        self.with("additionalProperties", schema)
    }

    /// The name that it has as an element of XML.
    pub(super) fn element(self, name: &str) -> Schema {
        self.with("xml", json!({ "name": name }))
    }

    /// In words.
    pub(super) fn about(self, words: &str) -> Schema {
        self.with("description", words)
    }

    /// One of these words.
    pub(super) fn words<'a>(self, words: impl IntoIterator<Item = &'a str>) -> Schema {
        self.with("enum", words.into_iter().collect::<Vec<_>>())
    }

    /// A text of at least and at most so many characters.
    pub(super) fn length(self, least: usize, most: usize) -> Schema {
        let least = if least == 0 { self } else { self.with("minLength", least) };
        least.with("maxLength", most)
    }

    /// A list of at most so many.
    pub(super) fn at_most(self, most: usize) -> Schema {
        self.with("maxItems", most)
    }

    /// An object with at least so many fields.
    pub(super) fn at_least_fields(self, least: usize) -> Schema {
        self.with("minProperties", least)
    }

    /// A text that this regular expression describes.
    pub(super) fn pattern(self, pattern: &str) -> Schema {
        self.with("pattern", pattern)
    }

    /// A text of a known form.
    pub(super) fn format(self, name: &str) -> Schema {
        self.with("format", name)
    }

    /// What it is where nothing is said.
    pub(super) fn default_to(self, value: impl Into<Value>) -> Schema {
        self.with("default", value)
    }

    /// Such a value.
    pub(super) fn example(self, value: impl Into<Value>) -> Schema {
        self.with("examples", vec![value.into()])
    }

    /// The words that it may be, if it is one of some.
    pub fn choices(&self) -> Vec<&str> {
        let words = self.0.get("enum").and_then(Value::as_array);
        words.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// What it is where nothing is said.
    pub fn default_text(&self) -> Option<String> {
        self.0.get("default").map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }

    /// Whether there may be several.
    pub fn is_list(&self) -> bool {
        self.0.get("type").is_some_and(|name| name == "array")
    }
}

impl From<Schema> for Value {
    fn from(schema: Schema) -> Value {
        Value::Object(schema.0)
    }
}
