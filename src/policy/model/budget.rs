//! Budgets, and the notions that they count in: `[[budget]]`.

use bigdecimal::BigDecimal;

/// The notion a budget counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accounting {
    /// Prices add up in a notion.
    Notion(dp::Notion),
    /// Numbers of uses of each declared mechanism, counted down.
    Envelope,
}

impl Accounting {
    /// The notion of a policy that says nothing.
    pub const USUAL: Self = Self::Notion(dp::Notion::Zcdp);

    /// All, as policies list them.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        dp::Notion::ALL.into_iter().map(Self::Notion).chain([Self::Envelope])
    }

    /// The notion that `dp` counts in; None where declared uses are counted.
    pub fn notion(self) -> Option<dp::Notion> {
        match self {
            Self::Notion(notion) => Some(notion),
            Self::Envelope => None,
        }
    }

    /// Whether its δ may be above 0.
    pub fn has_delta(self) -> bool {
        self.notion().is_none_or(dp::Notion::has_delta)
    }

    /// The word that policies and ledgers use.
    pub fn word(self) -> &'static str {
        self.notion().map_or("envelope", dp::Notion::word)
    }

    /// By its word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::all().find(|a| a.word() == word)
    }
}

/// Scope of a budget: who shares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Everybody shares it: the guarantee.
    Dataset,
    /// Every user has one: a quota.
    User,
    /// Every role has one: a quota.
    Role,
}

impl Scope {
    /// The word that ledgers use.
    pub fn word(self) -> &'static str {
        match self {
            Self::Dataset => "dataset",
            Self::User => "user",
            Self::Role => "role",
        }
    }

    /// By its word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Dataset, Self::User, Self::Role].into_iter().find(|s| s.word() == word)
    }
}

/// When a budget starts anew. In UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// Periods of this many days, the first of which began on 1970-01-01.
    Days(u32),
    /// Calendar months.
    Month,
}

impl Window {
    /// As policies write it.
    pub fn word(self) -> String {
        match self {
            Self::Days(n) => format!("{n}d"),
            Self::Month => "month".into(),
        }
    }

    /// From 1 to 3660 days, or "month".
    pub fn parse(word: &str) -> Option<Self> {
        if word == "month" {
            return Some(Self::Month);
        }
        let days = word.strip_suffix('d')?;
        let plain = days.bytes().all(|b| b.is_ascii_digit()) && !days.starts_with('0');
        days.parse().ok().filter(|n| plain && (1..=3660).contains(n)).map(Self::Days)
    }
}

/// Uses of one mechanism that an envelope grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The noise, and what one unit can change.
    pub mechanism: dp::Mechanism,
    /// Number of uses. A statement uses each of its noises once for every group that a unit may
    /// touch.
    pub uses: u32,
}

/// `[[budget]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Name of the budget, unique.
    pub name: String,
    /// Whose it is.
    pub scope: Scope,
    /// Private tables: statements that read any of them are debited. Empty: all statements are.
    pub tables: Vec<String>,
    /// When it starts anew; None for one budget for all time.
    pub window: Option<Window>,
    /// The notion.
    pub accounting: Accounting,
    /// Total ε.
    pub epsilon: BigDecimal,
    /// Total δ (0 for pure).
    pub delta: BigDecimal,
    /// The part of δ that pays for private groups.
    pub selection_delta: BigDecimal,
    /// Mechanisms that an envelope grants; empty elsewhere.
    pub mechanisms: Vec<Declared>,
    /// Notions, and what each would buy, when the owner left the notion to the program.
    /// `accounting` is the one that was taken.
    pub choices: Vec<(Accounting, u128)>,
}

impl Budget {
    /// A budget over all tables and for all time.
    pub fn new(
        name: &str,
        scope: Scope,
        accounting: Accounting,
        epsilon: BigDecimal,
        delta: BigDecimal,
    ) -> Self {
        Self {
            name: name.into(),
            scope,
            tables: Vec::new(),
            window: None,
            accounting,
            epsilon,
            selection_delta: match accounting {
                Accounting::Envelope => BigDecimal::default(),
                _ => (&delta / BigDecimal::from(2)).normalized(),
            },
            delta,
            mechanisms: Vec::new(),
            choices: Vec::new(),
        }
    }

    /// The notion that says which noise it has a price for. An envelope has it for what it declares.
    pub fn notion(&self) -> dp::Notion {
        let gaussian = |d: &Declared| d.mechanism.kind() == dp::Kind::DiscreteGaussian;
        self.accounting.notion().unwrap_or(match self.mechanisms.iter().any(gaussian) {
            true => dp::Notion::Zcdp,
            false => dp::Notion::Pure,
        })
    }
}
