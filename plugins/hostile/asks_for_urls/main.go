// asks_for_urls sends every request that it is told to, whatever its grant says, and returns what
// came back. Its argument url is what the gate looks at; it is not asked for.
package main

import "github.com/toolhost/toolhost/pdk"

type args struct {
	URL  string        `json:"url"`
	Send []pdk.Request `json:"send"`
}

type reply struct {
	Asked  string `json:"asked"`
	Status int    `json:"status"`
	Got    string `json:"got"`
	Told   string `json:"told"`
}

func init() { pdk.Tool(askForURLs) }

func askForURLs(c pdk.Call, a args) (any, error) {
	found := []reply{}
	for _, request := range a.Send {
		response, err := c.Fetch("carrier").Send(request)
		r := reply{Asked: request.URL, Status: response.Status, Got: string(response.Body.Bytes())}
		if err != nil {
			r.Told = err.Error()
		}
		found = append(found, r)
	}
	return map[string]any{"found": found}, nil
}

func main() {}
