//! How much a YAML text is when its aliases are followed: a few lines may stand for more than any memory holds. The
//! parser's own bound grows with the text, ours does not. What the values are is of no interest here.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor};

/// Most values of a frontmatter, all aliases followed; without aliases there is no room for as many in its bytes.
const MAX_VALUES: usize = 50_000;

/// Refuses a text that unfolds to more than [`MAX_VALUES`].
pub(super) fn check(yaml: &str) -> Result<(), serde_yaml::Error> {
    // Without an anchor and an alias nothing is said twice.
    if !(yaml.contains('&') && yaml.contains('*')) {
        return Ok(());
    }
    let mut left = MAX_VALUES;
    Count { left: &mut left }.deserialize(serde_yaml::Deserializer::from_str(yaml))
}

/// Counts values down.
struct Count<'a> {
    left: &'a mut usize,
}

impl Count<'_> {
    fn again(&mut self) -> Count<'_> {
        Count { left: &mut *self.left }
    }
}

impl<'de> DeserializeSeed<'de> for Count<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        let too_many = || D::Error::custom(format!("its aliases unfold to over {MAX_VALUES} values"));
        *self.left = self.left.checked_sub(1).ok_or_else(too_many)?;
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Count<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i128<E>(self, _: i128) -> Result<(), E> {
        Ok(())
    }

    fn visit_u128<E>(self, _: u128) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self.again())?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut pairs: A) -> Result<(), A::Error> {
        while pairs.next_key_seed(self.again())?.is_some() {
            pairs.next_value_seed(self.again())?;
        }
        Ok(())
    }

    fn visit_enum<A: EnumAccess<'de>>(mut self, tagged: A) -> Result<(), A::Error> {
        let ((), value) = tagged.variant_seed(self.again())?;
        value.newtype_variant_seed(self)
    }
}
