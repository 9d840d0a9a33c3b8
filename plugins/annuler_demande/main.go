// annuler_demande calls a request for leave off, once who asked has confirmed it.
package main

import "github.com/toolhost/toolhost/pdk"

type result struct {
	Status string `json:"status"`
}

func init() { pdk.Tool(annulerDemande) }

// annulerDemande asks for the row that was approved; the host makes it.
func annulerDemande(c pdk.Call, _ struct{}) (result, error) {
	if err := c.Outbox("annulations").Append(); err != nil {
		return result{}, err
	}
	return result{"recorded"}, nil
}

func main() {}
