package pdk

import (
	"errors"
	"strings"
	"testing"
)

func TestFetchRequestsAreWhatTheABISays(t *testing.T) {
	cases := []struct {
		rule    string
		request Request
		want    string
	}{
		{
			"whole",
			Request{Method: "HEAD", URL: "https://a.example/?x=1&y", Headers: map[string]string{"if-none-match": `"1"`, "accept": "*/*"}},
			`{"from":"carrier","url":"https://a.example/?x=1&y","method":"HEAD","headers":{"accept":"*/*","if-none-match":"\"1\""}}`,
		},
		{"rest-is-left-out", Request{URL: "https://a.example/"}, `{"from":"carrier","url":"https://a.example/"}`},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			if got, err := Marshal(fetchRequest{"carrier", c.request}); err != nil || string(got) != c.want {
				t.Errorf("%s %v", got, err)
			}
		})
	}
}

func TestResponse(t *testing.T) {
	cases := []struct{ rule, body, text, bytes string }{
		{"text", `{"status":404,"headers":{"content-type":"text/plain"},"text":"gone"}`, "gone", "gone"},
		{"base64", `{"status":404,"headers":{"content-type":"text/plain"},"base64":"/w=="}`, "", "\xff"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			var answer fetchAnswer
			asked := 0
			if err := exchange("fetch.send", host(statusOK, c.body, &asked), fetchRequest{}, &answer); err != nil {
				t.Fatal(err)
			}
			got, err := answer.response()
			if err != nil || got.Status != 404 || got.Headers["content-type"] != "text/plain" {
				t.Errorf("%+v %v", got, err)
			}
			text, ok := got.Body.Text()
			if text != c.text || ok != (c.text != "") || string(got.Body.Bytes()) != c.bytes {
				t.Errorf("%q %v %q", text, ok, got.Body.Bytes())
			}
		})
	}
	if _, err := (fetchAnswer{Status: 200}).response(); !errors.Is(err, errNoContent) {
		t.Errorf("an answer without a body gives %v", err)
	}
}

func TestFetchOutsideToolhost(t *testing.T) {
	if _, err := (Call{}).Fetch("carrier").Get("https://a.example/"); !errors.Is(err, errOutside) || !strings.HasPrefix(err.Error(), "fetch.send: ") {
		t.Error(err)
	}
}
