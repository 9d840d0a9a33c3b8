package contract

import "github.com/toolhost/toolhost/host/strictjson"

// What x-secret marks.

// secrets gathers the texts of what x-secret marks.
func (p *plan) secrets(v strictjson.Value, out []string) []string {
	switch {
	case p == nil || !p.deep.secret:
		return out
	case p.secret:
		return append(out, scalars(v, nil)...)
	}
	for name, child := range v.Members() {
		out = p.names[name].secrets(child, out)
	}
	for _, child := range v.Items() {
		out = p.items.secrets(child, out)
	}
	return out
}

func scalars(v strictjson.Value, out []string) []string {
	if text, ok := v.Text(); ok && text != "" {
		return append(out, text)
	}
	for _, child := range v.Members() {
		out = scalars(child, out)
	}
	for _, child := range v.Items() {
		out = scalars(child, out)
	}
	return out
}

// redacted gives the value with x-secret parts replaced.
func (p *plan) redacted(v strictjson.Value) strictjson.Value {
	switch {
	case p == nil || !p.deep.secret:
		return v
	case p.secret:
		return strictjson.Text("(secret)")
	}
	return v.Map(func(name string, child strictjson.Value) strictjson.Value {
		return p.in(v.Kind(), name).redacted(child)
	})
}
