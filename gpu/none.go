package gpu

import (
	"context"
	"fmt"
)

// None is the source of a host that offers no GPUs, whatever hardware it has (`--gpus none`). Its inventory never changes.
func None() Source { return none{} }

type none struct{}

var _ Source = none{}

// emptySpec is a CDI specification without devices.
const emptySpec = `{"cdiVersion":"0.6.0","kind":"nvidia.com/gpu","devices":[]}`

func (none) Inventory(context.Context) (Inventory, error) { return Inventory{}, nil }

func (none) Changed() <-chan struct{} { return nil }

func (none) CDI(context.Context) (string, []byte, error) {
	return "nvidia.com/gpu", []byte(emptySpec), nil
}

func (none) Processes(_ context.Context, uuid string) ([]int, error) {
	return nil, fmt.Errorf("this host offers no GPUs (--gpus none), so not %s either", uuid)
}

func (none) Close() error { return nil }
