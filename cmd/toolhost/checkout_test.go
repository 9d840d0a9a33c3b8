package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkoutFiles and checkoutFolders are what the demo needs of a checkout.
func checkoutFiles() []string {
	return append([]string{"config.toml", "go.mod", "go.sum", "replies/ticket.json"}, demoCases()...)
}

func checkoutFolders() []string {
	folders := []string{"pdk", "plugins/internal", "testdata/conversations"}
	for _, name := range []string{
		"get_order", "read_file", "fetch_url", "search_docs", "search_notices", "read_notice", "chercher_employe", "consulter_solde",
		"issue_refund", "create_return_label", "send_email", "creer_demande_conges", "annuler_demande",
	} {
		folders = append(folders, "plugins/"+name)
	}
	return folders
}

// leaveSources are the files that say where the demo's leave service is.
func leaveSources() []string { return []string{"config.toml", "plugins/internal/rh/rh.go"} }

const (
	leaveStandard = "127.0.0.1:8431"
	mailStandard  = "127.0.0.1:8432"
)

// copyCheckout copies the sources that the demo works on; no built file comes
// along. The leave service and the mail server are on free ports there, as another
// demo may run on this machine.
func copyCheckout(root, dir string) error {
	for _, name := range checkoutFiles() {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	for _, name := range checkoutFolders() {
		to := filepath.Join(dir, name)
		if err := os.CopyFS(to, os.DirFS(filepath.Join(root, name))); err != nil {
			return err
		}
		if err := os.RemoveAll(filepath.Join(to, "plugin.wasm")); err != nil {
			return err
		}
	}
	address, err := findFreeAddress()
	if err != nil {
		return err
	}
	if err := moveTo(dir, leaveStandard, address); err != nil {
		return err
	}
	if address, err = findFreeAddress(); err != nil {
		return err
	}
	return moveTo(dir, mailStandard, address)
}

// moveTo lets the copied sources look for a service of the demo elsewhere.
func moveTo(dir, from, address string) error {
	for _, name := range leaveSources() {
		path := filepath.Join(dir, name)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), from, address)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func findFreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := findFreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// Both say where the service is, and the config no other port of it; a plugin that
// looked elsewhere would be denied.
func TestLeaveServiceIsWhereThePluginsLook(t *testing.T) {
	for _, name := range leaveSources() {
		data, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil || !strings.Contains(string(data), leaveStandard) || strings.Count(string(data), "127.0.0.1:8431") != strings.Count(string(data), "127.0.0.1:84")-strings.Count(string(data), mailStandard) {
			t.Errorf("%s does not name %s alone: %v", name, leaveStandard, err)
		}
	}
}
