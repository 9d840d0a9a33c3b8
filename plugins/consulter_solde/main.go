// consulter_solde reads the leave balance of one employee.
package main

import (
	"github.com/toolhost/toolhost/pdk"
	"github.com/toolhost/toolhost/plugins/internal/rh"
)

type args struct {
	EmployeID string `json:"employe_id"`
}

// A solde is in days. Half days are exact, as the digits stay as they came.
type solde struct {
	CP  *pdk.Number `json:"cp"` // null, which the contract refuses, if the service gave none
	RTT *pdk.Number `json:"rtt"`
}

type result struct {
	Status string `json:"status"`
	Solde  *solde `json:"solde,omitempty"`
}

func init() { pdk.Tool(consulterSolde) }

func consulterSolde(c pdk.Call, a args) (result, error) {
	var found struct {
		Solde solde `json:"solde"`
	}
	status, err := rh.Get(c, "/employes/"+a.EmployeID+"/solde", &found)
	if err != nil {
		return result{}, err
	}
	if status != rh.OK {
		return result{Status: status}, nil
	}
	return result{Status: status, Solde: &found.Solde}, nil
}

func main() {}
