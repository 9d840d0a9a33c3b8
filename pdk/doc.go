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
package pdk
