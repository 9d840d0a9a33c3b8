package contract

import (
	"slices"
	"strings"
	"unicode"

	"github.com/toolhost/toolhost/host/strictjson"
)

// A plan is what the host itself does at each place of a value: our own
// keywords, and the bounds that are looked at before the validator, so that no
// pattern meets a text that is too long and no list of errors grows with one.
type plan struct {
	tidy      []string // "trim", "upper", in their order
	words     string   // what the model is told when this property is refused
	secret    bool     // never stored, never logged
	whole     bool     // an integer and nothing else that is a number
	maxLength int      // characters; noBound: none here
	maxItems  int
	names     map[string]*plan
	items     *plan
	deep      struct{ own, tidy, secret bool } // here or anywhere below
}

const (
	maxWords = 300 // characters of x-words
	noBound  = -1
)

// plan follows properties, items and $ref from a schema. Our keywords count
// there and nowhere else; see keywords in bounded.go.
func (w *walker) plan(s strictjson.Value, at string) *plan {
	p := &plan{names: map[string]*plan{}, whole: w.wholeNumber(s), maxLength: bound(s, "maxLength"), maxItems: bound(s, "maxItems")}
	if q := w.planOfRef(s, at); q != nil {
		*p = *q // a $ref stands alone but for our own keywords and notes
	}
	w.own(p, s, at)
	properties, _ := s.Get("properties")
	for name, child := range properties.Members() {
		p.names[name] = w.plan(child, at+"/properties/"+escape(name))
		p.gather(p.names[name])
	}
	if items, ok := s.Get("items"); ok {
		p.items = w.plan(items, at+"/items")
		p.gather(p.items)
	}
	w.branches(s, at)
	p.deep.tidy = p.deep.tidy || len(p.tidy) > 0
	p.deep.secret = p.deep.secret || p.secret
	p.deep.own = p.deep.own || p.words != "" || p.deep.tidy || p.deep.secret
	return p
}

// planOfRef makes the plan of a definition once, however often it is named.
func (w *walker) planOfRef(s strictjson.Value, at string) *plan {
	ref, ok := s.Get("$ref")
	target, known := w.resolve(ref)
	if !ok || !known {
		return nil
	}
	text, _ := ref.Text()
	if slices.Contains(w.refs, text) {
		w.fault(at+"/$ref", "refers to itself, so that its depth has no bound")
		return nil
	}
	if w.planned[text] == nil {
		w.refs = append(w.refs, text)
		q := w.plan(target, w.base+strings.TrimPrefix(text, "#"))
		w.refs = w.refs[:len(w.refs)-1]
		w.planned[text] = q
	}
	return w.planned[text]
}

func (p *plan) gather(child *plan) {
	p.deep.own = p.deep.own || child.deep.own
	p.deep.tidy = p.deep.tidy || child.deep.tidy
	p.deep.secret = p.deep.secret || child.deep.secret
}

// branches looks where a plan does not reach: our keywords there would do
// nothing, so they are refused, and a cycle of $ref ends there too.
func (w *walker) branches(s strictjson.Value, at string) {
	for _, b := range subschemas(s) {
		switch b.keyword {
		case "properties", "items", "$defs":
		default:
			if q := w.plan(b.schema, at+b.pointer); q.deep.own {
				w.fault(at+b.pointer, "x-tidy, x-words and x-secret count only where properties, items and $ref lead; one stands under another keyword")
			}
		}
	}
}

func (w *walker) own(p *plan, s strictjson.Value, at string) {
	if v, ok := s.Get("x-tidy"); ok {
		for _, item := range v.Items() {
			op, _ := item.Text()
			p.tidy = append(p.tidy, op)
		}
		bad := slices.ContainsFunc(p.tidy, func(op string) bool { return op != "trim" && op != "upper" })
		if v.Kind() != strictjson.Array || len(p.tidy) == 0 || bad {
			w.fault(at+"/x-tidy", `x-tidy must be a list of "trim" and "upper"`)
		}
	}
	if v, ok := s.Get("x-words"); ok {
		p.words, _ = v.Text()
		if v.Kind() != strictjson.String || p.words == "" || len([]rune(p.words)) > maxWords {
			w.fault(at+"/x-words", "x-words must be a string of 1 to %d characters", maxWords)
		}
	}
	if v, ok := s.Get("x-secret"); ok {
		p.secret = v.Kind() == strictjson.True
		if !p.secret {
			w.fault(at+"/x-secret", "x-secret can only be true")
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
	return v.Map(func(name string, child strictjson.Value) strictjson.Value { return p.in(v.Kind(), name).tidied(child) })
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

// in is the plan of what stands in an object under a name, or in an array.
func (p *plan) in(kind strictjson.Kind, name string) *plan {
	switch {
	case p == nil:
		return nil
	case kind == strictjson.Array:
		return p.items
	default:
		return p.names[name]
	}
}
