package host

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json"
)

// A tool's resolved policy is all that decides what a call of it may do: what
// the config says of the tool, and of everything that it refers to. Its digest
// stands in the record.

type resolvedTool struct {
	Approve      *resolvedApprove   `json:"approve,omitzero"`
	Callers      []string           `json:"callers"`
	Contract     string             `json:"contract"`
	Directory    *resolvedDirectory `json:"directory,omitzero"`
	Effect       string             `json:"effect"`
	Facts        []resolvedFact     `json:"facts"`
	Grants       []resolvedGrant    `json:"grants"`
	Limits       resolvedLimits     `json:"limits"`
	Module       string             `json:"module"`
	Name         string             `json:"name"`
	NotAvailable string             `json:"not_available"`
	Rules        []resolvedRule     `json:"rules"`
	Values       []resolvedValue    `json:"values"`
}

type resolvedFact struct {
	Count  bool             `json:"count"`
	From   string           `json:"from"`
	Key    string           `json:"key"`
	Name   string           `json:"name"`
	Of     *resolvedRecords `json:"of"`
	Sum    string           `json:"sum"`
	Where  []resolvedClause `json:"where"` // without else
	Within resolvedWindow   `json:"within"`
}

type resolvedWindow struct {
	Column string `json:"column"`
	Days   int    `json:"days"`
	Zone   string `json:"zone"`
}

type resolvedRule struct {
	Name    string `json:"name"`
	Reason  string `json:"reason"`
	Require string `json:"require"`
	Words   string `json:"words"`
}

// resolvedValue is a value as the tool's callers have it.
type resolvedValue struct {
	Name  string            `json:"name"`
	Roles map[string]string `json:"roles"`
	Type  string            `json:"type"`
}

type resolvedApprove struct {
	ExpiresMS int64  `json:"expires_ms"`
	Requester bool   `json:"requester"`
	Role      string `json:"role"`
}

type resolvedOutbox struct {
	Database string                    `json:"database"`
	Deliver  *resolvedDeliver          `json:"deliver,omitzero"`
	Key      string                    `json:"key"`
	Row      []resolvedClause          `json:"row"` // without else
	Table    string                    `json:"table"`
	Types    map[string]resolvedColumn `json:"types"`
}

type resolvedDeliver struct {
	Allow   *resolvedFetch   `json:"allow,omitzero"` // the fetch capability that it goes over
	Body    []resolvedClause `json:"body"`           // without else
	Fetch   string           `json:"fetch"`
	From    string           `json:"from"`
	Mail    string           `json:"mail"`
	Method  string           `json:"method"`
	Server  resolvedServer   `json:"server,omitzero"`
	Subject string           `json:"subject"`
	Text    string           `json:"text"`
	To      string           `json:"to"`
	Tries   int              `json:"tries"`
	URL     string           `json:"url"`
}

type resolvedServer struct {
	Address  string `json:"address"` // digest: it may hold values of the environment
	Security string `json:"security"`
	Shown    string `json:"shown"`
	User     string `json:"user"`
}

type resolvedDirectory struct {
	Database string   `json:"database"`
	Roles    []string `json:"roles"`
	Table    string   `json:"table"`
}

type resolvedGrant struct {
	Capability string           `json:"capability"`
	Fetch      *resolvedFetch   `json:"fetch,omitzero"`
	Files      *resolvedFiles   `json:"files,omitzero"`
	Kind       string           `json:"kind"`
	Only       string           `json:"only"`
	Outbox     *resolvedOutbox  `json:"outbox,omitzero"`
	Records    *resolvedRecords `json:"records,omitzero"`
}

type resolvedFiles struct {
	Everyone bool   `json:"everyone"`
	Folder   string `json:"folder"`
	Leads    string `json:"leads"`
	MaxBytes int64  `json:"max_bytes"`
	MaxFiles int    `json:"max_files"`
	Root     string `json:"root"`
}

type resolvedFetch struct {
	Allow    []resolvedAllow `json:"allow"`
	MaxBytes int64           `json:"max_bytes"`
	TimeMS   int64           `json:"time_ms"`
}

type resolvedAllow struct {
	Addresses   []string          `json:"addresses"`
	Connections int               `json:"connections"`
	Headers     map[string]string `json:"headers"` // as the config has them
	MayEcho     []string          `json:"may_echo"`
	Methods     []string          `json:"methods"`
	Roots       string            `json:"roots"` // digest of the file
	URL         string            `json:"url"`
}

