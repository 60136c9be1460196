//! TSDL, the language of CTF 1.8 metadata.

use std::collections::HashMap;
use std::sync::Arc;

use super::lex::{ASSIGN, RANGE, Token, tokens};
use super::types::{
    Clock, Enum, EventClass, Integer, Metadata, StreamClass, Struct, Type, Variant,
};
use crate::bytes::{Endian, big, little};

/// The first bytes of metadata in packets.
const PACKET_MAGIC: u64 = 0x75d1_1d57;
/// Bytes of the header of a packet of metadata.
const PACKET_HEADER: usize = 37;
/// How deep types may be nested.
const NESTED_MAX: u32 = 64;

/// The text of a metadata file, which may be in packets.
pub(super) fn text(file: &[u8]) -> Result<Vec<u8>, String> {
    let Some(magic) = file.get(..4) else { return Ok(file.to_vec()) };
    let endian = match (little(magic), big(magic)) {
        (PACKET_MAGIC, _) => Endian::Little,
        (_, PACKET_MAGIC) => Endian::Big,
        _ => return Ok(file.to_vec()),
    };
    let mut text = Vec::new();
    let mut rest = file;
    while rest.len() >= PACKET_HEADER {
        let field = |at| crate::bytes::integer(rest, at, 4, endian).unwrap_or(0) as usize / 8;
        let (content, packet) = (field(24), field(28));
        if rest[32] != 0 {
            return Err("compressed metadata, expected plain text in its packets".into());
        }
        let content = content.min(rest.len());
        text.extend(rest.get(PACKET_HEADER..content).unwrap_or_default());
        rest = rest.get(packet.max(PACKET_HEADER)..).unwrap_or_default();
    }
    Ok(text)
}

/// Parses metadata. Fails with a line and what was found there.
pub(super) fn metadata(text: &[u8]) -> Result<Metadata, (u32, String)> {
    let tokens = tokens(text)?;
    let mut parser = Parser {
        tokens,
        at: 0,
        scopes: vec![HashMap::new()],
        metadata: Metadata::default(),
        depth: 0,
    };
    // The byte order counts for types that are before it.
    parser.find_byte_order();
    while parser.at < parser.tokens.len() {
        parser.declaration()?;
    }
    Ok(parser.metadata)
}

type Parsed<T> = Result<T, (u32, String)>;

struct Parser {
    tokens: Vec<(Token, u32)>,
    at: usize,
    /// Named types, the innermost block last.
    scopes: Vec<HashMap<String, Type>>,
    metadata: Metadata,
    depth: u32,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn peek_sign(&self, ahead: usize) -> Option<u8> {
        match self.tokens.get(self.at + ahead) {
            Some((Token::Sign(sign), _)) => Some(*sign),
            _ => None,
        }
    }

    fn wrong<T>(&self, expected: &str) -> Parsed<T> {
        let (found, line) = match self.tokens.get(self.at) {
            Some((token, line)) => (format!("{token:?}"), *line),
            None => ("the end".into(), self.tokens.last().map_or(1, |(_, line)| *line)),
        };
        Err((line, format!("{found}, expected {expected}")))
    }

