//! What a main agent may decide without a person, by the words of what it is asked. Who asks and when is not known here.

/// The setting `authority`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Authority {
    /// In lower case; `all` stands for everything.
    words: Vec<String>,
}

impl Authority {
    /// Over questions that hold one of these words or phrases; `all` is every question.
    pub fn over(words: impl IntoIterator<Item = String>) -> Authority {
        let words = words.into_iter().map(|word| word.trim().to_lowercase());
        Authority { words: words.filter(|word| !word.is_empty()).collect() }
    }

    /// Whether a question with these words may be decided. A word of the setting counts where it begins a word of the
    /// question: `name` covers `names` and `naming` does not.
    pub fn covers(&self, asked: &str) -> bool {
        let asked = asked.to_lowercase();
        self.words.iter().any(|word| word == "all" || begins_a_word(&asked, word))
    }
}

fn begins_a_word(text: &str, word: &str) -> bool {
    let begins = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    text.match_indices(word).any(|(at, _)| begins(at))
}
