//go:build !cgo

package main

import (
	"context"
	"errors"
)

// measureLinks needs NVIDIA's library.
func measureLinks(context.Context, options) ([]figure, error) {
	return nil, errors.New("NVIDIA's go-gpuallocator, beside which this is measured, needs cgo: run the bench with CGO_ENABLED=1 and a C compiler")
}
