package pdk

// Outbox names an outbox capability by its name in the config, such as "refunds". A tool that writes has one.
func (Call) Outbox(name string) Outbox { return Outbox{name} }

// Outbox asks one outbox.
type Outbox struct{ name string }

// Append asks for the row that a person has agreed to. The host makes the whole of it, from the arguments, who asked
// and what was approved, and writes it once the call has ended well: the plugin chooses nothing. A second one is
// ErrDenied. A tool that writes and does not ask fails.
func (o Outbox) Append() error {
	return exchange("outbox.append", hostOutboxAppend, &outboxRequest{o.name}, nil)
}

type outboxRequest struct {
	To string `json:"to"`
}
