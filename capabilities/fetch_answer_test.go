package capabilities

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	okHead      = "HTTP/1.1 200 OK\r\n"
	chunkedHead = okHead + "Transfer-Encoding: chunked\r\n\r\n"
)

// brokenAnswers break the protocol, or hold what was not asked for; {A} is the
// Authorization that the server got.
var brokenAnswers = map[string]string{
	"no-http":                      "{A}\r\n\r\n",
	"no-line":                      "{A}",
	"status-line":                  "HTTP/1.1 {A}\r\n\r\n",
	"status-no-number":             "HTTP/1.1 2x0 {A}\r\n\r\n",
	"status-too-long":              "HTTP/1.1 2000 {A}\r\n\r\n",
	"version":                      "HTTP/{A} 200 OK\r\n\r\n",
	"version-2":                    "HTTP/2.0 200 {A}\r\nContent-Length: x{A}\r\n\r\n",
	"header-without-colon":         okHead + "{A}\r\n\r\n",
	"header-name-with-space":       okHead + "{A} : x\r\n\r\n",
	"header-name-of-bytes":         okHead + "\x01{A}: x\r\n\r\n",
	"header-value-with-nul":        okHead + "X: {A}\x00\r\n\r\n",
	"header-folded-first":          okHead + " {A}\r\nX: y\r\n\r\n",
	"header-half":                  okHead + "X: {A}",
	"header-after-header":          okHead + "X: {A}\r\n",
	"length-no-number":             okHead + "Content-Length: {A}\r\n\r\n",
	"length-negative":              okHead + "Content-Length: -1\r\n\r\n{A}",
	"length-twice":                 okHead + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n{A}",
	"length-too-large":             okHead + "Content-Length: 99999999999999999999\r\n\r\n{A}",
	"length-longer-than-the-body":  okHead + "Content-Length: 1000\r\n\r\n{A}",
	"transfer-encoding-unknown":    okHead + "Transfer-Encoding: {A}\r\n\r\n",
	"transfer-encoding-gzip":       okHead + "Transfer-Encoding: gzip, chunked\r\n\r\n{A}",
	"transfer-encoding-twice":      okHead + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n{A}",
	"chunk-size":                   chunkedHead + "{A}\r\nx\r\n0\r\n\r\n",
	"chunk-size-after-a-body":      chunkedHead + "5\r\nhello\r\n{A}\r\n",
	"chunk-size-negative":          chunkedHead + "-1\r\n{A}\r\n",
	"chunk-size-too-large":         chunkedHead + "fffffffffffffffff\r\n{A}\r\n",
	"chunk-longer-than-its-size":   chunkedHead + "5\r\nhello {A}\r\n0\r\n\r\n",
	"chunk-that-ends":              chunkedHead + "ff\r\n{A}",
	"chunk-with-no-last":           chunkedHead + "5\r\nhello\r\n",
	"chunk-extension-long":         chunkedHead + "5;" + strings.Repeat("{A}", 1000) + "\r\nhello\r\n0\r\n\r\n",
	"trailer-without-colon":        chunkedHead + "0\r\n{A}\r\n\r\n",
	"trailer-long":                 chunkedHead + "0\r\n" + strings.Repeat("X: {A}\r\n", 1000) + "\r\n",
	"switching-protocols":          "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n{A}",
	"switching-with-no-upgrade":    "HTTP/1.1 101 {A}\r\n\r\n",
	"informational-alone":          "HTTP/1.1 103 {A}\r\nLink: {A}\r\n\r\n",
	"informational-many":           strings.Repeat("HTTP/1.1 103 x\r\nX: "+strings.Repeat("a", 1000)+"\r\n\r\n", 100),
	"header-long":                  okHead + "X: " + strings.Repeat("{A}", 2000) + "\r\n\r\n",
	"headers-many":                 okHead + strings.Repeat("X: {A}\r\n", 2000) + "\r\n",
	"status-line-long":             "HTTP/1.1 200 " + strings.Repeat("{A}", 2000) + "\r\n\r\n",
	"nothing":                      "",
	"gzip-that-is-none":            okHead + "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n{A}",
	"gzip-that-ends":               okHead + "Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + zipped(strings.Repeat("{A}", 9))[:20],
	"encoding-br":                  okHead + "Content-Encoding: br\r\nContent-Length: 1\r\n\r\nx",
	"encoding-deflate":             okHead + "Content-Encoding: deflate\r\nContent-Length: 1\r\n\r\nx",
	"encoding-zstd":                okHead + "Content-Encoding: zstd\r\nContent-Length: 1\r\n\r\nx",
	"encoding-x-gzip":              okHead + "Content-Encoding: x-gzip\r\nContent-Length: 1\r\n\r\nx",
	"encoding-gzip-twice":          okHead + "Content-Encoding: gzip, gzip\r\nConnection: close\r\n\r\n" + zipped(zipped("x")),
	"encoding-gzip-twice-in-lines": okHead + "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + zipped(zipped("{A}")),
	"encoding-br-after-identity":   okHead + "Content-Encoding: identity\r\nContent-Encoding: br\r\nConnection: close\r\n\r\nx",
	"encoding-empty-then-gzip":     okHead + "Content-Encoding:\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + zipped("{A}"),
	"encoding-of-a-secret":         okHead + "Content-Encoding: {A}\r\nContent-Length: 1\r\n\r\nx",
}

