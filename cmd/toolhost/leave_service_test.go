package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestLeaveService(t *testing.T) {
	const request = `{"employe_id":"E001","date_debut":"2026-11-30","date_fin":"2026-12-01","type_conge":"rtt"}`
	with := func(old, new string) string { return strings.Replace(request, old, new, 1) }
	cases := []struct {
		rule, user, method, path, body string
		status                         int
		want                           string
	}{
		{"own-balance", "E001", "GET", "/employes/E001/solde", "", 200, `{"employe_id":"E001","solde":{"cp":17.5,"rtt":4}}`},
		{"managers-see-their-peoples", "E003", "GET", "/employes/E001/solde", "", 200, `"cp":17.5`},
		{"not-a-colleagues", "E002", "GET", "/employes/E001/solde", "", 403, ""},
		{"not-ones-managers", "E001", "GET", "/employes/E003/solde", "", 403, ""},
		{"not-two-levels-down", "E005", "GET", "/employes/E001/solde", "", 403, ""},
		{"unknown-employee", "E001", "GET", "/employes/E999/solde", "", 404, ""},
		{"unknown-user", "E999", "GET", "/employes/E001/solde", "", 403, ""},
		{"no-user", "", "GET", "/employes/E001/solde", "", 401, ""},
		{"no-user-learns-of-nobody", "", "GET", "/employes/E999/solde", "", 401, ""},
		{"by-a-part-of-the-name", "E002", "GET", "/employes?nom=CAMILLE", "", 200, `{"employes":[{"employe_id":"E001","nom":"Camille Perrin"},{"employe_id":"E004","nom":"Camille Nguyen"}]}`},
		{"nobody-of-that-name", "E002", "GET", "/employes?nom=zzz", "", 200, `{"employes":[]}`},
		{"no-name", "E002", "GET", "/employes?nom=", "", 400, ""},
		{"no-user-finds-nobody", "", "GET", "/employes?nom=Camille", "", 401, ""},
		{"unknown-user-finds-nobody", "usr-sam", "GET", "/employes?nom=Camille", "", 403, ""},
		{"new-request", "E001", "POST", "/demandes", request, 201, `"demande_id":"D0003"`},
		{"managers-ask-for-their-people", "E003", "POST", "/demandes", request, 201, `"statut":"active"`},
		{"not-for-a-colleague", "E002", "POST", "/demandes", request, 403, ""},
		{"not-for-an-unknown-employee", "E001", "POST", "/demandes", with("E001", "E999"), 404, ""},
		{"not-without-a-user", "", "POST", "/demandes", request, 401, ""},
		{"ends-before-it-begins", "E001", "POST", "/demandes", with("2026-12-01", "2026-11-29"), 400, ""},
		{"unknown-kind", "E001", "POST", "/demandes", with("rtt", "maladie"), 400, ""},
		{"unknown-member", "E001", "POST", "/demandes", with("{", `{"admin":true,`), 400, ""},
		{"id-is-the-services", "E001", "POST", "/demandes", with("{", `{"demande_id":"D0001",`), 400, ""},
		{"no-json", "E001", "POST", "/demandes", "demande", 400, ""},
		{"called-off", "E001", "DELETE", "/demandes/D0001", "", 200, `"statut":"annulee"`},
		{"called-off-by-the-manager", "E003", "DELETE", "/demandes/D0001", "", 200, `"statut":"annulee"`},
		{"not-a-colleagues-request", "E002", "DELETE", "/demandes/D0001", "", 403, ""},
		{"unknown-request", "E001", "DELETE", "/demandes/D0009", "", 404, ""},
		{"no-user-learns-of-no-request", "", "DELETE", "/demandes/D0009", "", 401, ""},
		{"nothing-else", "E001", "GET", "/demandes", "", 405, ""},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
			if c.user != "" {
				r.Header.Set(userHeader, c.user)
			}
			w := httptest.NewRecorder()
			newLeaveService().ServeHTTP(w, r)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}

// A request that is called off stays so, and the others stay as they are.
func TestLeaveServiceKeepsWhatItWasTold(t *testing.T) {
	s := newLeaveService()
	for range 2 {
		r := httptest.NewRequest("DELETE", "/demandes/D0001", nil)
		r.Header.Set(userHeader, "E001")
		s.ServeHTTP(httptest.NewRecorder(), r)
	}
	if s.demandes[0].Statut != "annulee" || s.demandes[1].Statut != "active" || len(s.demandes) != 2 {
		t.Errorf("%+v", s.demandes)
	}
}

func TestServeLeave(t *testing.T) {
	address := freeAddress(t)
	stop, err := serveLeave(address)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get("http://" + address + "/employes?nom=a")
	if err != nil || answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("%v %v", answer, err)
	}
	if _, err := serveLeave(address); err == nil || !strings.Contains(err.Error(), "port "+portOf(t, address)+" ") {
		t.Errorf("the taken port gives %v", err)
	}
	stop()
	if l, err := net.Listen("tcp", address); err != nil {
		t.Errorf("still there: %v", err)
	} else {
		l.Close()
	}
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}
