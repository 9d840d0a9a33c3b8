package audit

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/mod/sumdb/note"

	"github.com/toolhost/toolhost/host/regularfile"
)

// The key file, of mode 0600, has two lines: the key that signs checkpoints, in
// the form of golang.org/x/mod/sumdb/note (Ed25519), and "sealing:" with 32
// bytes in base64, from which the keys for people.db are derived. Beside it,
// with ".pub" added to its name, lies the public key for who verifies.

const (
	sealingPrefix = "sealing:"
	originPrefix  = "toolhost-audit/"
	maxKeyFile    = 4 << 10
)

// A key is the secret part of a log.
type key struct {
	signer note.Signer
	verify note.Verifier
	public string      // for who verifies
	tags   []byte      // keys the HMAC by which people.db finds somebody
	rows   []byte      // and the one that people.db's rows carry
	stamps []byte      // and the one that every line carries
	wrap   cipher.AEAD // wraps the keys of people

	stampers sync.Pool // of HMACs under stamps
}

// origin names the log in its checkpoints.
func (k *key) origin() string { return k.signer.Name() }

// readKey reads a key file. An error tells os.ErrNotExist where there is none.
func readKey(path string) (*key, error) {
	data, err := regularfile.Read(path, maxKeyFile)
	if err != nil {
		return nil, fmt.Errorf("audit key %s: %w", path, err)
	}
	if err := closedToOthers(path); err != nil {
		return nil, fmt.Errorf("audit key %s: %w", path, err)
	}
	k, err := parseKey(data)
	if err != nil {
		return nil, fmt.Errorf("audit key %s: %w", path, err)
	}
	return k, nil
}

func closedToOthers(path string) error {
	info, err := os.Stat(path)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("others may read it (mode %04o); chmod 600 it", info.Mode().Perm())
	}
	return err
}

// parseKey reads the bytes of a key file. No error holds a part of them.
func parseKey(data []byte) (*key, error) {
	signing, sealing, ok := strings.Cut(strings.TrimSuffix(string(data), "\n"), "\n"+sealingPrefix)
	if !ok {
		return nil, errors.New("must be two lines, the signing key and the sealing key")
	}
	signer, err := note.NewSigner(signing)
	if err != nil || !strings.HasPrefix(signer.Name(), originPrefix) {
		return nil, errors.New("its first line is no signing key of toolhost")
	}
	public, err := publicKey(signing)
	if err != nil {
		return nil, err
	}
	verifier, err := note.NewVerifier(public)
	if err != nil {
		return nil, errors.New("its public part cannot be made")
	}
	secret, err := base64.StdEncoding.Strict().DecodeString(sealing)
	if err != nil || len(secret) != 32 {
		return nil, errors.New("its second line must be sealing: and 32 bytes in base64")
	}
	k := &key{signer: signer, verify: verifier, public: public}
	for use, into := range map[string]*[]byte{"tags": &k.tags, "rows": &k.rows, "stamps": &k.stamps} {
		if *into, err = hkdf.Key(sha256.New, secret, nil, "toolhost audit "+use+" v1", 32); err != nil {
			return nil, err
		}
	}
	wrap, err := hkdf.Key(sha256.New, secret, nil, "toolhost audit wrap v1", 32)
	if err != nil {
		return nil, err
	}
	k.wrap, err = sealer(wrap)
	return k, err
}

// publicKey gives the public form of a signing key: its last part is the
// algorithm, 1 for Ed25519, and the seed.
func publicKey(signing string) (string, error) {
	parts := strings.SplitN(signing, "+", 5)
	if len(parts) != 5 {
		return "", errors.New("its first line is no signing key of toolhost")
	}
	seed, err := base64.StdEncoding.DecodeString(parts[4])
	if err != nil || len(seed) != 1+ed25519.SeedSize || seed[0] != 1 {
		return "", errors.New("its first line is no Ed25519 key")
	}
	return note.NewEd25519VerifierKey(parts[2], ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey))
}

// sealer is AES-256-GCM that puts a random nonce before what it seals.
func sealer(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// stamp is what a line carries before its end: who has no key cannot add one,
// not even behind the last checkpoint.
func (k *key) stamp(line []byte) string {
	mac, ok := k.stampers.Get().(hash.Hash)
	if !ok {
		mac = hmac.New(sha256.New, k.stamps)
	}
	defer k.stampers.Put(mac)
	mac.Reset()
	mac.Write(line)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// mark is what a row of people.db carries, over all that it says: who has no
// key can delete a row, which Verify finds, and cannot make or change one.
func (k *key) mark(parts ...string) []byte {
	mac := hmac.New(sha256.New, k.rows)
	for _, part := range parts {
		mac.Write(binary.AppendUvarint(nil, uint64(len(part))))
		mac.Write([]byte(part))
	}
	return mac.Sum(nil)
}

// tag finds a name in people.db without telling it.
func (k *key) tag(kind, value string) []byte {
	mac := hmac.New(sha256.New, k.tags)
	mac.Write([]byte(kind + "\x00" + value))
	return mac.Sum(nil)
}

// makeKey makes a new key file, and the public one beside it. It never writes
// over either.
func makeKey(path string) (*key, error) {
	signing, _, err := note.GenerateKey(rand.Reader, originPrefix+rand.Text())
	if err != nil {
		return nil, err
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	text := signing + "\n" + sealingPrefix + base64.StdEncoding.EncodeToString(secret) + "\n"
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("audit key: %w", err)
	}
	if _, err := os.Lstat(path + ".pub"); err == nil {
		return nil, fmt.Errorf("audit key %s: is not there, but %s.pub is; put the key back, or move the other away to begin a new log", path, path)
	}
	if err := writeNew(path, text, 0o600); err != nil {
		return nil, fmt.Errorf("audit key: %w", err)
	}
	return parseKey([]byte(text))
}

// publish writes the public key beside the key, if it is not there.
func (k *key) publish(path string) error {
	err := writeNew(path+".pub", k.public+"\n", 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

// writeNew writes a file that must not be there, whole or not at all, whenever
// it is interrupted.
func writeNew(path, text string, mode os.FileMode) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w", path, os.ErrExist)
	}
	part := path + ".new"
	_ = os.Remove(part) // what a crash left
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		_ = os.Remove(part) // half a key helps nobody
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes the names in a folder last.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // it has no such call
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// ParsePublicKey reads a public key as it stands in the file beside the key.
func ParsePublicKey(text []byte) (note.Verifier, error) {
	v, err := note.NewVerifier(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, errors.New("is no public key of an audit log; one begins with toolhost-audit/")
	}
	return v, nil
}
