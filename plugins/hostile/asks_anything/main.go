//go:build wasip1

// asks_anything sends whatever request text it is told to the functions of kind records, past the
// PDK, and returns what came back. Tests use it to try requests that no PDK would write.
package main

import (
	"unsafe"

	"github.com/toolhost/toolhost/pdk"
)

type args struct {
	Requests []struct {
		Function string `json:"function"`
		Request  string `json:"request"`
	} `json:"requests"`
}

type reply struct {
	Status   int    `json:"status"`
	Response string `json:"response"`
}

func init() { pdk.Tool(askAnything) }

func askAnything(_ pdk.Call, a args) (any, error) {
	replies := []reply{}
	for _, r := range a.Requests {
		ask := map[string]func(req unsafe.Pointer, reqLen uint32, resp unsafe.Pointer, respCap uint32) uint64{
			"get": get, "list": list, "search": search,
		}[r.Function]
		request, response := []byte(r.Request), make([]byte, 64<<10)
		packed := ask(unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request)), unsafe.Pointer(&response[0]), uint32(len(response)))
		n := min(uint32(packed), uint32(len(response)))
		replies = append(replies, reply{Status: int(packed >> 32), Response: string(response[:n])})
	}
	return map[string]any{"replies": replies}, nil
}

//go:wasmimport records get
//go:noescape
func get(req unsafe.Pointer, reqLen uint32, resp unsafe.Pointer, respCap uint32) uint64

//go:wasmimport records list
//go:noescape
func list(req unsafe.Pointer, reqLen uint32, resp unsafe.Pointer, respCap uint32) uint64

//go:wasmimport records search
//go:noescape
func search(req unsafe.Pointer, reqLen uint32, resp unsafe.Pointer, respCap uint32) uint64

func main() {}
