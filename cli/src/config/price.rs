//! What the config says of prices: US dollars for a million tokens, model by model.

use std::collections::BTreeMap;

use placet_engine::nearest::nearest;
use placet_engine::price::Price;
use serde::Deserialize;
use toml::Spanned;

use super::agent::Dollars;
use super::model::{BUILT_IN, ModelEntry, Wrong};

/// A price as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PriceText {
    input: Dollars,
    output: Dollars,
    cache_read: Option<Dollars>,
    cache_write: Option<Dollars>,
}

/// Checks for which models there are prices: those of somebody who is known.
pub(super) fn prices(
    written: BTreeMap<Spanned<String>, PriceText>,
    models: &BTreeMap<String, ModelEntry>,
) -> Result<BTreeMap<String, Price>, Wrong> {
    let price = |(spec, text): (Spanned<String>, PriceText)| {
        let at = spec.span().start;
        let spec = spec.into_inner();
        let known = || models.keys().map(String::as_str).chain(BUILT_IN);
        match spec.split_once(':') {
            Some((name, id)) if known().any(|known| known == name) && !id.is_empty() => {
                Ok((spec, text.price()))
            }
            Some((name, id)) if !id.is_empty() => {
                let shown: String = name.chars().take(80).collect();
                let what =
                    format!("a price for models of {shown:?}, whom the config does not name");
                Err(Wrong::at(at, what).meant(nearest(name, known())))
            }
            Some(_) | None => {
                let what = "a price is for one model: [prices.\"NAME:ID\"]";
                Err(Wrong::at(at, what))
            }
        }
    };
    written.into_iter().map(price).collect()
}

impl PriceText {
    fn price(&self) -> Price {
        let or_input = |part: Option<Dollars>| part.unwrap_or(self.input).0;
        Price {
            cache_read: or_input(self.cache_read),
            cache_write: or_input(self.cache_write),
            input: self.input.0,
            output: self.output.0,
        }
    }
}