    fn take(&mut self, sign: u8) -> bool {
        let found = self.peek() == Some(&Token::Sign(sign));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: u8) -> Parsed<()> {
        if self.take(sign) { Ok(()) } else { self.wrong(&format!("`{}`", char::from(sign))) }
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(found)) if found == word);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => self.wrong("a name"),
        }
    }

    fn find_byte_order(&mut self) {
        for at in 0..self.tokens.len() {
            if let [(Token::Word(key), _), (Token::Sign(b'='), _), (Token::Word(value), _), ..] =
                &self.tokens[at..]
                && key == "byte_order"
            {
                self.metadata.endian = endian(value).unwrap_or_default();
                return;
            }
        }
    }

    /// A declaration at the outermost level.
    fn declaration(&mut self) -> Parsed<()> {
        if self.take(b';') || self.named_type()? {
            return Ok(());
        }
        let kind = self.word()?;
        let block = self.block()?;
        match kind.as_str() {
            "trace" => self.metadata.packet_header = block.structure("packet.header"),
            "env" => {
                let pairs = block.values.into_iter();
                self.metadata.environment.extend(pairs.map(|(key, value)| (key, value.text())));
            }
            "clock" => {
                let number = |key| block.value(key).and_then(Value::number);
                let whole = |key| number(key).and_then(|number| i64::try_from(number).ok());
                let frequency = number("freq").and_then(|number| u64::try_from(number).ok());
                self.metadata.clocks.push(Clock {
                    name: block.value("name").map(Value::text).unwrap_or_default(),
                    frequency: frequency
                        .filter(|&frequency| frequency > 0)
                        .unwrap_or(1_000_000_000),
                    offset_seconds: whole("offset_s").unwrap_or(0),
                    offset: whole("offset").unwrap_or(0),
                });
            }
            "stream" => self.metadata.streams.push(StreamClass {
                id: block.id("id"),
                packet_context: block.structure("packet.context"),
                event_header: block.structure("event.header"),
                event_context: block.structure("event.context"),
            }),
            "event" => self.metadata.events.push(EventClass {
                id: block.id("id"),
                stream: block.id("stream_id"),
                name: block.value("name").map(Value::text).unwrap_or_default(),
                context: block.structure("context"),
                fields: block.structure("fields"),
            }),
            // Others, such as `callsite`, do not affect the layout.
            _ => {}
        }
        Ok(())
    }

    /// A typealias, typedef, or the declaration of a type with a name; says whether there was one.
    fn named_type(&mut self) -> Parsed<bool> {
        if self.take_word("typealias") {
            let aliased = self.type_specifier()?;
            self.expect(ASSIGN)?;
            let mut words = vec![self.word()?];
            while let Some(Token::Word(_)) = self.peek() {
                words.push(self.word()?);
            }
            while self.take(b'*') {}
            self.expect(b';')?;
            self.define(words.join(" "), aliased);
            return Ok(true);
        }
        if self.take_word("typedef") {
            let (name, defined) = self.field()?.pop().map_or_else(|| self.wrong("a name"), Ok)?;
            self.define(name, defined);
            return Ok(true);
        }
        let named = |parser: &Self, word: &str| matches!(&parser.tokens[parser.at..], [(Token::Word(kind), _), (Token::Word(_), _), (Token::Sign(b'{' | b':' | b'<'), _), ..] if kind == word);
        if !["struct", "enum", "variant"].iter().any(|word| named(self, word)) {
            return Ok(false);
        }
        let start = self.at;
        self.type_specifier()?;
        if self.take(b';') {
            return Ok(true);
        }
        // It is the type of a field.
        self.at = start;
        Ok(false)
    }

    fn define(&mut self, name: String, defined: Type) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, defined);
        }
    }

    fn find(&self, name: &str) -> Option<Type> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).cloned()
    }

    /// `{ key = value; key := type; … };`.
    fn block(&mut self) -> Parsed<Block> {
        let mut block = Block::default();
        self.expect(b'{')?;
        self.scopes.push(HashMap::new());
        while !self.take(b'}') {
            if self.take(b';') || self.named_type()? {
                continue;
            }
            let mut key = self.word()?;
            while self.take(b'.') {
                key = format!("{key}.{}", self.word()?);
            }
            if self.take(ASSIGN) {
                let declared = self.type_specifier()?;
                block.types.push((key, declared));
            } else {
                self.expect(b'=')?;
                let value = self.value()?;
                block.values.push((key, value));
            }
            self.expect(b';')?;
        }
        self.scopes.pop();
        self.take(b';');
        Ok(block)
    }

    /// What is after a `=`.
    fn value(&mut self) -> Parsed<Value> {
        let value = match self.peek() {
            Some(Token::Number(number)) => Value::Number(*number),
            Some(Token::Text(text)) => Value::Text(text.clone()),
            Some(Token::Word(word)) => {
                let mut path = word.clone();
                self.at += 1;
                while self.take(b'.') {
                    path = format!("{path}.{}", self.word()?);
                }
                return Ok(Value::Text(path));
            }
            _ => return self.wrong("a value"),
        };
        self.at += 1;
        Ok(value)
    }

    fn type_specifier(&mut self) -> Parsed<Type> {
        self.depth += 1;
        if self.depth > NESTED_MAX {
            return self.wrong("types nested less deeply");
        }
        let found = self.type_inside();
        self.depth -= 1;
        found
    }

    fn type_inside(&mut self) -> Parsed<Type> {
        while self.take_word("const") {}
        match self.peek() {
            Some(Token::Word(word)) => match word.as_str() {
                "integer" => self.integer(),
                "floating_point" => self.float(),
                "string" => {
                    self.at += 1;
                    if self.peek_sign(0) == Some(b'{') {
                        self.block()?;
                    }
                    Ok(Type::Text)
                }
                "struct" => self.structure(),
                "enum" => self.enumeration(),
                "variant" => self.variant(),
                _ => self.known(),
            },
            _ => self.wrong("a type"),
        }
    }

    /// A named type: the longest run of words that is one, but not the last word before a sign that
    /// ends a field.
    fn known(&mut self) -> Parsed<Type> {
        let mut words = Vec::new();
        while let Some((Token::Word(word), _)) = self.tokens.get(self.at + words.len()) {
            words.push(word.clone());
        }
        for n in (1..=words.len()).rev() {
            if let Some(found) = self.find(&words[..n].join(" ")) {
                self.at += n;
                return Ok(found);
            }
        }
        self.wrong("a type")
    }

    fn integer(&mut self) -> Parsed<Type> {
        self.at += 1;
        let block = self.block()?;
        let number = |key| block.value(key).and_then(Value::number);
        let word = |key| block.value(key).map(Value::text).unwrap_or_default();
        let bits =
            number("size").and_then(|n| u32::try_from(n).ok()).filter(|n| (1..=64).contains(n));
        let Some(bits) = bits else { return self.wrong("an integer of 1 to 64 bits") };
        let align =
            number("align").and_then(|n| u32::try_from(n).ok()).filter(|n| n.is_power_of_two());
        let signed =
            matches!(word("signed").as_str(), "true" | "TRUE" | "1") || number("signed") == Some(1);
        Ok(Type::Integer(Integer {
            bits,
            align: align.unwrap_or(if bits.is_multiple_of(8) { 8 } else { 1 }),
            signed,
            endian: endian(&word("byte_order")).unwrap_or(self.metadata.endian),
            is_text: matches!(word("encoding").as_str(), "UTF8" | "utf8" | "ASCII" | "ascii"),
            is_clock: !word("map").is_empty(),
            base: match (number("base"), word("base").as_str()) {
                (Some(16), _) | (_, "hex" | "x" | "X" | "hexadecimal") => 16,
                (Some(8), _) | (_, "oct" | "o" | "octal") => 8,
                (Some(2), _) | (_, "bin" | "b" | "binary") => 2,
                _ => 10,
            },
        }))
    }

    fn float(&mut self) -> Parsed<Type> {
        self.at += 1;
        let block = self.block()?;
        let number = |key| block.value(key).and_then(Value::number).unwrap_or(0);
        let bits = match number("exp_dig") + number("mant_dig") {
            32 => 32,
            64 => 64,
            _ => return self.wrong("a floating-point number of 32 or 64 bits"),
        };
        let align = u32::try_from(number("align")).ok().filter(|n| n.is_power_of_two());
        let order = block.value("byte_order").map(Value::text).unwrap_or_default();
        let endian = endian(&order).unwrap_or(self.metadata.endian);
        Ok(Type::Float { bits, align: align.unwrap_or(1), endian })
    }

    /// `struct NAME { fields } align(n)`, or `struct NAME` where it is known.
    fn structure(&mut self) -> Parsed<Type> {
        self.at += 1;
        let name = self.name_of("struct");
        if self.peek_sign(0) != Some(b'{') {
            return match name.and_then(|name| self.find(&name)) {
                Some(found) => Ok(found),
                None => self.wrong("a known structure"),
            };
        }
        let fields = self.fields()?;
        let mut align = 1;
        if self.take_word("align") {
            self.expect(b'(')?;
            align = match self.value()?.number().and_then(|n| u32::try_from(n).ok()) {
                Some(align) if align.is_power_of_two() => align,
                _ => return self.wrong("an alignment that is a power of two"),
            };
            self.expect(b')')?;
        }
        let found = Type::Struct(Arc::new(Struct::new(fields, align)));
        if let Some(name) = name {
            self.define(name, found.clone());
        }
        Ok(found)
    }

    /// The name after the word `struct`, `enum` or `variant`, with that word.
    fn name_of(&mut self, kind: &str) -> Option<String> {
        match self.peek() {
            Some(Token::Word(name)) if name != "align" => {
                let name = format!("{kind} {name}");
                self.at += 1;
                Some(name)
            }
            _ => None,
        }
    }

    /// `{ TYPE name; … }`.
    fn fields(&mut self) -> Parsed<Vec<(String, Type)>> {
        self.expect(b'{')?;
        self.scopes.push(HashMap::new());
        let mut fields = Vec::new();
        while !self.take(b'}') {
            if self.take(b';') || self.named_type()? {
                continue;
            }
            fields.extend(self.field()?);
        }
        self.scopes.pop();
        Ok(fields)
    }

    /// `TYPE name, name[3], name[length];`.
    fn field(&mut self) -> Parsed<Vec<(String, Type)>> {
        let declared = self.type_specifier()?;
        let mut fields = Vec::new();
        loop {
            while self.take(b'*') {}
            let name = self.word()?;
            let mut lengths = Vec::new();
            while self.take(b'[') {
                lengths.push(self.value()?);
                self.expect(b']')?;
            }
            let mut field = declared.clone();
            for length in lengths.into_iter().rev() {
                field = match length {
                    Value::Number(n) => Type::Array(Arc::new(field), u64::try_from(n).unwrap_or(0)),
                    Value::Text(path) => Type::Sequence(Arc::new(field), last(&path).to_owned()),
                };
            }
            fields.push((name, field));
            if !self.take(b',') {
                break;
            }
        }
        self.expect(b';')?;
        Ok(fields)
    }

    /// `enum NAME : TYPE { A, B = 3, C = 4 ... 7 }`, or `enum NAME` where it is known.
    fn enumeration(&mut self) -> Parsed<Type> {
        self.at += 1;
        let name = self.name_of("enum");
        let container = if self.take(b':') {
            match self.type_specifier()? {
                Type::Integer(integer) => Some(integer),
                _ => return self.wrong("an integer that holds the enumeration"),
            }
        } else {
            None
        };
        if self.peek_sign(0) != Some(b'{') {
            return match name.and_then(|name| self.find(&name)) {
                Some(found) => Ok(found),
                None => self.wrong("a known enumeration"),
            };
        }
        let ((Some(container), _) | (None, Some(Type::Integer(container)))) =
            (container, self.find("int"))
        else {
            return self.wrong("an integer that holds the enumeration");
        };
        self.expect(b'{')?;
        let (mut labels, mut next) = (Vec::new(), 0);
        while !self.take(b'}') {
            let Value::Text(label) = self.value()? else { return self.wrong("a name") };
            let (mut low, mut high) = (next, next);
            if self.take(b'=') {
                low = self.value()?.number().unwrap_or(0);
                high = low;
                if self.take(RANGE) {
                    high = self.value()?.number().unwrap_or(low);
                }
            }
            next = high + 1;
            labels.push((label, low, high));
            self.take(b',');
        }
        let found = Type::Enum(Arc::new(Enum { container, labels }));
        if let Some(name) = name {
            self.define(name, found.clone());
        }
        Ok(found)
    }

    /// `variant NAME <tag> { TYPE name; … }`, or `variant NAME <tag>` where it is known.
    fn variant(&mut self) -> Parsed<Type> {
        self.at += 1;
        let name = self.name_of("variant");
        let mut tag = String::new();
        if self.take(b'<') {
            if let Value::Text(path) = self.value()? {
                last(&path).clone_into(&mut tag);
            }
            self.expect(b'>')?;
        }
        let fields = if self.peek_sign(0) == Some(b'{') {
            self.fields()?
        } else {
            match name.as_ref().and_then(|name| self.find(name)) {
                Some(Type::Variant(known)) => known.fields.clone(),
                _ => return self.wrong("a known variant"),
            }
        };
        let found = Type::Variant(Arc::new(Variant { tag, fields }));
        if let Some(name) = name {
            self.define(name, found.clone());
        }
        Ok(found)
    }
}

/// The last name of a path such as `stream.event.header.id`: fields are found by it.
fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn endian(word: &str) -> Option<Endian> {
    match word {
        "le" | "little" => Some(Endian::Little),
        "be" | "big" | "network" => Some(Endian::Big),
        _ => None,
    }
}

/// What is after a `=`.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Value {
    Number(i128),
    /// A text, or a name.
    Text(String),
}

impl Value {
    fn number(&self) -> Option<i128> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// What is in the braces of a declaration.
#[derive(Default)]
struct Block {
    values: Vec<(String, Value)>,
    types: Vec<(String, Type)>,
}

impl Block {
    fn value(&self, key: &str) -> Option<&Value> {
        self.values.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    fn id(&self, key: &str) -> u64 {
        let number = self.value(key).and_then(Value::number);
        number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
    }

    fn structure(&self, key: &str) -> Option<Arc<Struct>> {
        match self.types.iter().find(|(name, _)| name == key) {
            Some((_, Type::Struct(found))) => Some(Arc::clone(found)),
            _ => None,
        }
    }
}
