package contract

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/strictjson"
)

// Every contract of plugins/ loads, also of a tool whose plugin is still to come.
func TestContractsOfThePlugins(t *testing.T) {
	files, err := filepath.Glob("../../plugins/*/" + FileName)
	if err != nil || len(files) < 13 {
		t.Fatalf("%d contracts %v", len(files), err)
	}
	for _, file := range files {
		folder := filepath.Base(filepath.Dir(file))
		c, faults := Load(filepath.Dir(file), folder)
		if len(faults) > 0 {
			t.Errorf("%v", faults)
		} else if c.Name != folder {
			t.Errorf("%s names its tool %q", folder, c.Name)
		}
	}
}

// What the tools that write take and refuse. Whole cents are counted in
// decimals: 0.07 and 206.05 are no multiples of 0.01 in binary floats.
func TestArgumentsOfWrites(t *testing.T) {
	const leave = `"employe_id":" e001 ","date_debut":"2026-10-20","date_fin":"2026-10-21"`
	cases := []struct{ rule, tool, args, field string }{
		{"cents", "issue_refund", `{"order_id":"LK-702219","amount":0.07}`, ""},
		{"more-cents", "issue_refund", `{"order_id":"LK-702219","amount":206.05}`, ""},
		{"trailing-zero", "issue_refund", `{"order_id":"LK-702219","amount":120.0,"reason":"late"}`, ""},
		{"the-most", "issue_refund", `{"order_id":"BB-702219","amount":100000}`, ""},
		{"half-a-cent", "issue_refund", `{"order_id":"LK-702219","amount":0.005}`, "amount"},
		{"a-little-more-than-a-cent", "issue_refund", `{"order_id":"LK-702219","amount":0.010000000000000000000001}`, "amount"},
		{"nothing", "issue_refund", `{"order_id":"LK-702219","amount":0}`, "amount"},
		{"less-than-nothing", "issue_refund", `{"order_id":"LK-702219","amount":-50}`, "amount"},
		{"too-much", "issue_refund", `{"order_id":"LK-702219","amount":100000.01}`, "amount"},
		{"amount-as-text", "issue_refund", `{"order_id":"LK-702219","amount":"5.00"}`, "amount"},
		{"approval-in-arguments", "issue_refund", `{"order_id":"LK-702219","amount":5,"approved_by":"usr-grace"}`, "approved_by"},
		{"label", "create_return_label", `{"order_id":"LK-702219"}`, ""},
		{"label-of-a-lower-case-order", "create_return_label", `{"order_id":"lk-702219"}`, "order_id"},
		{"any-address", "send_email", `{"to":"a@b","subject":"Your chairs"}`, ""},
		{"no-address", "send_email", `{"to":"","subject":"Your planter"}`, "to"},
		{"copy-to", "send_email", `{"to":"a@b","cc":"c@d"}`, "cc"},
		{"long-body", "send_email", `{"to":"a@b","body":"` + strings.Repeat("é", 4001) + `"}`, "body"},
		{"leave", "creer_demande_conges", `{` + leave + `,"type_conge":"rtt"}`, ""},
		{"leave-of-another-kind", "creer_demande_conges", `{` + leave + `,"type_conge":"maladie"}`, "type_conge"},
		{"no-such-day", "creer_demande_conges", `{"employe_id":"E001","date_debut":"2026-02-30","date_fin":"2026-03-01","type_conge":"cp"}`, "date_debut"},
		{"name-in-place-of-an-id", "creer_demande_conges", `{"employe_id":"Camille","date_debut":"2026-10-20","date_fin":"2026-10-20","type_conge":"cp"}`, "employe_id"},
		{"request", "annuler_demande", `{"demande_id":"D0001"}`, ""},
		{"request-is-not-tidied", "annuler_demande", `{"demande_id":"d0001"}`, "demande_id"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			contract, faults := Load("../../plugins/"+c.tool, c.tool)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			args, err := strictjson.Read([]byte(c.args), strictjson.Default(16384))
			if err != nil {
				t.Fatal(err)
			}
			_, err = contract.Arguments(args)
			var m *Misfit
			if errors.As(err, &m) != (c.field != "") || m != nil && (m.Field != c.field || m.Words == "") {
				t.Errorf("%v, want a refusal of %q", err, c.field)
			}
		})
	}
}
