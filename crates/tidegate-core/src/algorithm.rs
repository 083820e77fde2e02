//! What an algorithm states about itself, and how a list of algorithms becomes a type: the vocabulary that all registries share.
//!
//! An algorithm implements [`Algorithm`] in its own file. [`registry!`](crate::registry!) turns a list of algorithms into their names in
//! files and an enum over them. A call on that enum is a `match`, never a jump through a table of methods.

use core::fmt;

/// A role, such as scheduling or policing: what its algorithms are built from.
pub trait Role {
    /// Names one of the parameters, in [`Algorithm::REQUIRES`] and in errors.
    type Field: Copy + 'static;
    /// The parameters, as an operator gives them.
    type Parameters<'a>;
    /// Why an algorithm cannot be built from them.
    type Error;
}

/// An algorithm that files choose by name.
pub trait Algorithm<R: Role>: Sized {
    /// The name used in files.
    const NAME: &'static str;
    /// One sentence for the index: what it promises.
    const SUMMARY: &'static str;
    /// The parameters it cannot do without.
    const REQUIRES: &'static [R::Field] = &[];
    /// The further parameters it uses if they are given.
    const ACCEPTS: &'static [R::Field] = &[];

    /// Builds it. The caller, a method of the registry, has checked what holds for every algorithm of the role.
    ///
    /// # Errors
    /// The first parameter that is missing, out of range, or contradicts another.
    fn build(parameters: R::Parameters<'_>) -> Result<Self, R::Error>;
}

/// Why an algorithm cannot be built: one parameter is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FieldError<F> {
    /// The parameter.
    pub field: F,
    /// What is wrong, and what would be right.
    pub problem: &'static str,
}

impl<F: fmt::Display> fmt::Display for FieldError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.problem)
    }
}

impl<F: fmt::Debug + fmt::Display> core::error::Error for FieldError<F> {}

/// An enum of which each variant has a name in files and reports.
///
/// ```
/// tidegate_core::fields! {
///     /// What to drink.
///     pub enum Drink {
///         /// Hot.
///         Tea = "tea",
///         /// Cold.
///         Juice = "juice",
///     }
/// }
/// assert_eq!(Drink::ALL.iter().map(Drink::to_string).collect::<Vec<_>>(), ["tea", "juice"]);
/// ```
#[macro_export]
macro_rules! fields {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $field:ident = $key:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name { $($(#[$doc])* $field,)* }

        impl $name {
            /// Every one, in the order of the list.
            pub const ALL: &'static [$name] = &[$($name::$field,)*];

            /// The name used in files and reports.
            pub const fn name(self) -> &'static str {
                match self { $($name::$field => $key,)* }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

/// Makes a registry of a list of types that implement a trait with the constants `NAME` and `SUMMARY`.
///
/// `kind` declares an enum of the names, `any` an enum of the algorithms themselves, and the third name is a macro for use in the same file:
///
/// * `m!(any, a => expression)` evaluates the expression with `a` bound to the algorithm in `any`;
/// * `m!(any, other, a, b => expression, else otherwise)` does so with `a` and `b` bound if both hold the same algorithm;
/// * `m!(kind, A, any => expression)` evaluates it with `A` standing for the algorithm's type and `any` for its variant.
///
/// `, boxed` behind the type of a large algorithm keeps it in a box. Variants in a second list have no name in files. The dollar sign in front is for the macro that is declared.
///
/// ```
/// trait Greeting {
///     const NAME: &'static str;
///     const SUMMARY: &'static str;
///     fn greet(&self) -> &'static str;
/// }
/// #[derive(Clone, Debug, Default)]
/// struct Short;
/// impl Greeting for Short {
///     const NAME: &'static str = "short";
///     const SUMMARY: &'static str = "one syllable";
///     fn greet(&self) -> &'static str {
///         "Hi"
///     }
/// }
/// tidegate_core::registry! { $
///     /// The greetings by name.
///     pub(crate) kind GreetingKind by Greeting;
///     pub(crate) any AnyGreeting;
///     match_greeting { Short = Short; }
/// }
/// let any = match_greeting!(GreetingKind::Short, G, any => any(G::default()));
/// assert_eq!(match_greeting!(any, greeting => greeting.greet()), "Hi");
/// assert_eq!(GreetingKind::from_name("short"), Some(GreetingKind::Short));
/// ```
#[macro_export]
macro_rules! registry {
    (
        $d:tt
        $(#[$kind_meta:meta])*
        $kind_visibility:vis kind $kind:ident by $by:path;
        $(#[$any_meta:meta])*
        $any_visibility:vis any $any:ident;
        $matcher:ident { $($variant:ident = $type:ty $(, $boxed:ident)?;)* }
        $(unnamed { $($(#[$doc:meta])* $unnamed:ident = $unnamed_type:ty;)* })?
    ) => {
        $(#[$kind_meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[allow(missing_docs)]
        $kind_visibility enum $kind { $($variant,)* }

        impl $kind {
            /// Every one, in the order of the list.
            pub const ALL: &'static [$kind] = &[$($kind::$variant,)*];

            /// The name used in files.
            pub const fn name(self) -> &'static str {
                match self { $($kind::$variant => <$type as $by>::NAME,)* }
            }

            /// One sentence on it.
            pub const fn summary(self) -> &'static str {
                match self { $($kind::$variant => <$type as $by>::SUMMARY,)* }
            }

            /// The one of this name.
            pub fn from_name(name: &str) -> Option<$kind> {
                $kind::ALL.iter().copied().find(|kind| kind.name() == name)
            }
        }

        $(#[$any_meta])*
        #[derive(Clone, Debug)]
        #[allow(missing_docs)]
        $any_visibility enum $any { $($variant($crate::stored!($type $(, $boxed)?)),)* $($($(#[$doc])* $unnamed($unnamed_type),)*)? }

        #[allow(unused_macros)]
        macro_rules! $matcher {
            ($d any:expr, $d other:expr, $d algorithm:ident, $d same:ident => $d expression:expr, else $d otherwise:expr) => {
                match ($d any, $d other) {
                    $(($any::$variant($d algorithm), $any::$variant($d same)) => $d expression,)*
                    $($(($any::$unnamed($d algorithm), $any::$unnamed($d same)) => $d expression,)*)?
                    #[allow(unreachable_patterns)]
                    _ => $d otherwise,
                }
            };
            ($d any:expr, $d algorithm:ident => $d expression:expr) => {
                match $d any {
                    $($any::$variant($d algorithm) => $d expression,)*
                    $($($any::$unnamed($d algorithm) => $d expression,)*)?
                }
            };
            ($d kind:expr, $d ty:ident, $d any:ident => $d expression:expr) => {
                match $d kind {
                    $($kind::$variant => {
                        type $d ty = $type;
                        #[allow(dead_code)]
                        fn $d any(algorithm: $type) -> $any {
                            $any::$variant($crate::stored!(algorithm => $($boxed)?))
                        }
                        $d expression
                    })*
                }
            };
        }
    };
}

/// How a variant of [`registry!`](crate::registry!) holds its algorithm: in place, or in a box.
#[doc(hidden)]
#[macro_export]
macro_rules! stored {
    ($type:ty) => { $type };
    ($type:ty, boxed) => { $crate::Boxed<$type> };
    ($algorithm:ident =>) => { $algorithm };
    ($algorithm:ident => boxed) => { $crate::Boxed::new($algorithm) };
}
