//! Requests in several languages, made from the curl command of an operation, so that all of them send the same.

use serde_json::Value;

/// A request in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The language's name.
    pub language: &'static str,
    /// The code.
    pub code: String,
}

/// The request of a curl command.
#[derive(Debug, Default)]
struct CurlRequest {
    method: Option<String>,
    headers: Vec<(String, String)>,
    /// The body, or the name of its file after `@`.
    body: Option<String>,
    address: String,
    /// Whether the response is read while it arrives.
    is_stream: bool,
}

impl CurlRequest {
    /// Parses a command of this crate: it has only the options below.
    fn parse(command: &str) -> CurlRequest {
        let mut request = CurlRequest::default();
        let mut words = shell_words(command).into_iter().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "-X" => request.method = words.next(),
                "-H" => {
                    let header = words.next().unwrap_or_default();
                    let (name, value) = header.split_once(": ").unwrap_or((&header, ""));
                    request.headers.push((name.to_owned(), value.to_owned()));
                }
                "-d" | "--data-binary" => request.body = words.next(),
                "--cacert" => drop(words.next()),
                "-N" => request.is_stream = true,
                _ => request.address = word,
            }
        }
        request
    }

    fn method(&self) -> &str {
        let default = if self.body.is_some() { "POST" } else { "GET" };
        self.method.as_deref().unwrap_or(default)
    }

    fn file(&self) -> Option<&str> {
        self.body.as_deref()?.strip_prefix('@')
    }

    /// The body in JSON, if it is JSON.
    fn json(&self) -> Option<Value> {
        serde_json::from_str(self.body.as_deref()?).ok()
    }

    /// The headers. Libraries set that of a JSON body themselves.
    fn headers(&self, without_type: bool) -> impl Iterator<Item = (&str, &str)> {
        let named = move |name: &str| !(without_type && name.eq_ignore_ascii_case("content-type"));
        self.headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(move |(name, _)| named(name))
    }

    fn python(&self) -> String {
        let json = self.json();
        let value = |value: &str| match variables(value).as_slice() {
            [] => quoted(value),
            [only] if value == format!("${only}") => format!("os.environ[\"{only}\"]"),
            _ => format!("os.path.expandvars({})", quoted(value)),
        };
        let headers: Vec<String> = self
            .headers(json.is_some())
            .map(|(name, text)| format!("        {}: {},\n", quoted(name), value(text)))
            .collect();
        let mut code = "import os\nimport requests\n\n".to_owned();
        code += &format!(
            "answer = requests.request(\n    {}, {},\n",
            quoted(self.method()),
            quoted(&self.address)
        );
        if !headers.is_empty() {
            code += &format!("    headers={{\n{}    }},\n", headers.concat());
        }
        if let Some(json) = &json {
            code += &format!("    json={},\n", python_value(json));
        }
        if let Some(file) = self.file() {
            code += &format!("    data=open({}, \"rb\"),\n", quoted(file));
        }
        if self.is_stream {
            return code
                + "    stream=True,\n)\nfor line in answer.iter_lines(decode_unicode=True):\n    print(line)";
        }
        code + ")\nanswer.raise_for_status()\nprint(answer.text)"
    }

    fn javascript(&self) -> String {
        let value = |value: &str| match variables(value).as_slice() {
            [] => quoted(value),
            [only] if value == format!("${only}") => format!("process.env.{only}"),
            all => {
                let text = value.replace('`', "\\`");
                let filled = all.iter().fold(text, |text, name| {
                    replace_variable(&text, name, &format!("${{process.env.{name}}}"))
                });
                format!("`{filled}`")
            }
        };
        let headers: Vec<String> = self
            .headers(false)
            .map(|(name, text)| format!("    {}: {},\n", quoted(name), value(text)))
            .collect();
        let mut code = String::new();
        if self.file().is_some() {
            code += "import { readFile } from \"node:fs/promises\";\n\n";
        }
        code += &format!("const answer = await fetch({}, {{\n", quoted(&self.address));
        if self.method() != "GET" {
            code += &format!("  method: {},\n", quoted(self.method()));
        }
        if !headers.is_empty() {
            code += &format!("  headers: {{\n{}  }},\n", headers.concat());
        }
        if let Some(json) = self.json() {
            code += &format!("  body: JSON.stringify({json}),\n");
        }
        if let Some(file) = self.file() {
            code += &format!("  body: await readFile({}),\n", quoted(file));
        }
        if self.is_stream {
            return code
                + "});\nfor await (const part of answer.body.pipeThrough(new TextDecoderStream())) {\n  console.log(part);\n}";
        }
        code + "});\nif (!answer.ok) throw new Error(answer.status);\nconsole.log(await answer.text());"
    }

    fn rust(&self) -> String {
        let value = |value: &str| match variables(value).as_slice() {
            [] => quoted(value),
            [only] if value == format!("${only}") => format!("std::env::var(\"{only}\")?"),
            all => {
                let filled =
                    all.iter().fold(value.to_owned(), |text, name| replace_variable(&text, name, "{}"));
                let names = all.iter().map(|name| format!("std::env::var(\"{name}\")?")).collect::<Vec<_>>();
                format!(
                    "format!(\n            {},\n            {}\n        )",
                    quoted(&filled),
                    names.join(",\n            ")
                )
            }
        };
        let json = self.json();
        let mut code = "let client = reqwest::blocking::Client::new();\n".to_owned();
        let binding = if self.is_stream { "let mut answer" } else { "let answer" };
        code += &format!(
            "{binding} = client\n    .{}({})\n",
            self.method().to_lowercase(),
            quoted(&self.address)
        );
        for (name, text) in self.headers(json.is_some()) {
            code += &format!("    .header({}, {})\n", quoted(name), value(text));
        }
        if let Some(json) = json {
            code += &format!("    .json(&serde_json::json!({json}))\n");
        }
        if let Some(file) = self.file() {
            code += &format!("    .body(std::fs::read({})?)\n", quoted(file));
        }
        code += "    .send()?\n    .error_for_status()?;\n";
        match self.is_stream {
            true => code + "std::io::copy(&mut answer, &mut std::io::stdout())?;",
            false => code + "println!(\"{}\", answer.text()?);",
        }
    }
}

