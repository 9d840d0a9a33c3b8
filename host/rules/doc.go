// Package rules decides by CEL conditions over typed data.
//
// A rule can only be true, and then the call goes on, or not: false, an error
// and too much cost refuse alike. What could make it more than it says is not
// there:
//
//   - types come from the contract, the declared values and the columns (Type);
//     a misspelt field, two sides of different types and what has no one type
//     do not compile;
//   - there is one kind of number, an exact decimal (host/decimal); no literal
//     and no value is a binary float at any time;
//   - the language is the table in library.go and nothing of CEL's standard
//     library besides: no conversion, no map, no list but a literal one, no
//     regular expression that is not a literal;
//   - an absent value (an argument that was not given, a column that is NULL, a
//     row that is not there) is an error where it is read, and so the rule
//     refuses; has() asks for it;
//   - && and || stop at the first operand that settles them, and an error in
//     what was evaluated is an error of the whole: CEL's own would take
//     "error || true" for true;
//   - cost is bounded before (Compile) and while a rule runs (Holds).
//
// The package knows neither tools nor sessions; no other package knows CEL.
package rules
