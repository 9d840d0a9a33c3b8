package pdk

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestFileRequestsAreWhatTheABISays(t *testing.T) {
	cases := []struct {
		rule    string
		request any
		want    string
	}{
		{"read", fileRequest{"ticket_files", "notes/a.txt"}, `{"from":"ticket_files","path":"notes/a.txt"}`},
		{"list", folderRequest{"ticket_files", "notes"}, `{"from":"ticket_files","folder":"notes"}`},
		{"own-folder-is-left-out", folderRequest{"ticket_files", ""}, `{"from":"ticket_files"}`},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			if got, err := Marshal(c.request); err != nil || string(got) != c.want {
				t.Errorf("%s %v", got, err)
			}
		})
	}
}

func TestContent(t *testing.T) {
	cases := []struct {
		rule, body string
		want       []byte // nil: an error
		text       bool
	}{
		{"text", `{"bytes":6,"text":"caf\u00e9\n"}`, []byte("café\n"), true},
		{"empty-text", `{"bytes":0,"text":""}`, []byte{}, true},
		{"base64", `{"bytes":3,"base64":"/wD+"}`, []byte{0xff, 0, 0xfe}, false},
		{"neither", `{"bytes":3}`, nil, false},
		{"no-base64", `{"bytes":3,"base64":"?"}`, nil, false},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			var answer carried
			asked := 0
			err := exchange("files.read", host(statusOK, c.body, &asked), fileRequest{}, &answer)
			var got Content
			if err == nil {
				got, err = answer.content("files.read")
			}
			if c.want == nil {
				if err == nil || !strings.HasPrefix(err.Error(), "files.read: decode the response: ") {
					t.Error(err)
				}
				return
			}
			if err != nil || !bytes.Equal(got.Bytes(), c.want) {
				t.Errorf("%q %v", got.Bytes(), err)
			}
			want := string(c.want)
			if !c.text {
				want = ""
			}
			if text, ok := got.Text(); ok != c.text || text != want {
				t.Errorf("%q %v", text, ok)
			}
		})
	}
}

func TestFolder(t *testing.T) {
	var got Folder
	asked := 0
	body := `{"files":[{"name":"a.txt","bytes":12}],"folders":["sub"],"more":true}`
	if err := exchange("files.list", host(statusOK, body, &asked), folderRequest{}, &got); err != nil {
		t.Fatal(err)
	}
	want := Folder{Files: []FileInfo{{Name: "a.txt", Bytes: 12}}, Folders: []string{"sub"}, More: true}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestFilesOutsideToolhost(t *testing.T) {
	files := Call{}.Files("ticket_files")
	if _, err := files.Read("a.txt"); !errors.Is(err, errOutside) || !strings.HasPrefix(err.Error(), "files.read: ") {
		t.Error(err)
	}
	if _, err := files.List(""); !errors.Is(err, errOutside) || !strings.HasPrefix(err.Error(), "files.list: ") {
		t.Error(err)
	}
}
