package audit

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/tlog"
)

// A frontier is the right edge of a tree: the hash of each whole subtree that
// no other one holds, the largest first. It is all that is needed to grow the
// tree and to give its root (RFC 6962, section 2.1).
type frontier []tlog.Hash

// ReadHashes implements tlog.HashReader for the two questions that tlog asks of
// a tree's edge: what a new leaf completes, and all of it.
func (f frontier) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	if len(indexes) > len(f) {
		return nil, errors.New("the tree has fewer hashes")
	}
	return f[len(f)-len(indexes):], nil
}

// grow adds the leaf number n and gives the hashes to store for it.
func (f *frontier) grow(n int64, leaf tlog.Hash) ([]tlog.Hash, error) {
	hashes, err := tlog.StoredHashesForRecordHash(n, leaf, *f)
	if err != nil {
		return nil, err
	}
	*f = append((*f)[:len(*f)-(len(hashes)-1)], hashes[len(hashes)-1])
	return hashes, nil
}

// root is the hash of the tree of n leaves whose edge this is.
func (f frontier) root(n int64) (tlog.Hash, error) { return tlog.TreeHash(n, f) }

// clone is a frontier that may grow apart.
func (f frontier) clone() frontier { return append(frontier(nil), f...) }

// storedHashes reads hashes of the tree file.
func storedHashes(r io.ReaderAt, indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		if _, err := r.ReadAt(out[i][:], index*tlog.HashSize); err != nil {
			return nil, fmt.Errorf("tree: hash %d: %w", index, err)
		}
	}
	return out, nil
}

// frontierAt reads the edge of the tree of n leaves, and its root.
func frontierAt(r io.ReaderAt, n int64) (frontier, tlog.Hash, error) {
	var edge frontier
	root, err := tlog.TreeHash(n, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		hashes, err := storedHashes(r, indexes)
		edge = append(edge, hashes...)
		return hashes, err
	}))
	return edge, root, err
}

func appendHashes(b []byte, hashes []tlog.Hash) []byte {
	for _, h := range hashes {
		b = append(b, h[:]...)
	}
	return b
}
