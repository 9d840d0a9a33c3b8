package host

import (
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/state"
)

// Who may not approve does not: no row is written, no guest starts, and what
// waits still waits for who may.
func TestNotAllowedToApprove(t *testing.T) {
	const refused = "refused: not_allowed (approval)"
	for name, tt := range map[string]struct {
		asks   func(*Session)
		who    string // approves; "": the zero Approver
		before func(t *testing.T, d *writingDesk)
		want   string
	}{
		"somebody-else-who-may":        {who: "usr-grace", want: "ok"},
		"the-zero-approver":            {want: refused},
		"who-asked":                    {who: "usr-grace", want: refused, asks: func(s *Session) { s.Subject, s.Role = "usr-grace", "owner" }},
		"who-asked-in-another-role":    {who: "usr-grace", want: refused, asks: func(s *Session) { s.Subject = "usr-grace" }, before: also("'usr-grace', 'larkfield', 'staff'")},
		"an-owner-of-another-tenant":   {who: "usr-ines", want: refused},
		"an-owner-of-no-tenant":        {who: "usr-mara", want: refused, before: people("'usr-mara', NULL, 'owner'")},
		"an-owner-of-an-empty-tenant":  {who: "usr-mara", want: refused, before: people("'usr-mara', '', 'owner'")},
		"a-tenant-of-another-case":     {who: "usr-mara", want: refused, before: people("'usr-mara', 'Larkfield', 'owner'")},
		"a-subject-of-another-case":    {who: "usr-mara", want: refused, before: people("'USR-MARA', 'larkfield', 'owner'")},
		"a-role-of-another-case":       {who: "usr-mara", want: refused, before: people("'usr-mara', 'larkfield', 'Owner'")},
		"a-caller-who-is-no-approver":  {who: "usr-mara", want: refused, before: people("'usr-mara', 'larkfield', 'staff'")},
		"who-is-not-in-the-directory":  {who: "usr-mara", want: refused, before: people("'usr-nobody', 'larkfield', 'owner'")},
		"a-blob-that-reads-as-subject": {who: "usr-mara", want: refused, before: people("CAST('usr-mara' AS BLOB), 'larkfield', 'owner'")},
	} {
		t.Run(name, func(t *testing.T) {
			d := refundDesk(t)
			s := asker()
			if tt.asks != nil {
				tt.asks(&s)
			}
			if tt.before != nil {
				tt.before(t, d)
			}
			h := d.openAs(t, func(o *Options) { o.Recorder = NewMemoryRecorder(100) })
			a := proposes(t, h, s, "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
			var who Approver
			if tt.who != "" {
				who = proved(h, tt.who)
			}
			o, _ := h.Approve(t.Context(), who, a.ID, a.Digest)
			wantOutcome(t, o, tt.want)
			if tt.want == "ok" {
				return
			}
			if n := h.Stats().Runs["issue_refund"]; n != 0 {
				t.Errorf("%d guests ran", n)
			}
			d.wantRows(t)
			wantStanding(t, h, a.ID, state.Waiting, "")
			// Nor may they deny; who asked may take it back.
			denied := h.Deny(t.Context(), who, a.ID, a.Digest)
			if strings.HasPrefix(name, "who-asked") {
				wantOutcome(t, denied, "ok")
				return
			}
			wantOutcome(t, denied, tt.want)
			wantStanding(t, h, a.ID, state.Waiting, "")
		})
	}
}

// people replaces the owners of the desk's own shop; also adds.
func people(owners string) func(*testing.T, *writingDesk) {
	return func(t *testing.T, d *writingDesk) {
		d.sql(t, "DELETE FROM people WHERE role = 'owner'; INSERT INTO people VALUES ("+owners+")")
	}
}

func also(one string) func(*testing.T, *writingDesk) {
	return func(t *testing.T, d *writingDesk) { d.sql(t, "INSERT INTO people VALUES ("+one+")") }
}

// An absent tenant equals only an absent tenant, in both directions.
func TestAbsentTenantsApprove(t *testing.T) {
	d := newWritingDesk(t, strings.ReplaceAll(writingConfig(t, "creer_demande_conges"), "127.0.0.1:8431", "127.0.0.1:1"), "creer_demande_conges")
	d.sql(t, "INSERT INTO people VALUES ('E001', NULL, 'employee'), ('E002', NULL, 'employee'), ('E003', 'larkfield', 'employee'), ('E004', '', 'employee')")
	h := d.openAs(t, func(o *Options) { o.Recorder = NewMemoryRecorder(100) })
	next := h.clock().AddDate(0, 1, 0).Format(time.DateOnly)
	arguments := `{"employe_id":"E001","date_debut":"` + next + `","date_fin":"` + next + `","type_conge":"rtt"}`
	employee := func(subject, tenant string) Session {
		return Session{Subject: subject, Tenant: tenant, Role: "employee"}
	}
	for _, tt := range []struct{ asks, tenant, approves, want string }{
		{"E001", "", "E001", "ok"}, // requester = true
		{"E001", "", "E002", "ok"},
		{"E001", "", "E004", "ok"}, // an empty tenant is an absent one
		{"E001", "", "E003", "refused: not_allowed (approval)"},
		{"E003", "larkfield", "E003", "ok"},
		{"E003", "larkfield", "E001", "refused: not_allowed (approval)"},
		{"E003", "larkfield", "E004", "refused: not_allowed (approval)"},
	} {
		a := proposes(t, h, employee(tt.asks, tt.tenant), "creer_demande_conges", arguments)
		o, _ := h.Approve(t.Context(), proved(h, tt.approves), a.ID, a.Digest)
		if o.Line() != tt.want {
			t.Errorf("%s of %q asks, %s approves: %s, %s; want %s", tt.asks, tt.tenant, tt.approves, o.Line(), o.Reason, tt.want)
		}
		if o.State != OK {
			wantOutcome(t, h.Deny(t.Context(), proved(h, tt.asks), a.ID, a.Digest), "ok")
		}
	}
}

// A role that is taken away counts from that moment on: after what was shown,
// after the yes was claimed, and while the guest ran.
func TestRoleTakenAwayMeanwhile(t *testing.T) {
	for step, want := range map[string]struct {
		outcome string
		state   state.ApprovalState
	}{
		"":         {"refused: not_allowed (approval)", state.Waiting},
		"claimed":  {"refused: not_allowed (approval)", state.Waiting},
		"recorded": {"refused: not_allowed (approval)", state.Waiting},
		"ran":      {"failed: overtaken (result)", state.Failed},
		"answered": {"failed: overtaken (result)", state.Failed},
	} {
		t.Run(step, func(t *testing.T) {
			d := refundDesk(t)
			takeAway := func() { d.sql(t, "DELETE FROM people WHERE subject = 'usr-grace'") }
			h := d.openAs(t, func(o *Options) {
				o.Recorder = NewMemoryRecorder(100)
				o.Step = func(at string) {
					if at == step {
						takeAway()
					}
				}
			})
			a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
			if step == "" {
				takeAway()
			}
			wantOutcome(t, agree(t, h, "usr-grace", a), want.outcome)
			d.wantRows(t)
			if a := approvalOf(t, h, a.ID); a.State != want.state {
				t.Errorf("it is %s, want %s", a.State, want.state)
			}
			if step != "ran" && step != "answered" && h.Stats().Runs["issue_refund"] != 0 {
				t.Error("a guest ran")
			}
			if want.state == state.Waiting { // for who still may
				wantOutcome(t, agree(t, h, "usr-mara", a), "ok")
			}
		})
	}
}

// The role of who asked counts too, and what they may reach.
func TestAskerLosesTheirRole(t *testing.T) {
	for _, step := range []string{"", "claimed", "ran"} {
		t.Run(step, func(t *testing.T) {
			d := refundDesk(t)
			takeAway := func() { d.sql(t, "DELETE FROM people WHERE subject = 'usr-sam'") }
			h := d.openAs(t, func(o *Options) {
				o.Recorder = NewMemoryRecorder(100)
				o.Step = func(at string) {
					if at == step {
						takeAway()
					}
				}
			})
			a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
			if step == "" {
				takeAway()
			}
			want, code := "refused: forbidden (caller)", codeForbidden
			if step == "ran" {
				want, code = "failed: overtaken (result)", codeOvertaken
			}
			wantOutcome(t, agree(t, h, "usr-grace", a), want)
			d.wantRows(t)
			wantStanding(t, h, a.ID, state.Failed, code)
		})
	}
}

// What has expired, was denied, used or never was cannot be approved.
func TestNotWaitingAnyMore(t *testing.T) {
	const refused = "refused: not_waiting (approval)"
	d := refundDesk(t)
	h := d.openAs(t, func(o *Options) { o.Recorder = NewMemoryRecorder(100) })
	next := func() Approval {
		return proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
	}

	denied := next()
	wantOutcome(t, h.Deny(t.Context(), approver(t, h, "usr-mara"), denied.ID, denied.Digest), "ok")
	wantOutcome(t, agree(t, h, "usr-grace", denied), refused)
	wantOutcome(t, h.Deny(t.Context(), approver(t, h, "usr-mara"), denied.ID, denied.Digest), refused)

	expired := next()
	d.pass(15*time.Minute - time.Second)
	wantStanding(t, h, expired.ID, state.Waiting, "")
	d.pass(time.Second)
	wantOutcome(t, agree(t, h, "usr-grace", expired), refused)
	d.pass(-time.Hour) // the clock is set back: what has expired stays so
	wantOutcome(t, agree(t, h, "usr-grace", expired), refused)
	wantStanding(t, h, expired.ID, state.Expiry, "")
	d.pass(time.Hour)

	// It expires between the first look and the claim.
	late := d.openAs(t, func(o *Options) {
		o.Recorder = NewMemoryRecorder(100)
		o.Step = func(at string) {
			if at == "checked" {
				d.pass(time.Hour)
			}
		}
	})
	meanwhile := next()
	wantOutcome(t, agree(t, late, "usr-grace", meanwhile), refused)
	wantStanding(t, h, meanwhile.ID, state.Expiry, "")

	used := next()
	wantOutcome(t, agree(t, h, "usr-grace", used), "ok")
	wantOutcome(t, agree(t, h, "usr-grace", used), refused)
	wantOutcome(t, agree(t, h, "usr-mara", used), refused)
	wantOutcome(t, h.Deny(t.Context(), approver(t, h, "usr-mara"), used.ID, used.Digest), refused)

	for _, id := range []string{"", "A", "AAAA", "AAAAAAAAAAAAAAAA", strings.Repeat("A", 1<<20), used.ID + "A", " " + used.ID, "%", "____", "\x00"} {
		o, _ := h.Approve(t.Context(), approver(t, h, "usr-grace"), id, used.Digest)
		wantOutcome(t, o, refused)
	}
	d.wantRows(t, fiveBack)

	// A digest of another approval, or none, is no yes to this one.
	one, other := next(), proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":6.00}`)
	for _, digest := range []string{"", other.Digest, strings.ToUpper(one.Digest), one.Digest + " ", one.Digest[:20]} {
		o, _ := h.Approve(t.Context(), approver(t, h, "usr-grace"), one.ID, digest)
		wantOutcome(t, o, "refused: facts_changed (approval)")
		wantOutcome(t, h.Deny(t.Context(), approver(t, h, "usr-grace"), one.ID, digest), "refused: facts_changed (approval)")
	}
	wantStanding(t, h, one.ID, state.Waiting, "")
	d.wantRows(t, fiveBack)
}

// The tool is gone from the config, or reads now.
func TestToolIsGone(t *testing.T) {
	d := newWritingDesk(t, writingConfig(t, "issue_refund", "create_return_label"), "issue_refund", "create_return_label")
	h := d.openAs(t, nil)
	a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
	d.shut(t, h)
	d.write(t, "config.toml", writingConfig(t, "create_return_label"))
	h = d.openAs(t, nil)
	wantOutcome(t, agree(t, h, "usr-grace", a), "refused: not_allowed (approval)")
	wantOutcome(t, h.Deny(t.Context(), approver(t, h, "usr-grace"), a.ID, a.Digest), "refused: not_allowed (approval)")
	d.wantRows(t)
}