// TestFetchBrokenAnswers: a server that breaks the protocol, right after it
// repeated the secret, gives no answer and no error that tells of it.
func TestFetchBrokenAnswers(t *testing.T) {
	for name, answer := range brokenAnswers {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			base := s.raw(t, "track.example", func(c net.Conn, authorization string) bool {
				_, _ = io.WriteString(c, strings.ReplaceAll(answer, "{A}", authorization))
				return false
			})
			want(t, s.get(t, s.reach(t, entry(t, base)), base), NotAvailable, "bad_answer")
		})
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

// TestFetchAnswers: what is unusual and sound arrives.
func TestFetchAnswers(t *testing.T) {
	many := strings.Repeat("a", 4096)
	for name, tt := range map[string]struct {
		answer string
		status int
		text   string
	}{
		"http-1.0":            {"HTTP/1.0 200 OK\r\n\r\nto the end", 200, "to the end"},
		"no-reason-phrase":    {"HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n", 404, ""},
		"chunks":              {okHead + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX: y\r\n\r\n", 200, "abcde"},
		"early-hints":         {"HTTP/1.1 103 x\r\nLink: <x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + okHead + "Content-Length: 1\r\n\r\nx", 200, "x"},
		"longer-than-length":  {okHead + "Content-Length: 3\r\n\r\nabcdef", 200, "abc"},
		"no-content":          {"HTTP/1.1 204 No Content\r\n\r\n", 204, ""},
		"not-modified":        {"HTTP/1.1 304 Not Modified\r\n\r\n", 304, ""},
		"status-999":          {"HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n", 999, ""},
		"error-with-a-body":   {"HTTP/1.1 500 x\r\nContent-Length: 1\r\n\r\nx", 500, "x"},
		"identity":            {okHead + "Content-Encoding: Identity\r\nContent-Length: 1\r\n\r\nx", 200, "x"},
		"gzip":                {okHead + "Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + zipped("hello"), 200, "hello"},
		"gzip-of-no-body":     {okHead + "Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", 200, ""},
		"gzip-not-modified":   {"HTTP/1.1 304 Not Modified\r\nContent-Encoding: gzip\r\n\r\n", 304, ""},
		"max-bytes":           {okHead + "Connection: close\r\n\r\n" + many, 200, many},
		"max-bytes-in-gzip":   {okHead + "Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + zipped(many), 200, many},
		"text-with-quotes":    {okHead + "Connection: close\r\n\r\n{\"a\":\"\\u0000\"}\x00", 200, "{\"a\":\"\\u0000\"}\x00"},
		"utf8":                {okHead + "Connection: close\r\n\r\n读书会", 200, "读书会"},
		"length-twice-alike":  {okHead + "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx", 200, "x"},
		"chunks-over-length":  {okHead + "Content-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 200, "x"},
		"headers-within-32-k": {okHead + strings.Repeat("X: "+strings.Repeat("a", 995)+"\r\n", 30) + "Content-Length: 1\r\n\r\nx", 200, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			base := s.raw(t, "track.example", func(c net.Conn, _ string) bool {
				_, _ = io.WriteString(c, tt.answer)
				return false
			})
			wantText(t, s.get(t, s.reach(t, entry(t, base)), base), tt.status, tt.text)
		})
	}
	s := newSite(t)
	base := s.serve(t, "http", "track.example", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("\xff\x00\xfe")) })
	if a := s.get(t, s.reach(t, entry(t, base)), base); !strings.HasSuffix(string(a.Body), `,"base64":"`+base64.StdEncoding.EncodeToString([]byte("\xff\x00\xfe"))+`"}`) {
		t.Errorf("what is not UTF-8 gives %s", a.Body)
	}
}

func pour(c net.Conn, piece string) {
	for {
		if _, err := io.WriteString(c, piece); err != nil {
			return
		}
	}
}

// TestFetchLongAnswers: the decoded bytes are bounded, and with them the memory.
func TestFetchLongAnswers(t *testing.T) {
	s := newSite(t)
	bomb := strings.Repeat(zipped(strings.Repeat("\x00", 1<<20)), 200)
	line := strings.Repeat("x", 1000)
	for name, tt := range map[string]struct {
		word   string
		answer func(c net.Conn)
	}{
		"gzip-bomb": {"too_long", func(c net.Conn) {
			_, _ = io.WriteString(c, okHead+"Content-Encoding: gzip\r\n\r\n")
			_, _ = io.WriteString(c, bomb)
		}},
		"one-byte-over": {"too_long", func(c net.Conn) { _, _ = io.WriteString(c, okHead+"\r\n"+strings.Repeat("x", 4097)) }},
		"endless-body":  {"too_long", func(c net.Conn) { _, _ = io.WriteString(c, okHead+"\r\n"); pour(c, line) }},
		"endless-chunks": {"too_long", func(c net.Conn) {
			_, _ = io.WriteString(c, chunkedHead)
			pour(c, "3e8\r\n"+line+"\r\n")
		}},
		"terabyte": {"too_long", func(c net.Conn) {
			_, _ = io.WriteString(c, okHead+"Content-Length: 1099511627776\r\n\r\n")
			pour(c, line)
		}},
		"endless-headers": {"bad_answer", func(c net.Conn) { _, _ = io.WriteString(c, okHead); pour(c, "X: "+line+"\r\n") }},
		"endless-header":  {"bad_answer", func(c net.Conn) { _, _ = io.WriteString(c, okHead+"X: "); pour(c, line) }},
		"endless-status":  {"bad_answer", func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 "); pour(c, line) }},
		"endless-1xx":     {"bad_answer", func(c net.Conn) { pour(c, "HTTP/1.1 103 x\r\nX: "+line+"\r\n\r\n") }},
		"endless-1xx-bare": {"bad_answer", func(c net.Conn) {
			pour(c, strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100))
		}},
		"endless-trailers": {"bad_answer", func(c net.Conn) {
			_, _ = io.WriteString(c, chunkedHead+"0\r\n")
			pour(c, "X: "+line+"\r\n")
		}},
		"endless-extension": {"bad_answer", func(c net.Conn) {
			_, _ = io.WriteString(c, chunkedHead+"5;")
			pour(c, line)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			base := s.raw(t, "track.example", func(c net.Conn, _ string) bool { tt.answer(c); return false })
			r := s.reach(t, entry(t, base))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			want(t, s.get(t, r, base), NotAvailable, tt.word)
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 { // what the server writes is in it
				t.Errorf("it took %d bytes", used)
			}
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// TestFetchSlowAnswers: the time of a request bounds all of it.
func TestFetchSlowAnswers(t *testing.T) {
	s := newSite(t)
	s.time = 150 * time.Millisecond
	slowly := func(c net.Conn, text string) {
		for {
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	for name, answer := range map[string]func(c net.Conn, authorization string){
		"no-answer":    func(c net.Conn, _ string) { _, _ = io.Copy(io.Discard, c) },
		"slow-status":  func(c net.Conn, _ string) { slowly(c, "H") },
		"slow-headers": func(c net.Conn, a string) { _, _ = io.WriteString(c, okHead); slowly(c, "X: "+a+"\r\n") },
		"slow-1xx":     func(c net.Conn, _ string) { slowly(c, "HTTP/1.1 100 Continue\r\n\r\n") },
		"slow-body": func(c net.Conn, a string) {
			_, _ = io.WriteString(c, okHead+"Content-Length: 9999\r\n\r\n"+a)
			slowly(c, "x")
		},
		"slow-chunks": func(c net.Conn, _ string) {
			_, _ = io.WriteString(c, chunkedHead)
			slowly(c, "1\r\nx\r\n")
		},
		"slow-trailers": func(c net.Conn, _ string) {
			_, _ = io.WriteString(c, chunkedHead+"0\r\n")
			slowly(c, "X: y\r\n")
		},
		"body-stops": func(c net.Conn, _ string) {
			_, _ = io.WriteString(c, okHead+"Content-Length: 9\r\n\r\nx")
			_, _ = io.Copy(io.Discard, c)
		},
		"gzip-stops": func(c net.Conn, _ string) {
			_, _ = io.WriteString(c, okHead+"Content-Encoding: gzip\r\n\r\n"+zipped("hello")[:15])
			_, _ = io.Copy(io.Discard, c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			base := s.raw(t, "track.example", func(c net.Conn, a string) bool { answer(c, a); return false })
			start := time.Now()
			want(t, s.get(t, s.reach(t, entry(t, base)), base), NotAvailable, "timeout")
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// TestFetchClosedKeptConnection: a server that closes a connection which was
// kept costs nothing; the next call dials anew.
func TestFetchClosedKeptConnection(t *testing.T) {
	s := newSite(t)
	var calls atomic.Int64
	base := s.raw(t, "track.example", func(c net.Conn, _ string) bool {
		_, _ = io.WriteString(c, okHead+"Content-Length: 2\r\n\r\nok")
		return calls.Add(1)%2 == 0
	})
	r := s.reach(t, entry(t, base))
	for range 6 {
		wantText(t, s.get(t, r, base), 200, "ok")
	}
}
