//! The rules of a policy that most tests write.

/// The text of `[statement]` and of everybody's budget:
/// `rules!([epsilon = 1, max_rows = 4] ["approx", epsilon = 1000, delta = 0.1])`.
macro_rules! rules {
    ([$($key:ident = $value:literal),*] [$accounting:literal, $($limit:ident = $most:literal),*]) => {
        concat!(
            "[statement]\n",
            $(stringify!($key), " = ", $value, "\n",)*
            "[[budget]]\nname = \"everyone\"\naccounting = \"", $accounting, "\"\n",
            $(stringify!($limit), " = ", $most, "\n",)*
        )
    };
}

pub(crate) use rules;