/// The request of a curl command in all languages, curl first.
pub(super) fn samples(curl: &str) -> Vec<Sample> {
    let request = CurlRequest::parse(curl);
    let sample = |language, code| Sample { language, code };
    vec![
        sample("curl", on_lines(curl)),
        sample("Python", request.python()),
        sample("JavaScript", request.javascript()),
        sample("Rust", request.rust()),
    ]
}

/// A curl command with a line for each option.
fn on_lines(curl: &str) -> String {
    let options = ["-X ", "-H ", "-d ", "--data-binary ", "-N "];
    let lines = options.iter().fold(curl.to_owned(), |text, option| {
        text.replace(&format!(" {option}"), &format!(" \\\n  {option}"))
    });
    match lines.rfind(" \"https://") {
        Some(at) if lines.contains('\n') => {
            let (before, address) = lines.split_at(at);
            format!("{before} \\\n {address}")
        }
        _ => lines,
    }
}

/// The words of a shell command with quotes.
fn shell_words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote, mut escaped, mut begun) = (String::new(), None, false, false);
    for c in command.chars() {
        match (c, quote) {
            _ if escaped => {
                word.push(c);
                escaped = false;
            }
            ('\\', None | Some('"')) => escaped = true,
            ('"' | '\'', None) => (quote, begun) = (Some(c), true),
            (c, Some(open)) if c == open => quote = None,
            (c, None) if c.is_whitespace() => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            _ => {
                word.push(c);
                begun = true;
            }
        }
    }
    words.extend(begun.then_some(word));
    words
}

