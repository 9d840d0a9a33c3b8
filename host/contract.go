package host

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/contract"
	"github.com/toolhost/toolhost/host/strictjson"
)

// Gate 1, contract: the tool exists, and the argument text is what its
// contract asks for. Nothing is coerced, filled in or repaired; x-tidy is the
// only tidying. What passes is the one value that everything later sees (I8).

// checked is a proposal whose tool is known and whose arguments fit.
type checked struct {
	entered
	tool *tool
	args strictjson.Value
}

func (h *Host) checkContract(e entered) (checked, error) {
	t, ok := h.tools[e.proposal.Tool] // byte for byte
	if !ok {
		return checked{}, &Refusal{Gate: GateContract, Code: codeUnknownTool, Reason: "no tool has this name"}
	}
	args, err := t.readArguments(e.proposal.Arguments)
	if err != nil {
		return checked{}, t.misfit(err)
	}
	c := checked{entered: e, tool: t, args: args}
	e.trail.ok(GateContract, argumentNames(args), c.explainArguments()...)
	return c, nil
}

func argumentNames(args strictjson.Value) string {
	if args.Len() == 0 {
		return "fits the closed contract: no arguments"
	}
	names := []string{"fits the closed contract:"}
	for name := range args.Members() {
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// readArguments is the only place where argument text is read.
func (t *tool) readArguments(raw []byte) (strictjson.Value, error) {
	most := t.Limits.ArgumentChars
	if len(raw) > most*utf8.UTFMax || utf8.RuneCount(raw) > most {
		return strictjson.Value{}, &contract.Misfit{
			Reason: fmt.Sprintf("the argument text is longer than %d characters", most),
			Words:  fmt.Sprintf("The arguments of %s are longer than %d characters.", t.Name, most),
		}
	}
	v, err := strictjson.Read(raw, strictjson.Default(len(raw)))
	if err != nil {
		return strictjson.Value{}, &contract.Misfit{
			Reason: "the argument text: " + err.Error(),
			Words:  t.contract.NotAnObject(),
		}
	}
	return t.contract.Arguments(v)
}

func (t *tool) misfit(err error) error {
	r := &Refusal{Gate: GateContract, Code: codeInvalidArgument, Reason: err.Error(), Place: config.Place{File: t.contractFile}}
	var m *contract.Misfit
	if errors.As(err, &m) {
		r.Field, r.words = m.Field, m.Words
		if m.Foreign && t.contract.Secretive() { // a secret may stand where a name should
			r.Field, r.Reason, r.withheld = "", "an argument is not in the contract; its name is withheld: it could hold a secret", true
		}
	}
	return r
}
