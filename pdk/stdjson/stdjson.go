// Package stdjson makes encoding/json the codec of a plugin that imports it:
//
//	import _ "github.com/toolhost/toolhost/pdk/stdjson"
//
// The arguments, the result and Row.Decode are then what encoding/json makes of them, with json.Number
// for a number that lands in an any, and without escapes of <, > and &. The module is larger, and a
// call takes longer (docs/rationale.md has by how much).
package stdjson

import (
	"bytes"
	"encoding/json"

	"github.com/toolhost/toolhost/pdk"
)

func init() { pdk.UseCodec(decode, encode) }

func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
