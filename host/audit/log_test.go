package audit

import "testing"

func TestSmoke(t *testing.T) {
	p := newPlace(t)
	l := p.open(t)
	appendAll(t, l, 300, 16)
	must(t, l.Close())
	l = p.open(t)
	appendAll(t, l, 300, 16)
	must(t, l.Close())
}
