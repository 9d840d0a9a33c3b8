package pdk

// other is the codec of an author who wants another one than this package's.
var other struct {
	decode func(text []byte, v any) error
	encode func(v any) ([]byte, error)
}

// UseCodec makes other functions decode the arguments and what Row.Decode fills, and encode the
// result. Call it in init. Package pdk/stdjson does so with encoding/json.
func UseCodec(decode func(text []byte, v any) error, encode func(v any) ([]byte, error)) {
	other.decode, other.encode = decode, encode
}

// decodeKept fills v, for the author, from bytes that nobody writes again.
func decodeKept(text []byte, v any) error {
	if other.decode != nil {
		return other.decode(text, v)
	}
	return unmarshal(text, v)
}

// encodeTo writes an author's value.
func encodeTo(w *writer, v any) error {
	if other.encode == nil {
		return w.any(v)
	}
	body, err := other.encode(v)
	w.b = append(w.b, body...)
	return err
}