/// The names of the shell variables in a text, in their order.
fn variables(text: &str) -> Vec<&str> {
    let name_of =
        |part: &'_ str| part.find(|c: char| !(c.is_ascii_uppercase() || c == '_')).unwrap_or(part.len());
    let names = text.split('$').skip(1).filter_map(|part| part.get(..name_of(part)));
    names.filter(|name| !name.is_empty()).collect()
}

/// Replaces the first occurrence of a variable.
fn replace_variable(text: &str, name: &str, by: &str) -> String {
    text.replacen(&format!("${name}"), by, 1)
}

/// A string literal, the same in all these languages.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A literal of Python.
fn python_value(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(python_value).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let members =
                members.iter().map(|(name, value)| format!("{}: {}", quoted(name), python_value(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(curl: &str) -> [String; 3] {
        let samples = samples(curl);
        [1, 2, 3].map(|at| samples[at].code.clone())
    }

    #[test]
    fn a_request_is_the_same_in_every_language() {
        let curl = r#"curl -X PUT -H "ServicePSK: $KEY" -H "Content-Type: application/json" -d '{"Name":"x","Public":true}' "https://a/b?c=1""#;
        let [python, javascript, rust] = code(curl);
        assert_eq!(
            python,
            "import os\nimport requests\n\nanswer = requests.request(\n    \"PUT\", \"https://a/b?c=1\",\n    \
             headers={\n        \"ServicePSK\": os.environ[\"KEY\"],\n    },\n    \
             json={\"Name\": \"x\", \"Public\": True},\n)\nanswer.raise_for_status()\nprint(answer.text)"
        );
        assert!(
            javascript.contains("method: \"PUT\"") && javascript.contains("\"ServicePSK\": process.env.KEY")
        );
        assert!(
            javascript.contains("body: JSON.stringify({\"Name\":\"x\",\"Public\":true})"),
            "{javascript}"
        );
        assert!(rust.contains(".put(\"https://a/b?c=1\")"), "{rust}");
        assert!(rust.contains(".json(&serde_json::json!({\"Name\":\"x\",\"Public\":true}))"), "{rust}");
    }

    #[test]
    fn long_commands_have_lines() {
        let curl = r#"curl -X PUT -H "A: b" "https://a/""#;
        assert_eq!(on_lines(curl), "curl \\\n  -X PUT \\\n  -H \"A: b\" \\\n  \"https://a/\"");
        assert_eq!(on_lines(r#"curl "https://a/""#), r#"curl "https://a/""#);
    }

    #[test]
    fn variables_inside_a_header_are_filled_in() {
        let curl = r#"curl -H "Authorization: OAuth a=\"$ONE\", b=\"$TWO%26\"" "https://a/""#;
        let [python, javascript, rust] = code(curl);
        assert!(python.contains(r#"os.path.expandvars("OAuth a=\"$ONE\", b=\"$TWO%26\"")"#), "{python}");
        assert!(
            javascript.contains(r#"`OAuth a="${process.env.ONE}", b="${process.env.TWO}%26"`"#),
            "{javascript}"
        );
        assert!(
            rust.contains(r#""OAuth a=\"{}\", b=\"{}%26\"""#) && rust.contains("var(\"TWO\")?"),
            "{rust}"
        );
    }

    #[test]
    fn files_and_streams_are_read() {
        let [python, javascript, rust] =
            code(r#"curl --cacert ca.pem --data-binary @many.ndjson "https://a/""#);
        assert!(
            python.contains("\"POST\"") && python.contains("data=open(\"many.ndjson\", \"rb\")"),
            "{python}"
        );
        assert!(javascript.contains("await readFile(\"many.ndjson\")"), "{javascript}");
        assert!(
            rust.contains(".post(\"https://a/\")") && rust.contains("std::fs::read(\"many.ndjson\")?"),
            "{rust}"
        );
        let [python, javascript, rust] = code(r#"curl -N "https://a/""#);
        assert!(
            python.contains("stream=True") && javascript.contains("for await") && rust.contains("io::copy")
        );
    }
}
