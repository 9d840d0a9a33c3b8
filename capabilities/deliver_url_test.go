package capabilities

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/stricturl"
)

// TestURLTemplates: what can be a template.
func TestURLTemplates(t *testing.T) {
	for text, names := range map[string]string{
		"https://erp.example/v1/orders/{args.order_id}/refunds": "[args.order_id]",
		"https://erp.example/{a}/{b}/{a}":                       "[a b a]",
		"https://erp.example/v1/":                               "[]",
		"https://erp.example/{a}/":                              "[a]",
		"http://[::1]:8080/{facts.order.id}":                    "[facts.order.id]",
	} {
		u, err := ParseURLTemplate(text)
		if err != nil || fmt.Sprint(u.Names()) != names {
			t.Errorf("%s: %v, %v", text, u.Names(), err)
		}
	}
	for _, text := range []string{
		"", "https://erp.example", "erp.example/{a}", "/{a}", "{a}", "https://{a}/x", "https://erp.{a}/x", "{a}://erp.example/x", "https://erp.example:{a}/x", "https://{a}@erp.example/x",
		"https://erp.example/{a}.json", "https://erp.example/x-{a}", "https://erp.example/{a}{b}", "https://erp.example/{}", "https://erp.example/{{a}}", "https://erp.example/{a", "https://erp.example/a}",
		"https://erp.example/x?y={a}", "https://erp.example/{a}?y=z", "https://erp.example/x?y", "https://erp.example/x?", "https://erp.example/x#{a}", "https://erp.example/%41/{a}", "https://erp.example/*/{a}",
		"https://erp.example//{a}", "https://erp.example/../{a}", "https://erp.example/./{a}", "https://erp.example\\{a}/", "ftp://erp.example/{a}", "HTTPS://erp.example/{a}", "https://ERP.example/{a}",
		"https://erp.example/" + strings.Repeat("{a}/", 1100),
	} {
		if u, err := ParseURLTemplate(text); err == nil {
			t.Errorf("%q is a template: %v", text, u)
		}
	}
	if text, err := (URLTemplate{}).Render(func(string) (string, bool) { return "x", true }); err == nil {
		t.Errorf("the zero template gives %q", text)
	}
}

// refusedSegments are values that are no segment of a path.
var refusedSegments = map[string]string{
	"empty": "", "dot": ".", "dot-dot": "..", "three-dots": "...", "dot-before": ".env", "dot-after": "a.", "slash": "a/b", "slash-alone": "/", "climbs": "../../admin",
	"backslash": `a\b`, "percent": "a%2fb", "percent-alone": "%", "encoded-dots": "%2e%2e", "query": "a?b=c", "fragment": "a#b", "semicolon": "a;b", "semicolon-step": "..;", "at": "a@b", "colon": "a:b",
	"plus": "a+b", "space": "a b", "tab": "a\tb", "line": "a\r\nHost: x", "nul": "a\x00", "delete": "a\x7f", "umlaut": "ü", "full-width-dots": "．．", "full-width-slash": "a／b", "bidi": "a\u202eb",
	"not-utf8": "a\xff", "brace": "{a}", "too-long": strings.Repeat("a", maxSegment+1),
}

func TestURLTemplateValues(t *testing.T) {
	u, err := ParseURLTemplate("https://erp.example/v1/orders/{args.order_id}/refunds/{approval.id}")
	if err != nil {
		t.Fatal(err)
	}
	render := func(order string) (string, error) {
		return u.Render(func(name string) (string, bool) {
			v, ok := map[string]string{"args.order_id": order, "approval.id": "apr-1"}[name]
			return v, ok
		})
	}
	for _, value := range []string{"LK-615204", "a", "0", "a.b", "a..b", "-", "~a_b", "A" + strings.Repeat("z", maxSegment-1)} {
		if got, err := render(value); err != nil || got != "https://erp.example/v1/orders/"+value+"/refunds/apr-1" {
			t.Errorf("%q gives %q, %v", value, got, err)
		}
	}
	for name, value := range refusedSegments {
		got, err := render(value)
		if err == nil {
			t.Errorf("%s: gives %q", name, got)
			continue
		}
		if !strings.Contains(err.Error(), "{args.order_id}") || len(value) > 4 && strings.Contains(err.Error(), value) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := u.Render(func(string) (string, bool) { return "", false }); err == nil {
		t.Errorf("no values give %q", got)
	}
}

// FuzzURLTemplate: whatever the values are, what is rendered is a strict URL of
// the template's scheme, host, port, segments and no query, and within the entry
// that the template without its values is within.
func FuzzURLTemplate(f *testing.F) {
	for _, value := range refusedSegments {
		f.Add("https://erp.example/v1/orders/{a}/refunds/{b}", value, "x")
		f.Add("https://erp.example/v1/orders/{a}/refunds/{b}", "x", value)
		f.Add("https://erp.example/"+value+"/{a}", "a.b", value)
		f.Add(value, "x", "y")
	}
	f.Fuzz(func(t *testing.T, template, a, b string) {
		u, err := ParseURLTemplate(template)
		if err != nil {
			return
		}
		blank, err := u.Render(func(string) (string, bool) { return "x", true })
		if err != nil {
			t.Fatalf("%q is a template, and then: %v", template, err)
		}
		want, err := stricturl.Parse(blank)
		if err != nil {
			t.Fatal(err)
		}
		text, err := u.Render(func(name string) (string, bool) {
			if name == "a" {
				return a, true
			}
			return b, true
		})
		if err != nil {
			return
		}
		got, err := stricturl.Parse(text)
		if err != nil {
			t.Fatalf("%q, %q and %q give %q: %v", template, a, b, text, err)
		}
		if got.Scheme != want.Scheme || got.Host != want.Host || got.Port != want.Port || got.HasQuery || want.HasQuery {
			t.Fatalf("%q, %q and %q give %q", template, a, b, text)
		}
		segments, expected := strings.Split(got.Path, "/"), strings.Split(want.Path, "/")
		if len(segments) != len(expected) || len(segments) != strings.Count(template, "/")-1 {
			t.Fatalf("%q, %q and %q give %q", template, a, b, text)
		}
		literal, _, _ := strings.Cut(template, "{")
		if !strings.HasPrefix(text, literal) {
			t.Fatalf("%q, %q and %q give %q", template, a, b, text)
		}
	})
}
