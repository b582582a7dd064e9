//! Writes any value as canonical JSON, straight into its bytes.
//!
//! Fields are written as they come. Where their keys did not come sorted, those of that object are
//! put in order once it is whole.

use std::borrow::Cow;
use std::fmt::Display;

use serde::ser::{self, Error as _};
use serde::{Serialize, Serializer};
use serde_json::{Number, Value};

use super::EncodeError;
use crate::limits::INTEGER_MAX;

/// How `serde_json` marks what only its own writer understands: bytes that are JSON already.
const PRIVATE: &str = "$serde_json::private";

/// Which numbers have a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// Integers that every reader reads alike.
    Integers,
    /// Fractions too, in the shortest form that reads back as the same number.
    Any,
}

/// A serializer into canonical bytes.
pub(super) struct Writer<'w> {
    pub(super) out: &'w mut Vec<u8>,
    pub(super) numbers: Numbers,
}

impl ser::Error for EncodeError {
    fn custom<T: Display>(message: T) -> Self {
        Self::Json(serde_json::Error::custom(message))
    }
}

impl<'w> Writer<'w> {
    /// Opens what holds other values; where it is of a variant, that one's name goes around it.
    fn open(&mut self, variant: Option<&str>, bracket: u8) -> Result<(), EncodeError> {
        if let Some(variant) = variant {
            self.out.push(b'{');
            super::write_string(variant, self.out)?;
            self.out.push(b':');
        }
        self.out.push(bracket);
        Ok(())
    }

    fn items(&mut self, variant: Option<&str>) -> Result<Items<'_, 'w>, EncodeError> {
        self.open(variant, b'[')?;
        let close = if variant.is_some() { "]}" } else { "]" };
        Ok(Items {
            writer: self,
            is_first: true,
            close,
        })
    }

    fn fields(
        &mut self,
        variant: Option<&str>,
        count: usize,
    ) -> Result<Fields<'_, 'w>, EncodeError> {
        self.open(variant, b'{')?;
        let close = if variant.is_some() { "}}" } else { "}" };
        Ok(Fields {
            begin: self.out.len(),
            writer: self,
            seen: Vec::with_capacity(count),
            is_sorted: true,
            close,
        })
    }

    fn integer(&mut self, number: Option<i64>, text: &dyn Display) -> Result<(), EncodeError> {
        let number = number.filter(|number| (-INTEGER_MAX..=INTEGER_MAX).contains(number));
        let Some(number) = number else {
            return Err(EncodeError::Number(text.to_string()));
        };
        Ok(serde_json::to_writer(&mut *self.out, &number)?)
    }
}

impl<'a, 'w> Serializer for &'a mut Writer<'w> {
    type Ok = ();
    type Error = EncodeError;
    type SerializeSeq = Items<'a, 'w>;
    type SerializeTuple = Items<'a, 'w>;
    type SerializeTupleStruct = Items<'a, 'w>;
    type SerializeTupleVariant = Items<'a, 'w>;
    type SerializeMap = Fields<'a, 'w>;
    type SerializeStruct = Fields<'a, 'w>;
    type SerializeStructVariant = Fields<'a, 'w>;

