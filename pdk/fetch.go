package pdk

// Fetch names a fetch capability by its name in the config, such as "carrier". It reaches the URLs that
// the capability allows and no others; the host sends, and a plugin has no socket.
func (Call) Fetch(name string) Fetch { return Fetch{name} }

// Fetch asks one fetch capability.
type Fetch struct{ name string }

// Get asks for a URL without headers of its own.
func (f Fetch) Get(url string) (Response, error) { return f.Send(Request{URL: url}) }

// Send sends one request. ErrDenied if the capability does not allow the URL, ErrNotAvailable if no
// answer came; why it did not come stands in the record alone. An answer of any status is no error.
func (f Fetch) Send(r Request) (Response, error) {
	var answer fetchAnswer
	if err := exchange("fetch.send", hostFetchSend, &fetchRequest{f.name, r}, &answer); err != nil {
		return Response{}, err
	}
	return answer.response()
}

type fetchRequest struct {
	From string `json:"from"`
	Request
}

// Request is what Send sends.
type Request struct {
	URL     string            `json:"url"`
	Method  string            `json:"method,omitempty"`  // "" is GET
	Headers map[string]string `json:"headers,omitempty"` // accept, accept-language, if-none-match and if-modified-since alone
}

// Response is an answer.
type Response struct {
	Status  int
	Headers map[string]string // by their names in lower case; content-type, content-language, etag, last-modified and retry-after alone
	Body    Content
}

type fetchAnswer struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	carried
}

func (a fetchAnswer) response() (Response, error) {
	body, err := a.content("fetch.send")
	if err != nil {
		return Response{}, err
	}
	return Response{Status: a.Status, Headers: a.Headers, Body: body}, nil
}
