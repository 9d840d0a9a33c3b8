// creer_demande_conges asks for leave, once a person has agreed.
package main

import "github.com/toolhost/toolhost/pdk"

type result struct {
	Status string `json:"status"`
}

func init() { pdk.Tool(creerDemande) }

// creerDemande asks for the row that was approved; the host makes it.
func creerDemande(c pdk.Call, _ struct{}) (result, error) {
	if err := c.Outbox("demandes").Append(); err != nil {
		return result{}, err
	}
	return result{"recorded"}, nil
}

func main() {}
