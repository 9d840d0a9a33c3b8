package host

// ReplyReport is what check says of one form of final answers.
type ReplyReport struct {
	Name        string
	Roles       []string // whose loops end with it
	Schema      string   // the file
	ReplyChars  int
	TicketChars int
	Results     []string // the tools whose results its rules may read
	Rules       []RuleReport
	Policy      Policy
}

// ReplyReports gives a report of each form, in the order of the config.
func (h *Host) ReplyReports() []ReplyReport {
	var out []ReplyReport
	for _, f := range h.replies {
		r := ReplyReport{
			Name: f.Name, Roles: f.Roles, Schema: f.schemaFile, ReplyChars: f.ReplyChars, TicketChars: f.TicketChars,
			Results: f.types["results"].Names(), Policy: f.policy,
		}
		for _, rule := range f.rules {
			r.Rules = append(r.Rules, RuleReport{
				Name: rule.Name, Require: rule.Require, Words: rule.Words.String(), Cost: rule.compiled.Cost, Examples: len(rule.Examples), Place: rule.At("require"),
			})
		}
		out = append(out, r)
	}
	return out
}
