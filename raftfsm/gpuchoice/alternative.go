// Package gpuchoice reads which GPUs a task can run on, in the order of preference.
package gpuchoice

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxAlternatives bounds the alternatives of a task: each is planned like a request of its own.
const maxAlternatives = 8

// Alternative is one choice of GPUs for a task.
type Alternative struct {
	Model string // a part of the name of the model, in any case
	GPUs  int    // whole GPUs, 1 to 1,024
}

// String is the alternative as the tag of a task has it.
func (a Alternative) String() string { return fmt.Sprintf("%s:%d", a.Model, a.GPUs) }

// Parse reads the value of the tag: 2 to 8 alternatives.
func Parse(s string) (list []Alternative, err error) {
	for part := range strings.SplitSeq(s, "/") {
		model, count, _ := strings.Cut(part, ":")
		gpus, err := strconv.Atoi(strings.TrimSpace(count))
		if model = strings.TrimSpace(model); model == "" || err != nil || gpus < 1 || gpus > 1024 {
			return nil, errors.New(`write models and numbers of GPUs in the order of preference, such as "H200:1/H100:2"`)
		}
		list = append(list, Alternative{model, gpus})
	}
	if len(list) < 2 || len(list) > maxAlternatives {
		return nil, fmt.Errorf("write 2 to %d alternatives with / between them, not %d", maxAlternatives, len(list))
	}
	return list, nil
}