type resolvedRecords struct {
	Columns  []string                  `json:"columns"`
	Database string                    `json:"database"`
	Everyone bool                      `json:"everyone"`
	Key      string                    `json:"key"`
	MaxBytes int64                     `json:"max_bytes"`
	MaxRows  int                       `json:"max_rows"`
	Scope    []resolvedClause          `json:"scope"`
	Table    string                    `json:"table"`
	Types    map[string]resolvedColumn `json:"types"`
}

type resolvedClause struct {
	Column string `json:"column"`
	Else   string `json:"else"`
	Is     string `json:"is"`
}

type resolvedColumn struct {
	Name   string `json:"name"`
	Places int    `json:"places"`
}

type resolvedLimits struct {
	ArgumentChars int   `json:"argument_chars"`
	Fuel          int64 `json:"fuel"`
	HostCalls     int   `json:"host_calls"`
	Log           int64 `json:"log"`
	Memory        int64 `json:"memory"`
	ResultChars   int   `json:"result_chars"`
	TimeMS        int64 `json:"time_ms"`
}

// resolve gives the digests of a loaded tool.
func (h *Host) resolve(t *tool) Policy {
	r := resolvedTool{
		Name: t.Name, Effect: t.Effect, Callers: t.Callers, NotAvailable: t.NotAvailable.String(),
		Contract: t.contract.Digest, Module: t.manifest.Digest,
		Limits: resolvedLimits{
			ArgumentChars: t.Limits.ArgumentChars, Fuel: t.Limits.Fuel, HostCalls: t.Limits.HostCalls, Log: t.Limits.Log,
			Memory: t.Limits.Memory, ResultChars: t.Limits.ResultChars, TimeMS: t.Limits.Time.Milliseconds(),
		},
	}
	if a := t.Approve; a != nil {
		r.Approve = &resolvedApprove{ExpiresMS: a.Expires.Milliseconds(), Requester: a.Requester, Role: a.Role}
	}
	if d := h.config.Directory; d != nil {
		r.Directory = &resolvedDirectory{Database: h.databaseShown(d.Database), Roles: d.Roles, Table: d.Table}
	}
	for _, g := range t.grants {
		r.Grants = append(r.Grants, h.resolveGrant(g))
	}
	h.resolveRules(t, &r)
	sum := sha256.Sum256(canonical(r))
	return Policy{Contract: r.Contract, Module: r.Module, Resolved: "sha256:" + hex.EncodeToString(sum[:])}
}

// resolveRules adds the rules, what they look up and the values of the roles
// that may call the tool.
func (h *Host) resolveRules(t *tool, r *resolvedTool) {
	for _, f := range t.rules.facts {
		var of resolvedGrant
		f.of.resolve(h, &of)
		fact := resolvedFact{Count: f.Count, From: f.From, Key: f.Key.String(), Name: f.Name, Of: of.Records, Sum: f.Sum, Within: resolvedWindow{Column: f.Within.Column, Days: f.Within.Days}}
		if f.Within.Column != "" {
			fact.Within.Zone = f.Within.Zone.String()
		}
		for _, c := range f.Where {
			fact.Where = append(fact.Where, resolvedClause{Column: c.Column, Is: c.Is.String()})
		}
		r.Facts = append(r.Facts, fact)
	}
	for _, rule := range t.Rules {
		r.Rules = append(r.Rules, resolvedRule{Name: rule.Name, Reason: rule.Reason.String(), Require: rule.Require, Words: rule.Words.String()})
	}
	for _, v := range h.config.Values {
		value := resolvedValue{Name: v.Name, Type: v.Type, Roles: map[string]string{}}
		for _, role := range t.Callers {
			if set, ok := v.Roles[role]; ok {
				value.Roles[role] = set.Shown
			}
		}
		if t.rules.reads("values", v.Name) {
			r.Values = append(r.Values, value)
		}
	}
}

func (h *Host) resolveGrant(g *grant) resolvedGrant {
	r := resolvedGrant{Capability: g.Capability, Kind: g.kind.Name, Only: g.only}
	g.of.resolve(h, &r)
	return r
}

// resolved is a grant's part of the resolved policy.
func (h *Host) resolved(g *grant) []byte { return canonical(h.resolveGrant(g)) }

func canonical(v any) []byte {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic("a resolved policy is plain data: " + err.Error())
	}
	return text
}

// databaseShown is a database as the config has it, with a digest in the place
// of values of the environment.
func (h *Host) databaseShown(name string) string {
	for _, d := range h.config.Databases {
		if d.Name == name {
			return name + " " + d.Shown + " " + d.Hash
		}
	}
	return name
}
