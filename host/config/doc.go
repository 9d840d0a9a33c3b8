// Package config reads the configuration of toolhost: config.toml, and the
// session files beside it. No other package knows TOML.
//
// The rules that hold for every file:
//
//   - What the grammar accepts is enforced by some gate; a key that this version
//     does not enforce yet is refused by name. An unknown key, a wrong case, a
//     wrong type, a dangling name and a bad limit are faults.
//   - All faults are reported together, each with file, line and key. A file with
//     a fault gives no Config at all: it never half-loads.
//   - Zero values deny: a zero limit is a fault, an empty or missing list grants
//     nothing, a table without scope must say so.
//   - A string is literal unless it holds {...}, which names one value. Where a
//     key takes no reference, a brace is a fault.
//   - A fault shows the text of the file, never the value of an environment
//     variable: faults go to logs, and such values are secrets.
//   - Two TOML readers must agree on the file. One gives the values, the other
//     the lines; a file that they read differently does not load.
package config
