package contract

import (
	"slices"
	"strings"
	"unicode"

	"github.com/toolhost/toolhost/host/strictjson"
)

// A plan holds our own keywords, at the properties where they stand.
type plan struct {
	tidy   []string // "trim", "upper", in their order
	words  string   // what the model is told when this property is refused
	secret bool     // never stored, never logged
	names  map[string]*plan
	items  *plan
	deep   struct{ tidy, secret bool } // here or anywhere below
}

const maxWords = 300 // characters of x-words

// plan follows properties, items and $ref from a schema. Our keywords count
// there and nowhere else; see keywords in bounded.go.
func (w *walker) plan(s strictjson.Value) *plan {
	p := &plan{names: map[string]*plan{}}
	w.own(p, s)
	if ref, ok := s.Get("$ref"); ok {
		text, _ := ref.Text()
		if slices.Contains(w.refs, text) {
			w.fault(w.base+strings.TrimPrefix(text, "#"), "refers to itself, so that its depth has no bound")
			return p
		}
		if target, ok := w.resolve(ref); ok {
			w.refs = append(w.refs, text)
			q := w.plan(target)
			w.refs = w.refs[:len(w.refs)-1]
			p.names, p.items, p.deep = q.names, q.items, q.deep
		}
	}
	properties, _ := s.Get("properties")
	for name, child := range properties.Members() {
		p.names[name] = w.plan(child)
		p.gather(p.names[name])
	}
	if items, ok := s.Get("items"); ok {
		p.items = w.plan(items)
		p.gather(p.items)
	}
	w.branches(s)
	p.deep.tidy = p.deep.tidy || len(p.tidy) > 0
	p.deep.secret = p.deep.secret || p.secret
	return p
}

func (p *plan) gather(child *plan) {
	p.deep.tidy = p.deep.tidy || child.deep.tidy
	p.deep.secret = p.deep.secret || child.deep.secret
}

// branches looks where a plan does not reach: our keywords there would do
// nothing, so they are refused, and a cycle of $ref ends there too.
func (w *walker) branches(s strictjson.Value) {
	for name, v := range s.Members() {
		switch name {
		case "anyOf", "oneOf", "allOf", "prefixItems":
			for _, b := range v.Items() {
				w.branch(b)
			}
		case "dependentSchemas":
			for _, b := range v.Members() {
				w.branch(b)
			}
		case "not", "if", "then", "else", "contains", "propertyNames", "additionalProperties":
			w.branch(v)
		}
	}
}

func (w *walker) branch(s strictjson.Value) {
	if q := w.plan(s); q.uses() {
		w.fault(w.base, "x-tidy, x-words and x-secret count only where properties, items and $ref lead; one stands under another keyword")
	}
}

func (p *plan) uses() bool {
	if p.words != "" || p.deep.tidy || p.deep.secret {
		return true
	}
	for _, q := range p.names {
		if q.uses() {
			return true
		}
	}
	return p.items != nil && p.items.uses()
}

func (w *walker) own(p *plan, s strictjson.Value) {
	if v, ok := s.Get("x-tidy"); ok {
		for _, item := range v.Items() {
			op, _ := item.Text()
			p.tidy = append(p.tidy, op)
		}
		bad := slices.ContainsFunc(p.tidy, func(op string) bool { return op != "trim" && op != "upper" })
		if v.Kind() != strictjson.Array || len(p.tidy) == 0 || bad {
			w.fault(w.base, `x-tidy must be a list of "trim" and "upper"`)
		}
	}
	if v, ok := s.Get("x-words"); ok {
		p.words, _ = v.Text()
		if v.Kind() != strictjson.String || p.words == "" || len([]rune(p.words)) > maxWords {
			w.fault(w.base, "x-words must be a string of 1 to %d characters", maxWords)
		}
	}
	if v, ok := s.Get("x-secret"); ok {
		p.secret = v.Kind() == strictjson.True
		if !p.secret {
			w.fault(w.base, "x-secret can only be true")
		}
	}
}

// tidied gives the value with x-tidy done.
func (p *plan) tidied(v strictjson.Value) strictjson.Value {
	if p == nil || !p.deep.tidy {
		return v
	}
	if s, _ := v.Text(); v.Kind() == strictjson.String && len(p.tidy) > 0 {
		for _, op := range p.tidy {
			s = tidy(op, s)
		}
		return strictjson.Text(s)
	}
	return v.Map(func(name string, v strictjson.Value) strictjson.Value { return p.child(name).tidied(v) })
}

// tidy does one word of x-tidy. Upper case is ASCII's alone: Unicode's would
// turn U+017F into S and U+0131 into I, and let a look-alike become an id.
func tidy(op, s string) string {
	switch op {
	case "trim":
		return strings.TrimFunc(s, unicode.IsSpace)
	case "upper":
		return strings.Map(func(r rune) rune {
			if 'a' <= r && r <= 'z' {
				return r - 'a' + 'A'
			}
			return r
		}, s)
	}
	return s
}

// redacted gives the value with x-secret parts replaced.
func (p *plan) redacted(v strictjson.Value) strictjson.Value {
	switch {
	case p == nil || !p.deep.secret:
		return v
	case p.secret:
		return strictjson.Text("(secret)")
	}
	return v.Map(func(name string, v strictjson.Value) strictjson.Value { return p.child(name).redacted(v) })
}

// child is the plan of a member by name, or of an item where name is "".
func (p *plan) child(name string) *plan {
	if p == nil {
		return nil
	}
	if q, ok := p.names[name]; ok {
		return q
	}
	return p.items
}
