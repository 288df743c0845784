package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const shortIDLength = 12 // digits of an id that people see and may type

func abbreviateID(id string) string { return id[:min(len(id), shortIDLength)] }

// formatAge tells a span of time by its largest unit: "42s", "17m", "5h", "3d".
func formatAge(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// formatMiB tells an amount of memory in three digits or so: "512 MiB", "80 GiB", "1.5 GiB", "2015 GiB".
func formatMiB(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d MiB", n)
	}
	parts := 10.0 // of a GiB
	if n >= 100*1024 {
		parts = 1
	}
	return strconv.FormatFloat(math.Round(float64(n)/1024*parts)/parts, 'f', -1, 64) + " GiB"
}

// formatCores tells CPU units (1024 a core) as cores: "8", "0.5".
func formatCores(units int64) string {
	return strconv.FormatFloat(math.Round(float64(units)/1024*100)/100, 'f', -1, 64)
}

// memoryUnits are the suffixes that an amount of memory may carry, in bytes. As in docker, k, m and g are binary.
var memoryUnits = map[string]float64{
	"b": 1, "k": 1 << 10, "kb": 1 << 10, "kib": 1 << 10, "": 1 << 20, "m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20,
	"g": 1 << 30, "gb": 1 << 30, "gib": 1 << 30, "t": 1 << 40, "tb": 1 << 40, "tib": 1 << 40,
}

// parseMemory reads "2g", "512m", "1.5GiB" or "2048" (MiB) and returns whole MiB, rounded up, at least 1.
func parseMemory(text string) (int64, error) {
	trimmed := strings.TrimSpace(text)
	digits := strings.TrimRight(trimmed, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	unit, known := memoryUnits[strings.ToLower(strings.TrimSpace(trimmed[len(digits):]))]
	amount, err := strconv.ParseFloat(digits, 64)
	if err != nil || !known || !(amount > 0) || amount*unit > 1<<60 {
		return 0, fmt.Errorf("%q is not an amount of memory such as 2g, 512m or 1.5GiB", text)
	}
	return int64(math.Ceil(amount * unit / (1 << 20))), nil
}

// plural is "1 task", "2 tasks".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
