package main

import (
	"context"

	"github.com/toolhost/toolhost/bench/order"
)

// openNative does the work as a function of this process.
func openNative(context.Context) (func() (caller, error), error) {
	return func() (caller, error) {
		return func() ([]byte, error) { return order.Get([]byte(order.Arguments), order.Find) }, nil
	}, nil
}
