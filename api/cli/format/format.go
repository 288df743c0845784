// Package format turns data into short text for people.
package format

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/lazyregexp"
)

const idLength = 12 // digits of an id that lists show

// ID abbreviates an id for people, who may type that many digits of it, or fewer.
func ID(id string) string { return id[:min(len(id), idLength)] }

// Age is a duration in its largest unit: "42s", "17m", "5h", "3d".
func Age(d time.Duration) string {
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

// MiB is an amount of memory in about three digits: "512 MiB", "80 GiB", "1.5 GiB", "2015 GiB".
func MiB(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d MiB", n)
	}
	parts := 10.0 // of a GiB
	if n >= 100*1024 {
		parts = 1
	}
	return strconv.FormatFloat(math.Round(float64(n)/1024*parts)/parts, 'f', -1, 64) + " GiB"
}

// GPUs is a number of GPUs, or the memory of a shared one in place of it: "2", "10 GiB".
func GPUs(n int, sharedMiB int64) string {
	if sharedMiB > 0 {
		return MiB(sharedMiB)
	}
	return strconv.Itoa(n)
}

// Cores is CPU units (1024 a core) as cores: "8", "0.5".
func Cores(units int64) string {
	return strconv.FormatFloat(math.Round(float64(units)/1024*100)/100, 'f', -1, 64)
}

// memoryUnits are the suffixes of an amount of memory, in bytes. As in docker, k, m and g are binary.
var memoryUnits = map[string]float64{
	"b": 1, "k": 1 << 10, "kb": 1 << 10, "kib": 1 << 10, "": 1 << 20, "m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20,
	"g": 1 << 30, "gb": 1 << 30, "gib": 1 << 30, "t": 1 << 40, "tb": 1 << 40, "tib": 1 << 40,
}

// ParseMemory reads "2g", "512m", "1.5GiB" or "2048" (MiB) and returns whole MiB, rounded up, at least 1.
func ParseMemory(text string) (int64, error) {
	trimmed := strings.TrimSpace(text)
	digits := strings.TrimRight(trimmed, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	unit, known := memoryUnits[strings.ToLower(strings.TrimSpace(trimmed[len(digits):]))]
	amount, err := strconv.ParseFloat(digits, 64)
	if err != nil || !known || !(amount > 0) || amount*unit > 1<<60 {
		return 0, fmt.Errorf("%q is not an amount of memory such as 2g, 512m or 1.5GiB", text)
	}
	return int64(math.Ceil(amount * unit / (1 << 20))), nil
}

// Plural is "1 task", "2 tasks".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// List joins words, and abbreviates a long list: "a, b and 3 more".
func List(words []string) string {
	const limit = 8
	if len(words) > limit+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:limit], ", "), len(words)-limit)
	}
	return strings.Join(words, ", ")
}

// Bytes is an amount of data: "3.0 MiB".
func Bytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}

// Truncate shortens text to a number of characters; the last of them shows that text is missing.
func Truncate(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// TruncateName shortens a name to a number of characters, so that what tells it from others of its kind stays: the revision and the index
// of "trainer:3[12]", the digits of "gpu-1 (3f2a91c0)".
func TruncateName(name string, width int) string {
	if utf8.RuneCountInString(name) <= width {
		return name
	}
	tail := ""
	if at := max(strings.LastIndexAny(name, ":("), 0); at > 0 && utf8.RuneCountInString(name[at:])+4 <= width {
		tail = name[at:]
	}
	return string([]rune(name)[:width-1-utf8.RuneCountInString(tail)]) + "…" + tail
}

var fullIDs = lazyregexp.New(`\b[0-9a-f]{32}\b`)

// ShortIDs abbreviates the ids in a text.
func ShortIDs(text string) string { return fullIDs.ReplaceAllStringFunc(text, ID) }

// CompareNames orders names as people do: gpu-2 before gpu-10.
func CompareNames(a, b string) int {
	for a != "" && b != "" {
		numberA, restA := leadingNumber(a)
		numberB, restB := leadingNumber(b)
		if numberA != "" && numberB != "" {
			if order := cmp.Or(len(numberA)-len(numberB), strings.Compare(numberA, numberB)); order != 0 {
				return order
			}
			a, b = restA, restB
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// leadingNumber is the number that a text begins with, without leading zeros but for the last digit; empty when it begins with none.
func leadingNumber(text string) (number, rest string) {
	rest = strings.TrimLeft(text, "0123456789")
	number = text[:len(text)-len(rest)]
	for len(number) > 1 && number[0] == '0' {
		number = number[1:]
	}
	return number, rest
}

// optionNames are the names that the options of `pinion run` have as tags, in parentheses as texts of hosts have them.
var optionNames = strings.NewReplacer("(pinion.time-limit)", "(--time-limit)", "(pinion.after)", "(--after)",
	"(pinion.idle-timeout)", "(--idle-timeout)")

// Options names options instead of tags, and cores instead of CPU units, in a text of a host.
func Options(text string) string {
	text = optionNames.Replace(text)
	if !strings.Contains(text, " CPU units") {
		return text
	}
	return cpuUnits.ReplaceAllStringFunc(text, func(part string) string {
		amounts := cpuUnits.FindStringSubmatch(part)
		needs, err1 := strconv.ParseInt(amounts[1], 10, 64)
		has, err2 := strconv.ParseInt(amounts[2], 10, 64)
		if err1 != nil || err2 != nil {
			return part
		}
		return fmt.Sprintf("needs %s cores, %s free", Cores(needs), Cores(has))
	})
}

// cpuUnits is how hosts say that they have too few cores, of 1024 units each.
var cpuUnits = lazyregexp.New(`needs (\d+) CPU units, (\d+) free`)

// principals are the ARNs by which hosts name access keys and people.
var principals = strings.NewReplacer(iam.OwnerARN(accesskey.PersonOwner), "", iam.OwnerARN(""), "key ")

// Principals names access keys by their ids and people by their names, instead of by ARNs, in a text of a host.
func Principals(text string) string { return principals.Replace(text) }

// GPUModel is the model of a GPU without its maker, which is the same for all, with the profile of a MIG device, and marked when it is simulated.
func GPUModel(model, profile string, simulated bool) string {
	model = strings.TrimPrefix(model, "NVIDIA ")
	if profile != "" {
		model += " MIG " + profile
	}
	if simulated {
		return "SIM " + model
	}
	return model
}

// GPUID is as much of the id of a GPU as people compare: "GPU-04866c28".
func GPUID(id string) string {
	if parts := strings.SplitN(id, "-", 3); len(parts) == 3 {
		return parts[0] + "-" + parts[1]
	}
	return id
}
