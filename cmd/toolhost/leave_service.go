package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// A leaveService is the demo's leave system: a real HTTP service, with its data
// in memory, that decides by itself who may see and change what. All that it
// goes by is the header X-Utilisateur, which the host sets: an employee reaches
// their own leave, and a manager that of their people.
//
//	GET    /employes?nom=PART       who has this in their name
//	GET    /employes/{id}/solde     the balance, in days
//	POST   /demandes                a request for leave
//	DELETE /demandes/{id}           calls one off; a second time changes nothing
//
// 401 without the header, 403 without the right, 404 for what is not there.
type leaveService struct {
	*http.ServeMux
	mu       sync.Mutex
	demandes []demande
}

type leaveEmployee struct {
	ID      string `json:"employe_id"`
	Nom     string `json:"nom"`
	manager string
	cp, rtt json.Number
}

// A demande is a request for leave.
type demande struct {
	ID        string `json:"demande_id"`
	EmployeID string `json:"employe_id"`
	Debut     string `json:"date_debut"`
	Fin       string `json:"date_fin"`
	Type      string `json:"type_conge"`
	Statut    string `json:"statut"` // "active" or "annulee"
}

const userHeader = "X-Utilisateur"

func leaveEmployees() []leaveEmployee {
	return []leaveEmployee{
		{"E001", "Camille Perrin", "E003", "17.5", "4"},
		{"E002", "Yanis Haddad", "E003", "8", "0.5"},
		{"E003", "Solène Marchetti", "E005", "22", "6"},
		{"E004", "Camille Nguyen", "E005", "12.5", "3"},
		{"E005", "Aurélien Costa", "", "25", "9"},
	}
}

func newLeaveService() *leaveService {
	s := &leaveService{ServeMux: http.NewServeMux(), demandes: []demande{
		{"D0001", "E001", "2026-11-02", "2026-11-06", "cp", "active"},
		{"D0002", "E002", "2026-12-24", "2026-12-24", "rtt", "active"},
	}}
	s.HandleFunc("GET /employes", s.find)
	s.HandleFunc("GET /employes/{id}/solde", s.balance)
	s.HandleFunc("POST /demandes", s.create)
	s.HandleFunc("DELETE /demandes/{id}", s.callOff)
	return s
}

func employeeOf(id string) (leaveEmployee, bool) {
	all := leaveEmployees()
	i := slices.IndexFunc(all, func(e leaveEmployee) bool { return e.ID == id })
	if i < 0 {
		return leaveEmployee{}, false
	}
	return all[i], true
}

// admit tells whether who asks may, and answers itself where that may not be: about an
// employee, or with "" about no one in particular.
func admit(w http.ResponseWriter, r *http.Request, about string) bool {
	user, known := employeeOf(r.Header.Get(userHeader))
	e, there := employeeOf(about)
	switch {
	case r.Header.Get(userHeader) == "":
		answerLeave(w, http.StatusUnauthorized, leaveError("l'en-tête "+userHeader+" manque"))
	case about != "" && !there:
		answerLeave(w, http.StatusNotFound, leaveError("employé inconnu"))
	case !known, about != "" && user.ID != e.ID && user.ID != e.manager:
		answerLeave(w, http.StatusForbidden, leaveError("accès réservé à l'employé et à son manager"))
	default:
		return true
	}
	return false
}

func (s *leaveService) find(w http.ResponseWriter, r *http.Request) {
	part := strings.ToLower(r.URL.Query().Get("nom"))
	switch {
	case !admit(w, r, ""):
	case part == "":
		answerLeave(w, http.StatusBadRequest, leaveError("nom manque"))
	default:
		found := slices.DeleteFunc(leaveEmployees(), func(e leaveEmployee) bool { return !strings.Contains(strings.ToLower(e.Nom), part) })
		answerLeave(w, http.StatusOK, map[string]any{"employes": found})
	}
}

func (s *leaveService) balance(w http.ResponseWriter, r *http.Request) {
	if !admit(w, r, r.PathValue("id")) {
		return
	}
	e, _ := employeeOf(r.PathValue("id"))
	answerLeave(w, http.StatusOK, map[string]any{"employe_id": e.ID, "solde": map[string]json.Number{"cp": e.cp, "rtt": e.rtt}})
}

const maxLeaveBody = 4096 // bytes

func (s *leaveService) create(w http.ResponseWriter, r *http.Request) {
	var d demande
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxLeaveBody))
	body.DisallowUnknownFields()
	if err := body.Decode(&d); err != nil || !d.sound() {
		answerLeave(w, http.StatusBadRequest, leaveError("il faut employe_id, date_debut, date_fin et type_conge"))
		return
	}
	if !admit(w, r, d.EmployeID) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d.ID, d.Statut = fmt.Sprintf("D%04d", len(s.demandes)+1), "active"
	s.demandes = append(s.demandes, d)
	answerLeave(w, http.StatusCreated, d)
}

// sound tells whether a request that came in is one: the id and what became of
// it are the service's to say.
func (d demande) sound() bool {
	first, err1 := time.Parse(time.DateOnly, d.Debut)
	last, err2 := time.Parse(time.DateOnly, d.Fin)
	return err1 == nil && err2 == nil && !last.Before(first) && slices.Contains([]string{"cp", "rtt", "sans_solde"}, d.Type) &&
		d.EmployeID != "" && d.ID == "" && d.Statut == ""
}

func (s *leaveService) callOff(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.demandes, func(d demande) bool { return d.ID == r.PathValue("id") })
	switch {
	case i < 0 && !admit(w, r, ""):
	case i < 0:
		answerLeave(w, http.StatusNotFound, leaveError("demande inconnue"))
	case admit(w, r, s.demandes[i].EmployeID):
		s.demandes[i].Statut = "annulee"
		answerLeave(w, http.StatusOK, s.demandes[i])
	}
}

func leaveError(text string) map[string]string { return map[string]string{"erreur": text} }

func answerLeave(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // who asked may be gone
}
