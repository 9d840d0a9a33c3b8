package server

// MaxTicket is how many bytes the text of a ticket may have.
const MaxTicket = 1 << 20
