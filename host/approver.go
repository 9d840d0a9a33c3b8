package host

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/regularfile"
)

// Who approves: somebody who has proved who they are by a token, of which the config
// has a hash.

// An Approver is a person who has proved who they are.
type Approver struct{ subject, hash string }

// Subject is who they are, as the directory has them.
func (a Approver) Subject() string { return a.subject }

// MinToken is how many characters a token has at least.
const MinToken = 20

const maxTokenFile = 1 << 10

// ErrNobody says that a token is nobody's.
var ErrNobody = errors.New("the token is none of [approvers]")

// Approver tells whose token it is. Every hash is compared, and none of them
// shows by the time that it takes.
func (h *Host) Approver(token string) (Approver, error) {
	if len(token) < MinToken {
		return Approver{}, fmt.Errorf("a token has at least %d characters", MinToken)
	}
	sum := sha256.Sum256([]byte(token))
	given, found, people := []byte(hex.EncodeToString(sum[:])), "", 0
	for _, a := range h.config.Approvers {
		if subtle.ConstantTimeCompare(given, []byte(hashOf(a))) == 1 {
			found, people = a.Subject, people+1
		}
	}
	if people != 1 || found == "" { // of two people, whose files hold the same, it is nobody's
		return Approver{}, ErrNobody
	}
	return Approver{found, string(given)}, nil
}

// holdsToken tells whether the token by which somebody proved who they are is
// still theirs.
func (h *Host) holdsToken(who Approver) bool {
	return slices.ContainsFunc(h.config.Approvers, func(a config.Approver) bool {
		return a.Subject == who.subject && who.hash != "" && subtle.ConstantTimeCompare([]byte(who.hash), []byte(hashOf(a))) == 1
	})
}

// hashOf is the hash of somebody's token; "": they have none now.
func hashOf(a config.Approver) string {
	if a.File == "" {
		return a.Hash
	}
	text, err := regularfile.Read(a.File, maxTokenFile)
	if err != nil {
		return ""
	}
	hash, ok := config.ParseHash(strings.TrimSpace(string(text)))
	if !ok {
		return ""
	}
	return hash
}

// Agree names those of [approvers] who could agree to a write of a tool now, in
// some tenant: they have a token, and the role by the directory.
func (h *Host) Agree(ctx context.Context, tool string) (names []string, err error) {
	t, ok := h.tools[tool]
	if !ok || t.Approve == nil || h.directory == nil {
		return nil, nil
	}
	for _, a := range h.config.Approvers {
		if hashOf(a) == "" {
			continue
		}
		switch holds, err := h.directory.holdsSomewhere(ctx, a.Subject, t.Approve.Role); {
		case err != nil:
			return nil, err
		case holds:
			names = append(names, a.Subject)
		}
	}
	return names, nil
}
