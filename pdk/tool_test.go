package pdk

import "testing"

func TestToolIsNamedOnce(t *testing.T) {
	defer func() {
		tool = nil
		if recover() == nil {
			t.Error("a second Tool passes")
		}
	}()
	f := func(Call, struct{}) (any, error) { return nil, nil }
	Tool(f)
	Tool(f)
}
