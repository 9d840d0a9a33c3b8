package config

import (
	"strings"
	"testing"
)

const replied = `[tools.get_order]
plugin = "plugins/get_order"
effect = "read"
callers = ["customer", "staff"]
[replies.ticket]
roles = ["customer"]
schema = "replies/ticket.json"
reply_chars = 300
[[replies.ticket.rules]]
name = "order_not_in_ticket"
require = "ticket.containsWord(reply.order.order_id)"
words = "{reply.order.order_id} is not there"
reason = "{reply.order.order_id} of {session.customer}"
examples = [
  { expect = "allow", reply = '{}', ticket = "LK-1", results = '{}', session = { customer = "C-1" } },
  { expect = "refuse", reply = '{}' },
]
`

func TestReplies(t *testing.T) {
	c, err := Parse("config.toml", []byte(replied), Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := c.Replies[0]
	if r.Name != "ticket" || r.ReplyChars != 300 || r.TicketChars != 8000 || !strings.HasSuffix(r.Schema, "/replies/ticket.json") || len(r.Roles) != 1 {
		t.Errorf("%+v", r)
	}
	if rule := r.Rules[0]; rule.Name != "order_not_in_ticket" || rule.At("require").Line != 11 || len(rule.Examples) != 2 || rule.Examples[0].Session["customer"] != "C-1" {
		t.Errorf("%+v", rule)
	}
}

func TestRefusedReplies(t *testing.T) {
	for _, c := range []struct{ rule, old, new, want string }{
		{"unknown-key", "reply_chars", "reply_char", `[replies.ticket] reply_char: unknown key (did you mean "reply_chars"?)`},
		{"no-roles", `roles = ["customer"]`, "", `[replies.ticket] roles: missing`},
		{"role-that-calls-nothing", `roles = ["customer"]`, `roles = ["custmer"]`, `"custmer" may call no tool, so that no loop of it ends (did you mean "customer"?)`},
		{"no-schema", `schema = "replies/ticket.json"`, "", `[replies.ticket] schema: missing`},
		{"absolute-schema", `"replies/ticket.json"`, `"/etc/passwd"`, `"/etc/passwd" is no file relative to this one`},
		{"no-characters", "reply_chars = 300", "reply_chars = 0", "0 is out of bounds"},
		{"rules-as-a-table", "[[replies.ticket.rules]]", "[replies.ticket.rules]", "expected tables [[replies.ticket.rules]]"},
		{"name-that-is-no-code", `name = "order_not_in_ticket"`, `name = "order-not-in-ticket"`, "is not a code"},
		{"code-of-the-host", `name = "order_not_in_ticket"`, `name = "not_found"`, `"not_found" is a code of the host's own`},
		{"args-in-words", "words = \"{reply.order.order_id}", "words = \"{args.order_id}", "this key takes {reply.x}"},
		{"session-in-words", "words = \"{reply.order.order_id}", "words = \"{session.role}", "this key takes {reply.x}"},
		{"words-without-braces", "words = \"{reply.order.order_id} is not there\"", "words = \"reply.order.order_id\"", "is literal text"},
		{"reply-of-three-names", "words = \"{reply.order.order_id}", "words = \"{reply.order.a.b}", "holds a brace that names no value"},
		{"no-refusal", `expect = "refuse"`, `expect = "allow"`, `none has expect = "refuse"`},
		{"no-such-expectation", `expect = "refuse"`, `expect = "reject"`, `"reject" is not one of allow, refuse, error`},
		{"example-without-an-answer", `{ expect = "refuse", reply = '{}' }`, `{ expect = "refuse" }`, "reply: missing"},
		{"example-with-arguments", `{ expect = "refuse", reply = '{}' }`, `{ expect = "refuse", reply = '{}', args = '{}' }`, "args: unknown key"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			text := strings.Replace(replied, c.old, c.new, 1)
			if _, err := Parse("config.toml", []byte(text), Options{ReservedCodes: []string{"not_found"}}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
	twice := replied + "[replies.other]\nroles = [\"customer\"]\nschema = \"replies/other.json\"\n"
	if _, err := Parse("config.toml", []byte(twice), Options{}); err == nil || !strings.Contains(err.Error(), `"customer" has the form ticket already`) {
		t.Error(err)
	}
}
