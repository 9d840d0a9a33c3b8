package capabilities

// AdmitDelivery is the approval gate's check of a delivery: an entry covers the
// URL, takes the method, and is open to the session. It gives the entry, by its
// place in the allow list, and is the check that Deliver makes again.
func (f *FetchReach) AdmitDelivery(method, url string) (entry int, err error) {
	choice, err := f.choose(method, url)
	return choice.place, err
}

// CheckMail is the approval gate's check of a mail: what Deliver would refuse
// before anything is dialled.
func CheckMail(m Mail) error { return m.check() }