    fn serialize_bool(self, value: bool) -> Result<(), EncodeError> {
        let text: &[u8] = if value { b"true" } else { b"false" };
        self.out.extend_from_slice(text);
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), EncodeError> {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<(), EncodeError> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<(), EncodeError> {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result<(), EncodeError> {
        self.integer(Some(value), &value)
    }

    fn serialize_i128(self, value: i128) -> Result<(), EncodeError> {
        self.integer(value.try_into().ok(), &value)
    }

    fn serialize_u8(self, value: u8) -> Result<(), EncodeError> {
        self.serialize_i64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<(), EncodeError> {
        self.serialize_i64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), EncodeError> {
        self.serialize_i64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<(), EncodeError> {
        self.integer(value.try_into().ok(), &value)
    }

    fn serialize_u128(self, value: u128) -> Result<(), EncodeError> {
        self.integer(value.try_into().ok(), &value)
    }

    fn serialize_f32(self, value: f32) -> Result<(), EncodeError> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), EncodeError> {
        match (Number::from_f64(value), self.numbers) {
            (Some(number), Numbers::Any) => Ok(serde_json::to_writer(&mut *self.out, &number)?),
            (Some(number), Numbers::Integers) => Err(EncodeError::Number(number.to_string())),
            // Neither infinities nor what is no number have a form in JSON.
            (None, _) => Err(EncodeError::Number(value.to_string())),
        }
    }

    fn serialize_char(self, value: char) -> Result<(), EncodeError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), EncodeError> {
        super::write_string(value, self.out)
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), EncodeError> {
        Ok(serde_json::Serializer::new(&mut *self.out).collect_str(value)?)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), EncodeError> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), EncodeError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), EncodeError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), EncodeError> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), EncodeError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), EncodeError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), EncodeError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), EncodeError> {
        let mut fields = self.fields(None, 1)?;
        fields.put(Cow::Borrowed(variant), value)?;
        fields.close()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'a, 'w>, EncodeError> {
        self.items(None)
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'a, 'w>, EncodeError> {
        self.items(None)
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Items<'a, 'w>, EncodeError> {
        self.items(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'a, 'w>, EncodeError> {
        self.items(Some(variant))
    }

    fn serialize_map(self, count: Option<usize>) -> Result<Fields<'a, 'w>, EncodeError> {
        self.fields(None, count.unwrap_or_default())
    }

    fn serialize_struct(
        self,
        name: &'static str,
        count: usize,
    ) -> Result<Fields<'a, 'w>, EncodeError> {
        if name.starts_with(PRIVATE) {
            return Err(EncodeError::custom("JSON in text was not checked"));
        }
        self.fields(None, count)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        count: usize,
    ) -> Result<Fields<'a, 'w>, EncodeError> {
        self.fields(Some(variant), count)
    }
}

/// The items of an array.
pub(super) struct Items<'a, 'w> {
    writer: &'a mut Writer<'w>,
    is_first: bool,
    close: &'static str,
}

impl Items<'_, '_> {
    fn put<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        if !std::mem::take(&mut self.is_first) {
            self.writer.out.push(b',');
        }
        value.serialize(&mut *self.writer)
    }

    fn close(self) {
        self.writer.out.extend_from_slice(self.close.as_bytes());
    }
}

/// The fields of an object.
pub(super) struct Fields<'a, 'w> {
    writer: &'a mut Writer<'w>,
    /// Where the first field begins.
    begin: usize,
    /// The keys so far, and where the field of each begins.
    seen: Vec<(Cow<'static, str>, usize)>,
    is_sorted: bool,
    close: &'static str,
}

impl Fields<'_, '_> {
    fn key(&mut self, key: Cow<'static, str>) -> Result<(), EncodeError> {
        if let Some((last, _)) = self.seen.last() {
            self.writer.out.push(b',');
            self.is_sorted &= last.as_bytes() < key.as_bytes();
        }
        let start = self.writer.out.len();
        super::write_string(&key, self.writer.out)?;
        self.writer.out.push(b':');
        self.seen.push((key, start));
        Ok(())
    }

    fn put<T: Serialize + ?Sized>(
        &mut self,
        key: Cow<'static, str>,
        value: &T,
    ) -> Result<(), EncodeError> {
        self.key(key)?;
        value.serialize(&mut *self.writer)
    }

    fn close(self) -> Result<(), EncodeError> {
        if !self.is_sorted {
            sort(self.writer.out, self.begin, &self.seen)?;
        }
        self.writer.out.extend_from_slice(self.close.as_bytes());
        Ok(())
    }
}

/// Puts the fields that begin at these places, the last of which ends with the bytes, in the order
/// of their keys.
fn sort(
    out: &mut Vec<u8>,
    begin: usize,
    fields: &[(Cow<'static, str>, usize)],
) -> Result<(), EncodeError> {
    let ends = fields
        .iter()
        .skip(1)
        .map(|(_, next)| next.saturating_sub(1));
    let ends = ends.chain([out.len()]);
    let places = fields.iter().zip(ends);
    let mut places: Vec<_> = places
        .map(|((key, start), end)| (key, *start..end))
        .collect();
    places.sort_by(|(one, _), (two, _)| one.as_bytes().cmp(two.as_bytes()));
    let mut sorted = Vec::with_capacity(out.len().saturating_sub(begin));
    let mut before = None;
    for (key, place) in places {
        if before == Some(key) {
            return Err(EncodeError::Twice(key.clone().into_owned()));
        }
        if before.replace(key).is_some() {
            sorted.push(b',');
        }
        sorted.extend_from_slice(out.get(place).unwrap_or_default());
    }
    out.truncate(begin);
    out.append(&mut sorted);
    Ok(())
}

/// All that serde writes as an array is written alike.
macro_rules! array {
    ($($trait:ident::$method:ident,)*) => {$(
        impl ser::$trait for Items<'_, '_> {
            type Ok = ();
            type Error = EncodeError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
                self.put(value)
            }

            fn end(self) -> Result<(), EncodeError> {
                self.close();
                Ok(())
            }
        }
    )*};
}

array! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
}

impl ser::SerializeMap for Fields<'_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), EncodeError> {
        match serde_json::to_value(key)? {
            Value::String(key) => self.key(Cow::Owned(key)),
            Value::Number(key) => self.key(Cow::Owned(key.to_string())),
            _ => Err(EncodeError::custom("a key must be a text or a number")),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), EncodeError> {
        self.close()
    }
}

/// And so is each struct.
macro_rules! object {
    ($($trait:ident,)*) => {$(
        impl ser::$trait for Fields<'_, '_> {
            type Ok = ();
            type Error = EncodeError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), EncodeError> {
                self.put(Cow::Borrowed(key), value)
            }

            fn end(self) -> Result<(), EncodeError> {
                self.close()
            }
        }
    )*};
}

object! {
    SerializeStruct,
    SerializeStructVariant,
}

#[cfg(test)]
mod tests;
