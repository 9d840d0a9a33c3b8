package pdk

import (
	"strconv"
	"sync"
)

// Errors that a tool may want to tell apart, with errors.Is.
var (
	// ErrNotAvailable says that there is no such row, file or folder within the reach of this call, or
	// that no answer came. Whether it exists elsewhere, and why nothing came, is not told.
	ErrNotAvailable = failed("not available")
	// ErrDenied says that this tool holds no grant for what it asked, or that a URL is not allowed.
	ErrDenied = failed("denied")
)

// errOutside is what every question gets where there is no host.
var errOutside = failed("only inside toolhost")

// The statuses of docs/abi.md, and one of our own for code that runs without a host.
const (
	statusOK           = 0
	statusShort        = 1
	statusNotAvailable = 2
	statusDenied       = 3
	statusInvalid      = 4
	statusOutside      = 0xffffffff
)

// A response is written behind the ones before it, and by nobody again, so that texts and rows are
// parts of it and nothing is copied. A guest runs on one thread, and nothing yields between the choice
// of the room and the host's return.
const (
	leastRoom = 4 << 10  // bytes that are free for any response
	someRoom  = 16 << 10 // bytes that are allocated at once
)

var (
	responses = make([]byte, 0, someRoom)
	longest   = leastRoom // bytes of a response so far
)

// room is where the next response is written.
func room() []byte {
	if cap(responses)-len(responses) < longest {
		responses = make([]byte, 0, max(someRoom, longest))
	}
	return responses[len(responses):cap(responses)]
}

// ask puts a request to one function of the host and gives its response. A response that is longer
// than the room is kept by the host for the very next call, which asks the same again.
func ask(name string, host func(request, response []byte) uint64, request []byte) ([]byte, error) {
	response := room()
	answer := host(request, response)
	if answer>>32 == statusShort {
		longest = max(longest, int(uint32(answer)))
		response = room()
		answer = host(request, response)
	}
	status, length := answer>>32, uint32(answer)
	if status == statusOutside {
		return nil, because(name, errOutside)
	}
	if int(length) > len(response) {
		return nil, failed(name + ": a response of " + strconv.Itoa(int(length)) + " bytes did not arrive")
	}
	body := response[:length:length]
	responses = responses[:len(responses)+int(length)]
	switch status {
	case statusOK:
		return body, nil
	case statusNotAvailable:
		return nil, because(name, ErrNotAvailable)
	case statusDenied:
		return nil, because(name, &denial{reason(body)})
	case statusInvalid:
		return nil, failed(name + ": invalid request: " + reason(body))
	default:
		return nil, failed(name + ": unknown status " + strconv.FormatUint(status, 10))
	}
}

// reason reads {"error":"..."}.
func reason(body []byte) string {
	var r errorAnswer
	if unmarshal(body, &r) != nil || r.Error == "" {
		return "no reason given"
	}
	return r.Error
}

type errorAnswer struct {
	Error string `json:"error"`
}

// denial is ErrDenied with the host's reason behind it.
type denial struct{ reason string }

func (d *denial) Error() string { return ErrDenied.Error() + ": " + d.reason }

func (d *denial) Unwrap() error { return ErrDenied }

// spare is a buffer for the next request. Who writes one takes it and gives it back, so that a method
// of an author's type may ask the host while it is written.
var (
	spareLock sync.Mutex
	spare     []byte
)

func takeSpare() []byte {
	spareLock.Lock()
	b := spare[:0]
	spare = nil
	spareLock.Unlock()
	return b
}

func giveSpare(b []byte) {
	spareLock.Lock()
	spare = b
	spareLock.Unlock()
}

// tell puts a request to the host as JSON and gives its response.
func tell(name string, host func(request, response []byte) uint64, request any) ([]byte, error) {
	w := writer{b: takeSpare()}
	err := w.any(request)
	var body []byte
	if err != nil {
		err = because(name+": encode the request", err)
	} else {
		body, err = ask(name, host, w.b)
	}
	giveSpare(w.b)
	return body, err
}

// exchange asks with JSON and decodes the JSON of the answer, if there is a place for it.
func exchange(name string, host func(request, response []byte) uint64, request, answer any) error {
	body, err := tell(name, host, request)
	if err != nil || answer == nil {
		return err
	}
	if err := unmarshal(body, answer); err != nil {
		return because(name+": decode the response", err)
	}
	return nil
}
