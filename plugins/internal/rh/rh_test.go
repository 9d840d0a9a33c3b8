package rh

import "testing"

func TestRead(t *testing.T) {
	cases := []struct {
		rule   string
		status int
		body   string
		want   string // "": an error
		nom    string
	}{
		{"found", 200, `{"nom":"Camille","autre":1}`, OK, "Camille"},
		{"not-for-who-asks", 403, `{"nom":"Camille"}`, Forbidden, ""},
		{"nobody-of-that-number", 404, "no JSON", NotFound, ""},
		{"who-asks-was-not-told", 401, `{}`, "", ""},
		{"broken-service", 500, `{"nom":"Camille"}`, "", ""},
		{"another-success", 204, ``, "", ""},
		{"no-json", 200, `<html>`, "", ""},
		{"another-type", 200, `{"nom":7}`, "", ""},
		{"two-values", 200, `{"nom":"Camille"}{}`, "", ""},
		{"nothing", 200, ``, "", ""},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			var into struct {
				Nom string `json:"nom"`
			}
			got, err := read(c.status, []byte(c.body), &into)
			if got != c.want || (err == nil) != (c.want != "") || into.Nom != c.nom {
				t.Errorf("%q %v %+v", got, err, into)
			}
		})
	}
}
