//! A builder of JSON Schemas.

use serde_json::{Map, Value, json};

/// A JSON Schema.
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

    /// A string.
    pub(super) fn text() -> Schema {
        Schema::of("type", "string")
    }

    /// A constant.
    pub(super) fn exactly(value: impl Into<Value>) -> Schema {
        Schema::of("const", value)
    }

    /// An integer in this range.
    pub(super) fn number(min: u32, max: u32) -> Schema {
        Schema::of("type", "integer").between(min, max)
    }

    /// Limits a number to this range. Values that are no numbers are not affected.
    pub(super) fn between(self, min: u32, max: u32) -> Schema {
        self.with("minimum", min).with("maximum", max)
    }

    /// One of these JSON types.
    pub(super) fn types(names: &[&str]) -> Schema {
        Schema::of("type", names)
    }

    /// An array of such values.
    pub(super) fn list(of: Schema) -> Schema {
        Schema::of("type", "array").with("items", of)
    }

    /// An object. [`Schema::field`] and [`Schema::needs`] add its fields.
    pub(super) fn object() -> Schema {
        Schema::of("type", "object")
    }

    /// A reference to a schema of the document.
    pub(super) fn named(name: &str) -> Schema {
        Schema::of("$ref", format!("#/components/schemas/{name}"))
    }

    /// A value that matches at least one of these.
    pub(super) fn any(of: impl IntoIterator<Item = Schema>) -> Schema {
        Schema::of("anyOf", of.into_iter().map(Value::from).collect::<Vec<_>>())
    }

    /// Adds the keywords of another schema.
    pub(super) fn and(mut self, other: Schema) -> Schema {
        self.0.extend(other.0);
        self
    }

    /// Adds an optional field.
    pub(super) fn field(mut self, name: &str, schema: Schema) -> Schema {
        let fields = self.0.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(fields) = fields {
            fields.insert(name.to_owned(), schema.into());
        }
        self
    }

    /// Adds optional fields that have the same schema.
    pub(super) fn fields(self, names: &[&str], schema: &Schema) -> Schema {
        names.iter().fold(self, |object, name| object.field(name, schema.clone()))
    }

    /// Adds a required field.
    pub(super) fn needs(self, name: &str, schema: Schema) -> Schema {
        self.field(name, schema).requires(&[name])
    }

    /// Makes fields required.
    pub(super) fn requires(mut self, names: &[&str]) -> Schema {
        if names.is_empty() {
            return self;
        }
        let required = self.0.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(required) = required {
            required.extend(names.iter().map(|name| Value::from(*name)));
        }
        self
    }

    /// Fields that an object requires with a field, and those that it requires without it. Written as a condition,
    /// because generators of clients make several types of `anyOf`, and ignore a condition.
    pub(super) fn otherwise(self, field: &str, with: &[&str], without: &[&str]) -> Schema {
        let require = |names: &[&str]| json!({ "required": names });
        self.with("if", require(&[field])).with("then", require(with)).with("else", require(without))
    }

    /// The schema of additional fields.
    pub(super) fn additional(self, schema: Schema) -> Schema {
        self.with("additionalProperties", schema)
    }

    /// The name of its XML element.
    pub(super) fn element(self, name: &str) -> Schema {
        self.with("xml", json!({ "name": name }))
    }

    /// The description.
    pub(super) fn about(self, description: &str) -> Schema {
        self.with("description", description)
    }

    /// One of these words.
    pub(super) fn words<'a>(self, words: impl IntoIterator<Item = &'a str>) -> Schema {
        self.with("enum", words.into_iter().collect::<Vec<_>>())
    }

    /// The range of a string's length.
    pub(super) fn length(self, min: usize, max: usize) -> Schema {
        let schema = if min == 0 { self } else { self.with("minLength", min) };
        schema.with("maxLength", max)
    }

    /// The maximum length of an array.
    pub(super) fn max_items(self, max: usize) -> Schema {
        self.with("maxItems", max)
    }

    /// The minimum number of fields of an object.
    pub(super) fn min_fields(self, min: usize) -> Schema {
        self.with("minProperties", min)
    }

    /// The regular expression that a string matches.
    pub(super) fn pattern(self, pattern: &str) -> Schema {
        self.with("pattern", pattern)
    }

    /// The format of a string, such as `date-time`.
    pub(super) fn format(self, name: &str) -> Schema {
        self.with("format", name)
    }

    /// The default value.
    pub(super) fn default_to(self, value: impl Into<Value>) -> Schema {
        self.with("default", value)
    }

    /// An example.
    pub(super) fn example(self, value: impl Into<Value>) -> Schema {
        self.with("examples", vec![value.into()])
    }

    /// The values of an enumeration.
    pub fn choices(&self) -> Vec<&str> {
        let words = self.0.get("enum").and_then(Value::as_array);
        words.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The default value as text.
    pub fn default_text(&self) -> Option<String> {
        self.0.get("default").map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }

    /// Whether it is an array.
    pub fn is_list(&self) -> bool {
        self.0.get("type").is_some_and(|name| name == "array")
    }
}

impl From<Schema> for Value {
    fn from(schema: Schema) -> Value {
        Value::Object(schema.0)
    }
}
