package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Utilization is what the file named by the index of the device says, a number of percent. A GPU without one is idle: nothing computes here.
func (s *source) Utilization(_ context.Context, uuid string) (percent float64, err error) {
	for _, d := range s.devices {
		if d.UUID != uuid {
			continue
		}
		path := filepath.Join(s.busy, strconv.Itoa(d.Index))
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		if err != nil {
			return 0, fmt.Errorf("utilization of a simulated GPU: %w", err)
		}
		percent, err = strconv.ParseFloat(strings.TrimSpace(string(content)), 64)
		if err != nil || !(percent >= 0 && percent <= 100) {
			return 0, fmt.Errorf("%s: write a number of percent, 0 to 100", path)
		}
		return percent, nil
	}
	return 0, fmt.Errorf("this host has no simulated GPU %s", uuid)
}
