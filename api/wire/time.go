package wire

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Time is a moment as ECS writes it: a JSON number of seconds since 1970 with milliseconds. Use it with omitzero.
type Time struct{ time.Time }

// At makes a Time of a moment.
func At(t time.Time) Time { return Time{t} }

// MarshalJSON writes seconds with three decimals.
func (t Time) MarshalJSON() ([]byte, error) {
	ms := t.UnixMilli()
	if ms < 0 {
		return nil, fmt.Errorf("time %v is before 1970", t.Time)
	}
	return fmt.Appendf(nil, "%d.%03d", ms/1000, ms%1000), nil
}

// UnmarshalJSON reads what MarshalJSON writes; null leaves t as it is.
func (t *Time) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	seconds, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("time %s is not a number of seconds", text)
	}
	t.Time = time.UnixMilli(int64(math.Round(seconds * 1000))).UTC()
	return nil
}

// Double is a number that is always written with a decimal point, as ECS writes its doubles.
type Double float64

// MarshalJSON writes 0 as 0.0.
func (d Double) MarshalJSON() ([]byte, error) {
	text := strconv.AppendFloat(nil, float64(d), 'f', -1, 64)
	if !bytes.ContainsRune(text, '.') {
		text = append(text, ".0"...)
	}
	return text, nil
}
