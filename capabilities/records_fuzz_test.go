package capabilities

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/strictjson"
)

// FuzzRequest: no request makes the host functions panic, err or give what was
// not granted.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		`{"from":"notices","key":"D1"}`, `{"from":"notices","columns":["id"],"where":[{"column":"fee","at_most":0.99}],"order":[{"column":"id","descending":true}],"limit":2}`,
		`{"from":"notices","words":"报名 %_\\ '","in":["content"]}`,
	} {
		f.Add("search", s)
		f.Add("get", s)
		f.Add("list", s)
	}
	alice := notices(f).Reach([]string{"u-alice"}, nil)
	f.Fuzz(func(t *testing.T, function, request string) {
		v, err := strictjson.Read([]byte(request), strictjson.Default(4096))
		if err != nil {
			return
		}
		a, err := alice.Call(t.Context(), function, v)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{`"s1"`, `"s3"`, `"u-bob"`, "志愿者名单"} {
			if a.Status == OK && strings.Contains(string(a.Body), secret) {
				t.Fatalf("%s got %s", request, a.Body)
			}
		}
	})
}
