package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// condition knows [node]: there are Node 22 and the clients of .ci/node. With
// TOOLHOST_NEEDS=all it is an error that they are not.
func condition(cond string) (bool, error) {
	if cond != "node" {
		return false, fmt.Errorf("no condition %q", cond)
	}
	_, err := os.Stat(filepath.Join(os.Getenv("TOOLHOST_NODE"), "node_modules", "node", "bin", "node"))
	if err != nil && os.Getenv("TOOLHOST_NEEDS") == "all" {
		return false, errors.New("TOOLHOST_NODE names no folder that .ci/node has filled")
	}
	return err == nil, nil
}
