// Package pdk is what the author of a toolhost plugin in Go imports. A plugin is one function:
//
//	func init() { pdk.Tool(getOrder) }
//
//	func getOrder(c pdk.Call, a args) (any, error) { ... }
//
//	func main() {}
//
// The arguments were checked against the plugin's contract before the function is called; the value
// that it returns is checked against the contract afterwards. An error's text goes to the audit
// record, never to the model. What the function can reach is what the call's grants allow, and nothing
// of one call is there in the next.
//
// Build a plugin with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -buildvcs=false -ldflags='-s -w' -o plugin.wasm .
//
// On other systems everything compiles, so that go vet and go test work, and every question to the
// host is answered with an error. The package needs the standard library only. docs/abi.md has what
// lies beneath.
//
// # JSON
//
// Arguments, results, rows and what the host is asked are read and written by this package, which makes
// a plan of each type once. Tags (omitempty, omitzero, string, "-"), embedded structs, base64 for bytes
// and the methods MarshalJSON, UnmarshalJSON, MarshalText and UnmarshalText are those of encoding/json,
// and so is what is written, without escapes of <, > and &. A text that is not UTF-8 becomes U+FFFD in
// both. This differs:
//
//   - Names are exact: "ID" does not fill a field "id".
//   - A number that lands in an any is a Number. A json.Number in a type of the author's is one too.
//   - Unmarshal ends at the first value that does not fit, and what was filled before it stays filled.
//   - What follows the one value is an error, as for json.Unmarshal but not for a json.Decoder.
//   - What a field with the option string holds must be JSON: "01" and "0x10" are no numbers.
//   - Arrays and objects lie at most 1000 deep inside each other, in both directions, so that a value that
//     holds itself is an error.
//   - A struct type without a name is read by the methods of what is embedded in it wherever it stands.
//   - A name that stands twice in one object fills twice, as there; Row.Text gives the first.
//   - Errors are of no type of their own: they say where, what, and what to do.
//
// A plugin that needs encoding/json itself imports it beside this package, or imports pdk/stdjson, which
// makes it the codec of arguments and results. Both make the module larger and a call slower.
package pdk
