package cloudwatch

import (
	"time"

	"github.com/fxamacker/cbor/v2"

	"pinion/api/wire"
)

// moment is a time stamp: seconds since 1970 in JSON and CBOR, and ISO 8601 in XML.
type moment struct{ wire.Time }

// epochTag is CBOR's tag of seconds since 1970.
const epochTag = 1

// MarshalCBOR writes seconds with their tag.
func (m moment) MarshalCBOR() ([]byte, error) {
	return cbor.Marshal(cbor.Tag{Number: epochTag, Content: float64(m.UnixMilli()) / 1000})
}

func at(t time.Time) moment { return moment{wire.NewTime(t.UTC().Truncate(time.Millisecond))} }
